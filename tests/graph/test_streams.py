"""Rules of streaming: the modes' items, their order, when they come, and what leaving a stream does."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from lawful.core.errors import Failure, NotInRun
from lawful.graph import END, START, Command, Send, StateGraph, StreamWriter, get_stream_writer, interrupt
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from support.graphs import Drive, names, on
from support.pausing import Calls, Log, chain, checkpoint_id, fan, fan_of, until, within

pytestmark = pytest.mark.unit

MODES = ["values", "updates", "custom", "tasks", "checkpoints", "debug"]


def a(state: Log) -> Log:
    return {"log": ["a"]}


def b(state: Log) -> Log:
    return {"log": ["b"], "word": "set"}


def idle(state: Log) -> None:
    return None


def ask(state: Log) -> Log:
    return {"log": [interrupt("who?")]}


def loop_of(drive: Drive, turns: int, *, strict: bool = True, calls: Calls | None = None, **options: Any) -> Any:
    """One node that runs ``turns`` times."""

    def turn(state: Log) -> Log:
        if calls is not None:
            calls("turn")
        return {"n": state.get("n", 0) + 1}

    def more(state: Log) -> str:
        return "turn" if state.get("n", 0) < turns else END

    builder: Any = StateGraph(Log, strict=strict)
    builder.add_node("turn", drive.node(turn)).add_edge(START, "turn").add_conditional_edges(
        "turn", more, ["turn", END]
    )
    return builder.compile(**options)


# Modes and shapes


def test_updates_is_the_default(drive: Drive, journal: Journal, strict: bool) -> None:
    """One item for each node, by its name.

    Rules: 164, 169. Rows: S1-P07
    """
    graph = chain(drive, a, b, strict=strict, checkpointer=journal)
    assert drive.stream(graph, {"log": []}, on("t")) == [{"a": {"log": ["a"]}}, {"b": {"log": ["b"], "word": "set"}}]


def test_the_shape_follows_modes_and_subgraphs(drive: Drive, journal: Journal, strict: bool) -> None:
    """One mode: the item. A list, even of one: (mode, item). subgraphs=True: the namespace first.

    Rules: 165. Rows: S1-P07
    """
    graph = chain(drive, a, strict=strict, checkpointer=journal)
    item = {"a": {"log": ["a"]}}
    options: list[dict[str, Any]] = [
        {"stream_mode": "updates"},
        {"stream_mode": ["updates"]},
        {"stream_mode": "updates", "subgraphs": True},
        {"stream_mode": ["updates"], "subgraphs": True},
        {"stream_mode": ["updates", "values"]},
    ]
    seen = [drive.stream(graph, {"log": []}, on(f"t{i}"), **told) for i, told in enumerate(options)]
    assert seen == [
        [item],
        [("updates", item)],
        [((), item)],
        [((), "updates", item)],
        [("values", {"log": []}), ("updates", item), ("values", {"log": ["a"]})],
    ]


def test_an_unknown_mode_is_refused(drive: Drive, journal: Journal) -> None:
    """With the nearest valid name; nothing runs.

    Rules: 165
    """
    calls = Calls()
    graph = loop_of(drive, 1, calls=calls, checkpointer=journal)
    with pytest.raises(Failure, match="updates"):
        drive.stream(graph, {"log": []}, on("t"), stream_mode="update")
    with pytest.raises(Failure, match="values"):
        drive.stream(graph, {"log": []}, on("t"), stream_mode=["updates", "value"])
    assert calls.of("turn") == 0


def test_invoke_is_the_last_of_the_values(drive: Drive, journal: Journal, strict: bool) -> None:
    """Streaming and invoking tell the same story.

    Rules: 167. Rows: S1-007
    """
    graph = chain(drive, a, idle, b, strict=strict, checkpointer=journal)
    events = drive.stream(graph, {"log": ["in"]}, on("s"), stream_mode="values")
    assert drive.invoke(graph, {"log": ["in"]}, on("i")) == events[-1]


# values


def test_values_come_after_the_input_and_after_each_step_that_wrote(
    drive: Drive, journal: Journal, strict: bool
) -> None:
    """A step that writes nothing gives nothing.

    Rules: 167
    """
    graph = chain(drive, a, idle, b, strict=strict, checkpointer=journal)
    assert drive.stream(graph, {"log": ["in"]}, on("t"), stream_mode="values") == [
        {"log": ["in"]},
        {"log": ["in", "a"]},
        {"log": ["in", "a", "b"], "word": "set"},
    ]


def test_values_already_told_do_not_change(drive: Drive) -> None:
    """Each item is a picture of its moment, kept or changed by its reader as it likes.

    Rules: 167. Rows: S1-042
    """
    seen: list[Any] = []

    def look(event: Any) -> None:
        seen.append({"log": list(event["log"])})
        event["log"].append("spoilt")

    graph = chain(drive, a, b)
    drive.watch(graph, {"log": []}, look, stream_mode="values")
    assert [event["log"] for event in seen] == [[], ["a"], ["a", "b"]]


def test_a_resume_tells_the_current_values_first(drive: Drive, journal: Journal, strict: bool) -> None:
    """So that a reader who comes now has the whole state.

    Rules: 167
    """
    graph = chain(drive, a, ask, b, strict=strict, checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    assert drive.stream(graph, Command(resume="ada"), on("t"), stream_mode="values") == [
        {"log": ["a"]},
        {"log": ["a", "ada"]},
        {"log": ["a", "ada", "b"], "word": "set"},
    ]
    assert drive.stream(graph, None, on("t"), stream_mode="values") == [{"log": ["a", "ada", "b"], "word": "set"}]


def test_at_a_question_values_show_it_with_the_state(drive: Drive, journal: Journal, strict: bool) -> None:
    """``__interrupt__`` beside the keys, as a tuple.

    Rules: 168
    """
    graph = chain(drive, a, ask, strict=strict, checkpointer=journal)
    events = drive.stream(graph, {"log": []}, on("t"), stream_mode="values")
    assert events[:2] == [{"log": []}, {"log": ["a"]}]
    (last,) = events[2:]
    assert last["log"] == ["a"]
    assert [question.value for question in last["__interrupt__"]] == ["who?"]


def test_at_a_pause_values_show_what_siblings_wrote(drive: Drive, journal: Journal, strict: bool) -> None:
    """The last item is the state with their writes.

    Rules: 168
    """
    graph = fan(drive, a, ask, strict=strict, checkpointer=journal)
    events = drive.stream(graph, {"log": []}, on("t"), stream_mode="values")
    assert any("__interrupt__" in event for event in events)
    assert events[-1]["log"] == ["a"]


# updates


def test_updates_tell_each_task_with_none_for_nothing(drive: Drive, journal: Journal, strict: bool) -> None:
    """None, not {}; a list where one key was written twice.

    Rules: 169
    """

    def twice(state: Log) -> Any:
        return [{"log": ["1"]}, {"log": ["2"]}]

    graph = chain(drive, idle, twice, strict=strict, checkpointer=journal)
    assert drive.stream(graph, {"log": []}, on("t")) == [{"idle": None}, {"twice": [{"log": ["1"]}, {"log": ["2"]}]}]


def test_updates_tell_each_send(drive: Drive, journal: Journal, strict: bool) -> None:
    """One item for each task of the node.

    Rules: 169
    """

    def spread(state: Log) -> list[Send]:
        return [Send("work", {"n": number}) for number in range(3)]

    def work(state: Log) -> Log:
        return {"log": [str(state.get("n"))]}

    builder: Any = StateGraph(Log, strict=strict)
    builder.add_node("work", drive.node(work)).add_conditional_edges(START, spread, ["work"])
    graph = builder.compile(checkpointer=journal)
    events = drive.stream(graph, {"log": []}, on("t"))
    assert sorted(event["work"]["log"] for event in events) == [["0"], ["1"], ["2"]]


def test_updates_come_in_the_order_of_completion(drive: Drive) -> None:
    """Though they are applied in the order of their names.

    Rules: 169, 39
    """

    def early(state: Log) -> Log:
        time.sleep(0.05)
        return {"log": ["early"]}

    def late(state: Log) -> Log:
        return {"log": ["late"]}

    graph = fan_of(early, late)
    events = drive.stream(graph, {"log": []}, stream_mode=["updates", "values"])
    assert names([event for mode, event in events if mode == "updates"]) == ["late", "early"]
    assert events[-1] == ("values", {"log": ["early", "late"]})


# tasks


def test_tasks_announce_a_step_then_each_result(drive: Drive, journal: Journal, strict: bool) -> None:
    """Start events of all tasks first, with input and triggers; then results as they end.

    Rules: 170, 34
    """
    graph = fan(drive, a, idle, strict=strict, checkpointer=journal)
    events = drive.stream(graph, {"log": ["in"]}, on("t"), stream_mode="tasks")
    starts, results = events[:2], events[2:]
    assert {event["name"]: (event["input"]["log"], event["triggers"]) for event in starts} == {
        "a": (["in"], ("branch:to:a",)),
        "idle": (["in"], ("branch:to:idle",)),
    }
    assert {event["id"] for event in starts} == {event["id"] for event in results}
    told = {event["name"]: {key: event[key] for key in ("error", "result", "interrupts")} for event in results}
    assert told == {
        "a": {"error": None, "result": {"log": ["a"]}, "interrupts": []},
        "idle": {"error": None, "result": {}, "interrupts": []},
    }


def test_tasks_of_sends_have_their_own_trigger(drive: Drive, journal: Journal, strict: bool) -> None:
    """``__pregel_push``; the input is the packet's argument.

    Rules: 170
    """

    def spread(state: Log) -> list[Send]:
        return [Send("a", {"n": number}) for number in range(2)]

    builder: Any = StateGraph(Log, strict=strict)
    builder.add_node("a", drive.node(a)).add_conditional_edges(START, spread, ["a"])
    graph = builder.compile(checkpointer=journal)
    starts = [e for e in drive.stream(graph, {"log": []}, on("t"), stream_mode="tasks") if "input" in e]
    assert [(event["input"], event["triggers"]) for event in starts] == [
        ({"n": i}, ("__pregel_push",)) for i in range(2)
    ]


def test_a_failed_task_has_a_result_with_its_error(drive: Drive, journal: Journal, strict: bool) -> None:
    """The exception object itself, before the stream raises it.

    Rules: 170. Rows: S0-052
    """
    error = ValueError("broken")

    def bad(state: Log) -> Log:
        raise error

    graph = chain(drive, bad, strict=strict, checkpointer=journal)
    seen: list[Any] = []
    with pytest.raises(ValueError, match="broken"):
        drive.watch(graph, {"log": []}, seen.append, on("t"), stream_mode="tasks")
    assert [("input" in event, event["name"]) for event in seen] == [(True, "bad"), (False, "bad")]
    assert seen[1]["error"] is error


def test_an_asking_task_has_a_result_with_its_question(drive: Drive, journal: Journal, strict: bool) -> None:
    """It ended, for now.

    Rules: 170. Rows: S0-052
    """
    graph = chain(drive, ask, strict=strict, checkpointer=journal)
    start, result = drive.stream(graph, {"log": []}, on("t"), stream_mode="tasks")
    assert start["id"] == result["id"]
    assert (result["error"], result["result"]) == (None, {})
    (question,) = result["interrupts"]
    assert (question["value"], question["id"]) == ("who?", drive.get_state(graph, on("t")).interrupts[0].id)


def test_task_metadata_is_a_copy_of_the_users_keys(drive: Drive, journal: Journal, strict: bool) -> None:
    """No framework key among them, and changing an event changes nothing else.

    Rules: 171
    """
    graph = chain(drive, a, b, strict=strict, checkpointer=journal)
    config = on("t", metadata={"who": "ada"}, tags=["x"])
    seen: list[dict[str, Any]] = []

    def spoil(event: Any) -> None:
        if "input" in event:
            seen.append(dict(event["metadata"]))
            event["metadata"]["who"] = "eve"

    drive.watch(graph, {"log": []}, spoil, config, stream_mode="tasks")
    assert [event["who"] for event in seen] == ["ada", "ada"]
    assert all(set(event) <= {"who", "tags"} for event in seen)
    assert config["metadata"] == {"who": "ada"}
    assert {entry.metadata["who"] for entry in drive.get_state_history(graph, on("t"))} == {"ada"}


# checkpoints and debug


def test_checkpoints_are_what_history_will_show(drive: Drive, journal: Journal, strict: bool) -> None:
    """The same configs, values and next, oldest first.

    Rules: 172
    """
    graph = chain(drive, a, idle, b, strict=strict, checkpointer=journal)
    events = drive.stream(graph, {"log": ["in"]}, on("t"), stream_mode="checkpoints")
    told = list(reversed(drive.get_state_history(graph, on("t"))))
    assert len(events) == len(told) == 5
    for event, entry in zip(events, told, strict=True):
        assert event["config"]["configurable"]["checkpoint_id"] == checkpoint_id(entry)
        assert (event["parent_config"] is None) == (entry.parent_config is None)
        if entry.parent_config is not None:
            assert event["parent_config"]["configurable"]["checkpoint_id"] == checkpoint_id_of(entry.parent_config)
        assert event["values"] == entry.values
        assert event["next"] == list(entry.next)
        assert {key: event["metadata"][key] for key in ("source", "step")} == {
            key: entry.metadata[key] for key in ("source", "step")
        }
        assert [task["id"] for task in event["tasks"]] == [task.id for task in entry.tasks]


def checkpoint_id_of(config: Any) -> str:
    return config["configurable"]["checkpoint_id"]


def test_without_a_journal_there_are_no_checkpoints_to_tell(drive: Drive, strict: bool) -> None:
    """The mode gives nothing, the run goes on.

    Rules: 172
    """
    graph = chain(drive, a, strict=strict)
    events = drive.stream(graph, {"log": []}, stream_mode=["checkpoints", "updates"])
    assert events == [("updates", {"a": {"log": ["a"]}})]


def test_checkpoints_are_told_for_every_step_in_exit_mode(drive: Drive, journal: Journal, strict: bool) -> None:
    """Though they need not all be stored.

    Rules: 172
    """
    graph = chain(drive, a, b, strict=strict, checkpointer=journal)
    events = drive.stream(graph, {"log": []}, on("t"), stream_mode="checkpoints", durability="exit")
    assert [event["metadata"]["step"] for event in events] == [-1, 0, 1, 2]


def test_debug_wraps_checkpoints_and_tasks(drive: Drive, journal: Journal, strict: bool) -> None:
    """With step, time and type; the payloads are those of the two modes.

    Rules: 173
    """
    graph = chain(drive, a, b, strict=strict, checkpointer=journal)
    events = drive.stream(graph, {"log": []}, on("t"), stream_mode=["debug", "tasks", "checkpoints"])
    debug = [event for mode, event in events if mode == "debug"]
    assert [(event["type"], event["step"]) for event in debug] == [
        ("checkpoint", -1),
        ("checkpoint", 0),
        ("task", 1),
        ("task_result", 1),
        ("checkpoint", 1),
        ("task", 2),
        ("task_result", 2),
        ("checkpoint", 2),
    ]
    assert all("T" in event["timestamp"] for event in debug)
    for event in debug:
        if event["type"] == "checkpoint":
            assert event["payload"]["metadata"]["step"] == event["step"]
    tasks = [event["payload"] for event in debug if event["type"] != "checkpoint"]
    assert tasks == [event for mode, event in events if mode == "tasks"]
    checkpoints = [event["payload"] for event in debug if event["type"] == "checkpoint"]
    assert checkpoints == [event for mode, event in events if mode == "checkpoints"]


# custom


def test_custom_gives_what_nodes_write(drive: Drive, journal: Journal, strict: bool) -> None:
    """By parameter or by get_stream_writer, anything at all, in order.

    Rules: 174
    """

    def by_parameter(state: Log, writer: StreamWriter) -> Log:
        writer({"progress": 1})
        writer("text")
        return {"log": ["one"]}

    def by_call(state: Log) -> Log:
        get_stream_writer()(3)
        return {"log": ["two"]}

    graph = chain(drive, by_parameter, by_call, strict=strict, checkpointer=journal)
    assert drive.stream(graph, {"log": []}, on("t"), stream_mode="custom") == [{"progress": 1}, "text", 3]
    assert drive.invoke(graph, {"log": []}, on("off"))["log"] == ["one", "two"], (
        "a writer is a no-op when nobody listens"
    )


def test_custom_items_come_before_their_node_has_ended(drive: Drive) -> None:
    """A node that waits until its item was seen does not wait for ever.

    Rules: 174, 179
    """
    seen = threading.Event()
    waited: list[bool] = []

    def work(state: Log) -> Log:
        get_stream_writer()("half way")
        waited.append(seen.wait(3))
        return {"log": ["work"]}

    # A sync node under both drivers: it may block.
    drive.watch(fan_of(work), {"log": []}, lambda event: seen.set(), stream_mode="custom")
    assert waited == [True]


def test_updates_come_while_their_step_still_runs(drive: Drive) -> None:
    """The slow sibling waits until the quick one's update was seen.

    Rules: 179
    """
    seen = threading.Event()
    waited: list[bool] = []

    def quick(state: Log) -> Log:
        return {"log": ["quick"]}

    def slow(state: Log) -> Log:
        waited.append(seen.wait(3))
        return {"log": ["slow"]}

    def look(event: Any) -> None:
        if "quick" in event:
            seen.set()

    drive.watch(fan_of(slow, quick), {"log": []}, look, stream_mode="updates")
    assert waited == [True]


def test_events_of_a_subgraph_come_while_it_runs(drive: Drive) -> None:
    """Not in one piece at its end.

    Rules: 179. Rows: S1-P07
    """
    seen = threading.Event()
    waited: list[bool] = []

    def first(state: Log) -> Log:
        return {"word": "first"}

    def second(state: Log) -> Log:
        waited.append(seen.wait(3))
        return {"word": "second"}

    def look(event: Any) -> None:
        if "first" in event[1]:
            seen.set()

    inner: Any = StateGraph(Log)
    inner = (
        inner.add_node("first", first)
        .add_node("second", second)
        .add_edge(START, "first")
        .add_edge("first", "second")
        .compile()
    )
    builder: Any = StateGraph(Log)
    graph = builder.add_node("hold", inner).add_edge(START, "hold").compile()
    drive.watch(graph, {"log": []}, look, subgraphs=True)
    assert waited == [True]


def test_without_subgraphs_only_the_root_is_told(drive: Drive, journal: Journal, strict: bool) -> None:
    """The child's events are left out in every mode.

    Rules: 165. Rows: S1-P07
    """
    inner = chain(drive, idle, strict=strict)
    builder: Any = StateGraph(Log, strict=strict)
    graph = builder.add_node("hold", inner).add_edge(START, "hold").compile(checkpointer=journal)
    events = drive.stream(graph, {"log": []}, on("t"), stream_mode=["updates", "tasks"])
    assert {key for mode, event in events if mode == "updates" for key in event} == {"hold"}
    assert {event["name"] for mode, event in events if mode == "tasks"} == {"hold"}


def test_hidden_steps_never_appear(drive: Drive, journal: Journal, strict: bool) -> None:
    """The processing of the input is in no mode a node.

    Rules: 180, 34
    """
    graph = chain(drive, a, strict=strict, checkpointer=journal)
    events = drive.stream(graph, {"log": []}, on("t"), stream_mode=["updates", "tasks", "debug"])
    for mode, event in events:
        if mode == "updates":
            assert "__start__" not in event
        elif mode == "tasks":
            assert event["name"] != "__start__"
        elif event["type"] != "checkpoint":
            assert event["payload"]["name"] != "__start__"


def test_a_graph_streamed_by_a_node_tells_values(drive: Drive, journal: Journal) -> None:
    """Inside another's task the default mode is "values".

    Rules: 164
    """
    inner = chain(drive, a)
    seen: list[Any] = []
    if drive.name == "async":

        async def call_async(state: Log) -> None:
            seen.extend([event async for event in inner.astream({"log": []})])

        call: Any = call_async
    else:

        def call_sync(state: Log) -> None:
            seen.extend(inner.stream({"log": []}))

        call = call_sync
    builder: Any = StateGraph(Log)
    graph = builder.add_node("call", call).add_edge(START, "call").compile(checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    assert seen == [{"log": []}, {"log": ["a"]}]


def test_starts_and_results_are_paired_whatever_happens(drive: Drive, strict: bool) -> None:
    """Success, failure, question, conflict: each started task has exactly one result, none comes from nowhere.

    Rules: 170. Rows: S0-052
    """

    def bad(state: Log) -> Log:
        raise ValueError("broken")

    def also_b(state: Log) -> Log:
        return {"word": "other"}

    for bodies in ([a, b], [a, bad], [a, ask, b], [b, also_b], [bad, ask, a]):
        seen: list[Any] = []
        graph = fan(drive, *bodies, strict=strict, checkpointer=MemoryJournal())
        with contextlib.suppress(ValueError, Failure):
            drive.watch(graph, {"log": []}, seen.append, on("t"), stream_mode="tasks")
        starts = [event["id"] for event in seen if "input" in event]
        results = [event["id"] for event in seen if "input" not in event]
        assert sorted(starts) == sorted(results), [body.__name__ for body in bodies]
        assert len(set(starts)) == len(bodies)


# Back-pressure, leaving, the end


def test_a_slow_reader_holds_the_run_back(drive: Drive) -> None:
    """The run is never more than some 64 events ahead of its reader.

    Rows: S0-053, S0-202
    """
    calls = Calls()
    graph = loop_of(drive, 400, calls=calls)
    ahead: list[int] = []
    events = 0

    def look(event: Any) -> None:
        nonlocal events
        events += 1
        if events % 100 == 1:
            time.sleep(0.05)
        ahead.append(calls.of("turn") - events)

    drive.watch(graph, {"log": []}, look)
    assert events == 400
    assert max(ahead) <= 66


async def test_a_reader_that_waits_stops_the_run(journal: Journal) -> None:
    """Holding the iterator without reading: the steps stop at the buffer's end, and go on when reading does.

    Rows: S0-053
    """
    calls = Calls()

    async def turn(state: Log) -> Log:
        calls("turn")
        return {"n": state.get("n", 0) + 1}

    def more(state: Log) -> str:
        return "turn" if state.get("n", 0) < 300 else END

    builder: Any = StateGraph(Log)
    builder.add_node("turn", turn).add_edge(START, "turn").add_conditional_edges("turn", more, ["turn", END])
    graph = builder.compile(checkpointer=journal)
    count = 0
    async with graph.astream({"log": []}, on("t")) as events:
        async for _ in events:
            count += 1
            if count == 1:
                await asyncio.sleep(0.3)
                assert calls.of("turn") <= 68
    assert (count, calls.of("turn")) == (300, 300)


def first_then_endless(calls: Calls, journal: Journal | None = None) -> Any:
    """A node that ends, then one that says "in" and waits; how often that was cancelled is counted."""

    async def first(state: Log) -> Log:
        return {"log": ["first"]}

    async def endless(state: Log) -> Log:
        get_stream_writer()("in")
        try:
            await asyncio.sleep(60)
        finally:
            calls("cancelled")
        return {"log": ["never"]}

    builder: Any = StateGraph(Log)
    builder.add_node("first", first).add_node("endless", endless).add_edge(START, "first").add_edge("first", "endless")
    return builder.compile(checkpointer=journal)


async def test_leaving_the_stream_cancels_the_running_nodes(journal: Journal) -> None:
    """Within a second; finished steps are stored, the thread can be used at once.

    Rules: 181. Rows: S0-054. Cases: A12
    """
    calls = Calls()
    graph = first_then_endless(calls, journal)
    began = time.monotonic()
    async with graph.astream({"log": []}, on("t"), stream_mode="custom") as events:
        async for event in events:
            assert event == "in"
            break
    assert time.monotonic() - began < 1
    assert calls.of("cancelled") == 1
    head = await graph.aget_state(on("t"))
    assert (head.values, head.next) == ({"log": ["first"]}, ("endless",))
    again = await graph.ainvoke({"log": ["new"]}, on("t"), busy="reject", interrupt_before=["first"])
    assert again == {"log": ["first", "new"]}


async def test_closing_the_iterator_cancels_the_running_nodes() -> None:
    """``aclose`` is enough where no ``async with`` was written.

    Rules: 181. Rows: S0-054
    """
    calls = Calls()
    graph = first_then_endless(calls)
    events = graph.astream({"log": []}, stream_mode="custom")
    async for _ in events:
        break
    await events.aclose()
    assert calls.of("cancelled") == 1


def test_leaving_a_sync_stream_ends_the_run(journal: Journal) -> None:
    """The steps that were done are stored; no step begins afterwards; the lease is free.

    Rules: 181. Rows: S0-054
    """
    calls = Calls()

    class Sync:
        name = "sync"

        def node(self, body: Callable[..., Any]) -> Callable[..., Any]:
            return body

    drive: Any = Sync()
    graph = loop_of(drive, 10_000, calls=calls, checkpointer=journal)
    events = graph.stream({"log": []}, on("t"))
    next(events)
    events.close()
    done = calls.of("turn")
    assert done <= 70
    assert not until(lambda: calls.of("turn") > done, 0.1)
    assert graph.get_state(on("t")).values["n"] >= 1
    graph.invoke({"log": []}, on("t", limit=10_100), busy="reject", interrupt_before=["turn"])


def test_no_event_is_lost_at_the_end(drive: Drive) -> None:
    """The run ends as the reader reads: the last item is there every time.

    Rows: S0-055
    """
    graph = loop_of(drive, 3)
    for _ in range(150):
        assert drive.stream(graph, {"log": []}) == [{"turn": {"n": 1}}, {"turn": {"n": 2}}, {"turn": {"n": 3}}]


def test_events_before_an_error_are_delivered_first(drive: Drive) -> None:
    """The stream ends with the node's error and not before its time.

    Rows: S0-055, S0-052
    """

    def bad(state: Log) -> Log:
        get_stream_writer()("last words")
        raise ValueError("broken")

    graph = chain(drive, a, bad)
    for _ in range(20):
        seen: list[Any] = []
        with pytest.raises(ValueError, match="broken"):
            drive.watch(graph, {"log": []}, seen.append, stream_mode=["updates", "custom"])
        assert seen == [("updates", {"a": {"log": ["a"]}}), ("custom", "last words")]


def test_modes_do_not_change_the_run(drive: Drive, strict: bool) -> None:
    """All modes at once, one or none: the same result and the same history.

    Rules: 165, 167. Rows: S1-007
    """
    found: list[Any] = []
    for mode in (*MODES, MODES):
        graph = fan(drive, a, b, idle, strict=strict, checkpointer=MemoryJournal())
        drive.stream(graph, {"log": ["in"]}, on("t"), stream_mode=mode)
        told = drive.get_state_history(graph, on("t"))
        found.append([(entry.values, sorted(entry.next), entry.metadata["step"]) for entry in told])
    assert all(one == found[0] for one in found)


def test_a_writer_outside_a_node_is_refused() -> None:
    """There is no stream to write to.

    Rules: 174
    """
    with pytest.raises(NotInRun):
        get_stream_writer()("nowhere")


@pytest.mark.parametrize("left_after", range(1, 9))
def test_a_run_left_after_any_event_can_be_finished(drive: Drive, journal: Journal, left_after: int) -> None:
    """Leave the stream after the k-th event, go on from the store: the end is that of a run that nobody left.

    Rules: 181, 92. Rows: S0-052, S1-047
    """

    def work(name: str) -> Any:
        def body(state: Log) -> Log:
            return {"log": [f"{name}{len(state.get('log', []))}"]}

        body.__name__ = body.__qualname__ = name
        return drive.node(body)

    builder: Any = StateGraph(Log)
    for name in ("x", "y", "z", "last"):
        builder.add_node(name, work(name))
    builder.add_edge(START, "x").add_edge("x", "y").add_edge("x", "z").add_edge(["y", "z"], "last")
    graph = builder.compile(checkpointer=journal)
    whole = drive.invoke(graph, {"log": ["in"]}, on("whole"))

    def leave(events: int) -> None:
        if drive.name == "sync":
            stream = graph.stream({"log": ["in"]}, on("t"), stream_mode=["tasks", "updates"])
            for _ in range(events):
                next(stream, None)
            stream.close()
            return

        async def follow() -> None:
            seen = 0
            async with graph.astream({"log": ["in"]}, on("t"), stream_mode=["tasks", "updates"]) as stream:
                async for _ in stream:
                    seen += 1
                    if seen == events:
                        break

        runner: Any = drive
        runner.wait(follow())

    with within(10):
        leave(left_after)
    assert drive.invoke(graph, None, on("t"), busy="reject") == whole
