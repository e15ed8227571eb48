"""The events of a run: who hears them, that each start has one end whatever happens, and that inner graphs are among them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any

import pytest

from lawful.core import events as ev
from lawful.core.agui import agui
from lawful.core.errors import ConfigurationError, EmptyInputError, Failure
from lawful.core.event_rules import disordered, unpaired
from lawful.core.events import Event, event_json
from lawful.core.messages import assistant
from lawful.core.retry import RetryPolicy
from lawful.core.telling import model_call, tell, tool_call
from lawful.graph import END, START, Command, Send, StateGraph, StreamWriter, interrupt
from lawful.graph.control import RunControl
from lawful.graph.functional import entrypoint, task
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from support.graphs import Drive, on
from support.pausing import Log, chain, fan

pytestmark = pytest.mark.unit


def a(state: Log) -> Log:
    return {"log": ["a"]}


def b(state: Log) -> Log:
    return {"log": ["b"], "word": "set"}


def ask(state: Log) -> Log:
    return {"log": [interrupt("who?")]}


def bad(state: Log) -> Log:
    raise ValueError("broken")


def events_of(drive: Drive, graph: Any, given: Any, config: Any = None, **options: Any) -> list[Event]:
    """All events, those before an error included; they must be paired and in order."""
    seen: list[Event] = []
    with contextlib.suppress(ValueError, Failure):
        drive.watch(graph, given, seen.append, config, stream_mode="events", **options)
    assert unpaired(seen) == []
    assert disordered(seen) == []
    return seen


def kinds(events: list[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


def only(events: list[Event], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def test_a_run_as_events(drive: Drive, journal: Journal, strict: bool) -> None:
    """Run, steps, states and checkpoints in order, all with one run id, numbered from 1.

    Rows: S0-051, S0-050
    """
    graph = chain(drive, a, b, strict=strict, checkpointer=journal)
    events = events_of(drive, graph, {"log": []}, on("t"))
    step = ["NodeStarted", "NodeEnded", "StateUpdated", "Checkpointed"]
    assert kinds(events) == ["RunStarted", "LeaseTaken", "Checkpointed", *step[2:], *step, *step, "RunFinished"]
    assert {event.run_id for event in events} == {events[0].run_id} != {""}
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    first, last = events[0], events[-1]
    assert (first, last.seq) == (ev.RunStarted("LangGraph", "t", run_id=first.run_id, seq=1), len(events))
    assert isinstance(last, ev.RunFinished)
    assert (last.outcome, last.thread) == ("success", "t")
    assert [event.values for event in only(events, ev.StateUpdated)][-1] == {"log": ["a", "b"], "word": "set"}
    told = [entry.config["configurable"]["checkpoint_id"] for entry in drive.get_state_history(graph, on("t"))]
    assert [event.checkpoint for event in only(events, ev.Checkpointed)] == told[::-1]


def test_the_event_streams_are_the_events_mode(drive: Drive) -> None:
    """`stream_events` and `astream_events`; what has no meaning there is refused.

    Rows: S0-033
    """
    graph = chain(drive, a)
    if drive.name == "sync":
        got = list(graph.stream_events({"log": []}))
    else:

        async def gather() -> list[Event]:
            async with graph.astream_events({"log": []}) as events:
                return [event async for event in events]

        got = drive.wait(gather())
    assert kinds(got) == kinds(events_of(drive, graph, {"log": []}))
    with pytest.raises(ConfigurationError, match="version"):
        graph.stream_events({"log": []}, version="v2")


def test_a_failed_run_ends_with_its_failure(drive: Drive, strict: bool) -> None:
    """Its node first, then the run, then the exception.

    Rows: S0-052
    """
    events = events_of(drive, chain(drive, a, bad, strict=strict), {"log": []})
    failed, broke = events[-2:]
    assert isinstance(failed, ev.NodeFailed)
    assert isinstance(broke, ev.RunFailed)
    assert (failed.node, failed.code, failed.message) == ("bad", "ValueError", "broken")
    assert (broke.code, broke.message) == ("ValueError", "broken")


def test_a_run_that_cannot_begin_has_its_two_events(drive: Drive, journal: Journal) -> None:
    """Rows: S0-052"""
    seen: list[Event] = []
    with pytest.raises(EmptyInputError):
        drive.watch(chain(drive, a, checkpointer=journal), None, seen.append, on("t"), stream_mode="events")
    assert kinds(seen) == ["RunStarted", "LeaseTaken", "RunFailed"]
    assert unpaired(seen) == []


def test_each_attempt_has_its_own_bracket(drive: Drive) -> None:
    """A failed attempt ends, the delay is told, the next one starts with its number.

    Rows: S0-052
    """
    tries: list[int] = []

    def flaky(state: Log) -> Log:
        tries.append(1)
        if len(tries) < 3:
            raise ConnectionError("again")
        return {"log": ["done"]}

    builder: Any = StateGraph(Log)
    policy = RetryPolicy(initial_interval=0.001, jitter=False)
    builder.add_node("flaky", drive.node(flaky), retry_policy=policy).add_edge(START, "flaky")
    events = events_of(drive, builder.compile(), {"log": []})
    once = ["NodeStarted", "NodeFailed", "RetryScheduled"]
    about = [e for e in events if isinstance(e, ev.NodeStarted | ev.NodeFailed | ev.NodeEnded | ev.RetryScheduled)]
    assert kinds(list(about)) == [*once, *once, "NodeStarted", "NodeEnded"]
    assert [event.attempt for event in only(events, ev.NodeStarted)] == [1, 2, 3]
    assert [(e.attempt, e.delay) for e in only(events, ev.RetryScheduled)] == [(1, 0.001), (2, 0.002)]
    assert len({event.span for event in only(events, ev.NodeStarted)}) == 3


def test_a_question_ends_the_node_and_pauses_the_run(drive: Drive, journal: Journal, strict: bool) -> None:
    """The run finished as an interrupt, with the question's id; the one that goes on is another run.

    Rows: S0-052
    """
    graph = chain(drive, ask, strict=strict, checkpointer=journal)
    events = events_of(drive, graph, {"log": []}, on("t"))
    (question,) = drive.get_state(graph, on("t")).interrupts
    (asked,) = only(events, ev.Interrupted)
    (failed,) = only(events, ev.NodeFailed)
    assert (asked.node, asked.question, failed.code) == ("ask", question.id, "interrupt")
    end = events[-1]
    assert isinstance(end, ev.RunFinished)
    assert (end.outcome, end.questions) == ("interrupt", (question.id,))
    more = events_of(drive, graph, Command(resume="ada"), on("t"))
    assert kinds(more)[-5:] == ["NodeStarted", "NodeEnded", "StateUpdated", "Checkpointed", "RunFinished"]
    assert more[0].run_id != events[0].run_id


def test_a_breakpoint_pauses_without_questions(drive: Drive, journal: Journal) -> None:
    graph = chain(drive, a, b, checkpointer=journal)
    (end,) = only(events_of(drive, graph, {"log": []}, on("t"), interrupt_before=["b"]), ev.RunFinished)
    assert (end.outcome, end.questions) == ("interrupt", ())


@pytest.mark.parametrize("called", [False, True])
def test_inner_graphs_are_runs_inside_the_run(drive: Drive, journal: Journal, strict: bool, called: bool) -> None:
    """Held as a node or invoked by one: a run of its own, whose parent is the run around it, between the node's events.

    Rows: S0-051
    """
    leaf = chain(drive, b, strict=strict)
    middle = chain(drive, a, strict=strict)
    builder: Any = StateGraph(Log, strict=strict)
    builder.add_node("leaf", leaf).add_edge(START, "leaf")
    middle = builder.compile()
    holder: Any = middle
    if called and drive.name == "async":

        async def call_async(state: Log) -> Log:
            await middle.ainvoke({"log": []})
            return {}

        holder = call_async
    elif called:

        def call_sync(state: Log) -> Log:
            middle.invoke({"log": []})
            return {}

        holder = call_sync
    outer: Any = StateGraph(Log, strict=strict)
    graph = outer.add_node("hold", holder).add_edge(START, "hold").compile(checkpointer=journal)
    events = events_of(drive, graph, {"log": []}, on("t"))
    runs = only(events, ev.RunStarted)
    assert [run.parent_run_id for run in runs] == [None, runs[0].run_id, runs[1].run_id]
    inside = [e for e in events if e.parent_run_id is not None]
    places = [events.index(event) for event in inside]
    hold = [events.index(e) for e in events if getattr(e, "node", "") == "hold" and e.parent_run_id is None]
    assert hold[0] < min(places) <= max(places) < hold[-1]
    assert {getattr(e, "node", "") for e in inside} >= {"leaf", "b"}


def test_a_command_to_the_parent_is_no_failure(drive: Drive, strict: bool) -> None:
    def up(state: Log) -> Any:
        return Command(graph=Command.PARENT, goto="after")

    inner = chain(drive, up, strict=strict)
    outer: Any = StateGraph(Log, strict=strict)
    outer.add_node("hold", inner, destinations=["after"]).add_node("after", drive.node(a)).add_edge(START, "hold")
    events = events_of(drive, outer.compile(), {"log": []})
    assert only(events, ev.NodeFailed) == only(events, ev.RunFailed) == []


def test_siblings_of_a_failed_node_have_their_ends(drive: Drive, strict: bool) -> None:
    """Whatever happens side by side: success, failure, question, conflict.

    Rows: S0-052
    """

    def also_b(state: Log) -> Log:
        return {"word": "other"}

    for bodies in ([a, b], [a, bad], [a, ask, b], [b, also_b], [bad, ask, a]):
        graph = fan(drive, *bodies, strict=strict, checkpointer=MemoryJournal())
        events = events_of(drive, graph, {"log": []}, on("t"))
        started = {event.node for event in only(events, ev.NodeStarted)}
        assert started == {body.__name__ for body in bodies}


def test_packets_are_nodes_of_their_own(drive: Drive) -> None:
    """Two tasks of one node have two brackets."""

    def spread(state: Log) -> list[Send]:
        return [Send("a", {"n": number}) for number in range(3)]

    builder: Any = StateGraph(Log)
    builder.add_node("a", drive.node(a)).add_conditional_edges(START, spread, ["a"])
    events = events_of(drive, builder.compile(), {"log": []})
    assert len({event.span for event in only(events, ev.NodeStarted)}) == 3


def test_a_cancelled_run_is_paired_too(drive: Drive, journal: Journal) -> None:
    """Leaving the stream after any event: a listener hears the end of whatever had begun.

    Rows: S0-052, S0-054
    """

    def work(state: Log) -> Log:
        with model_call("fake:m") as call:
            call.text("half")
            tell(ev.ToolStarted("never run", "call"))
        return {"log": ["work"]}

    graph = fan(drive, work, a, checkpointer=journal)
    for left_after in range(1, 14):
        heard: list[Event] = []

        def leave(count: int = left_after, heard: list[Event] = heard) -> None:
            config = on(f"t{count}")
            if drive.name == "sync":
                events = graph.stream_events({"log": []}, config, on_event=heard.append)
                for _ in range(count):
                    next(events, None)
                events.close()
                return

            async def follow() -> None:
                async with graph.astream_events({"log": []}, config, on_event=heard.append) as events:
                    for _ in range(count):
                        await anext(events, None)

            drive.wait(follow())

        leave()
        assert unpaired(heard) == [], left_after
        assert disordered(heard) == []
        assert isinstance(heard[-1], ev.RunFinished | ev.RunFailed)


def test_a_swallowed_signal_and_a_skipped_join_are_told(drive: Drive, journal: Journal) -> None:
    """Rows: S0-104"""

    def eats(state: Log) -> Log:
        with contextlib.suppress(BaseException):
            interrupt("who?")
        return {"log": ["ate"]}

    (told,) = only(events_of(drive, chain(drive, eats, checkpointer=journal), {"log": []}, on("t")), ev.SignalSwallowed)
    assert (told.node, told.signal) == ("eats", "GraphInterrupt")

    def nowhere(state: Log) -> str:
        return END

    builder: Any = StateGraph(Log, strict=False)
    for node in (a, b, ask):
        builder.add_node(node.__name__, drive.node(node))
    builder.add_edge(START, "a").add_conditional_edges("a", nowhere, ["b", END]).add_edge(["a", "b"], "ask")
    (skipped,) = only(events_of(drive, builder.compile(), {"log": []}), ev.JoinSkipped)
    assert (skipped.join, skipped.missing) == ("ask", ("b",))


def test_what_nodes_write_and_say_is_told(drive: Drive) -> None:
    """Custom values, model calls and tool calls, inside their node's bracket.

    Rows: S0-050
    """

    def talk(state: Log, writer: StreamWriter) -> Log:
        writer({"half": 1})
        with model_call("fake:m") as call:
            call.reasoning("hm")
            call.text("yes")
            call.tool("c1", name="search", args='{"q":')
            call.tool("c1", args="1}")
            call.called("c1")
            call.end(assistant("yes").named(call.id), ev.Usage(3, 1))
        with tool_call("search", "c1") as run:
            run.end({"found": 1})
        return {"log": ["said"]}

    events = events_of(drive, chain(drive, talk), {"log": []})
    begin, end = kinds(events).index("NodeStarted"), kinds(events).index("NodeEnded")
    assert kinds(events)[begin + 1 : end] == [
        "Custom",
        "LLMStarted",
        "LLMReasoning",
        "LLMChunk",
        "ToolStarted",
        "ToolArguments",
        "ToolArguments",
        "ToolCalled",
        "LLMEnded",
        "ToolEnded",
    ]
    assert only(events, ev.LLMEnded)[0].usage == ev.Usage(3, 1)
    assert only(events, ev.Custom)[0].value == {"half": 1}
    for event in events:
        assert event_json(event)["event"]
        assert agui(event)["type"]


def test_calls_of_tasks_have_brackets_of_their_own(drive: Drive, journal: Journal) -> None:
    """Inside their caller's; a failed one, a retried one, and none for a result that was kept.

    Rows: S0-050, S0-052
    """
    tries: list[int] = []

    @task(retry_policy=RetryPolicy(initial_interval=0.001, jitter=False))
    def flaky(number: int) -> int:
        tries.append(number)
        if len(tries) == 1:
            raise ConnectionError("again")
        return number

    @entrypoint(checkpointer=journal)
    def flow(given: int) -> list[Any]:
        first = flaky(given).result()
        return [first, interrupt("go on?"), flaky(given + 1).result()]

    events = events_of(drive, flow, 1, on("t"))
    told: list[Event] = [e for e in events if not isinstance(e, ev.Checkpointed | ev.LeaseTaken | ev.StateUpdated)]
    assert kinds(told) == [
        "RunStarted",
        "NodeStarted",
        "TaskStarted",
        "TaskFailed",
        "RetryScheduled",
        "TaskStarted",
        "TaskEnded",
        "Interrupted",
        "NodeFailed",
        "RunFinished",
    ]
    more = events_of(drive, flow, Command(resume="yes"), on("t"))
    assert [type(e).__name__ for e in more if "Task" in type(e).__name__] == ["TaskStarted", "TaskEnded"]
    assert isinstance(more[-1], ev.RunFinished)


def test_a_handled_failure_is_the_nodes_and_not_the_runs(drive: Drive) -> None:
    """Its handler has a bracket of its own.

    Rows: S0-052
    """

    def mend(state: Log) -> Log:
        return {"log": ["mended"]}

    builder: Any = StateGraph(Log)
    builder.add_node("bad", drive.node(bad), error_handler=drive.node(mend)).add_edge(START, "bad")
    events = events_of(drive, builder.compile(), {"log": []})
    nodes = [e for e in events if isinstance(e, ev.NodeStarted | ev.NodeFailed | ev.NodeEnded)]
    assert [(type(e).__name__, e.node) for e in nodes] == [
        ("NodeStarted", "bad"),
        ("NodeFailed", "bad"),
        ("NodeStarted", "__error_handler__bad"),
        ("NodeEnded", "__error_handler__bad"),
    ]
    assert only(events, ev.RunFinished)[0].outcome == "success"


def test_a_drained_run_has_an_end_of_its_own_kind(drive: Drive, journal: Journal) -> None:
    """Rows: S0-052"""
    control = RunControl()

    def enough(state: Log) -> Log:
        control.request_drain("enough")
        return {"log": ["enough"]}

    graph = chain(drive, enough, b, checkpointer=journal)
    events = events_of(drive, graph, {"log": []}, on("t"), control=control)
    assert only(events, ev.RunFinished)[0].outcome == "drained"
    assert only(events, ev.RunFailed) == []


# Listeners


def test_listeners_hear_what_the_stream_tells(drive: Drive, journal: Journal) -> None:
    """Of a call, of a graph's config, several at once; with or without a stream.

    Rows: S0-050
    """
    of_call: list[Event] = []
    of_graph: list[Event] = []
    graph = chain(drive, a, b, checkpointer=journal).with_config(listeners=[of_graph.append])
    drive.invoke(graph, {"log": []}, on("t"), on_event=of_call.append)
    assert kinds(of_call) == kinds(of_graph) == kinds(events_of(drive, graph, {"log": []}, on("t2")))
    assert unpaired(of_call) == []


def test_a_listener_of_an_inner_graph_hears_that_graph(drive: Drive) -> None:
    """Once each, though the outer run has the same listener."""
    heard: list[Event] = []
    hears = heard.append
    inner = chain(drive, a).with_config(listeners=[hears])
    outer: Any = StateGraph(Log)
    graph = outer.add_node("hold", inner).add_edge(START, "hold").compile()
    drive.invoke(graph, {"log": []})
    assert [event.node for event in only(heard, ev.NodeStarted)] == ["a"]
    assert unpaired(heard) == []
    heard.clear()
    drive.invoke(graph, {"log": []}, on_event=hears)
    assert [event.node for event in only(heard, ev.NodeStarted)] == ["hold", "a"]


def test_a_listener_that_fails_does_not_fail_the_run(drive: Drive, caplog: pytest.LogCaptureFixture) -> None:
    """It is logged, and the others hear on."""

    def broken(event: Event) -> None:
        raise RuntimeError("no room")

    heard: list[Event] = []
    with caplog.at_level(logging.WARNING, logger="lawful.events"):
        assert drive.invoke(chain(drive, a), {"log": []}, on_event=[broken, heard.append]) == {"log": ["a"]}
    assert kinds(heard)[-1] == "RunFinished"
    assert any("no room" in record.getMessage() for record in caplog.records)


def test_what_cannot_hear_is_refused(drive: Drive) -> None:
    wrong: Any = [3]
    with pytest.raises(ConfigurationError, match="function of one event"):
        drive.invoke(chain(drive, a), {"log": []}, on_event=wrong)


def test_listeners_are_called_one_at_a_time(drive: Drive) -> None:
    """Though nodes talk from many threads: numbers never go back, no two calls overlap.

    Rows: S0-051
    """
    inside = 0
    most = 0
    heard: list[Event] = []

    def hear(event: Event) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        heard.append(event)
        inside -= 1

    def talk(state: Any) -> Log:
        with model_call("fake:m") as call:
            for _ in range(20):
                call.text("x")
        return {"log": ["x"]}

    def spread(state: Log) -> list[Send]:
        return [Send("talk", {"n": number}) for number in range(12)]

    builder: Any = StateGraph(Log)
    builder.add_node("talk", talk).add_conditional_edges(START, spread, ["talk"])
    drive.invoke(builder.compile(), {"log": []}, on_event=hear)
    assert (most, disordered(heard), unpaired(heard)) == (1, [], [])
    assert len(only(heard, ev.LLMChunk)) == 240


async def test_what_is_left_over_of_a_node_is_not_told() -> None:
    """A task that outlives its run says nothing more, though its call was still open."""
    go = asyncio.Event()
    late: list[asyncio.Task[None]] = []

    async def linger() -> None:
        with model_call("fake:m") as call:
            await go.wait()
            tell(ev.Custom("late"))
            with contextlib.suppress(Exception):
                call.text("late")

    async def leave(state: Log) -> Log:
        late.append(asyncio.create_task(linger()))
        await asyncio.sleep(0)
        return {"log": ["left"]}

    heard: list[Event] = []
    builder: Any = StateGraph(Log)
    await builder.add_node(leave).add_edge(START, "leave").compile().ainvoke({"log": []}, on_event=heard.append)
    go.set()
    await asyncio.gather(*late)
    assert unpaired(heard) == []
    assert kinds(heard)[-2:] == ["LLMFailed", "RunFinished"]
