"""Rules of failure: what a failed, cancelled or crashed step keeps, what a resume runs again, what new input discards."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from typing import Any

import pytest

from lawful.core.errors import EmptyInputError, InvalidUpdateError, NodeCancelledError, NotInRun
from lawful.graph import START, Command, Send, StateGraph, get_stream_writer, interrupt
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from support.graphs import Drive, JournalBox, names, on
from support.pausing import Calls, Log, asked, by_name, chain, checkpoint_id, fan, fan_of, steps, until

pytestmark = pytest.mark.unit


class Once:
    """A node that fails the first ``times`` times it is entered, then writes its name."""

    def __init__(self, name: str, calls: Calls, *, times: int = 1, error: type[Exception] = ValueError) -> None:
        self.__name__ = name
        self.calls = calls
        self.times = times
        self.error = error

    def __call__(self, state: Log) -> Log:
        if self.calls(self.__name__) <= self.times:
            raise self.error(f"{self.__name__} failed")
        return {"log": [self.__name__]}


def once(name: str, calls: Calls, *, times: int = 1, wait: float = 0.0) -> Any:
    """As `Once`, but a plain function, and after ``wait`` seconds."""

    def body(state: Log) -> Log:
        time.sleep(wait)
        if calls(name) <= times:
            raise ValueError(f"{name} failed")
        return {"log": [name]}

    body.__name__ = body.__qualname__ = name
    return body


def writer(name: str, calls: Calls) -> Any:
    def body(state: Log) -> Log:
        calls(name)
        return {"log": [name]}

    body.__name__ = body.__qualname__ = name
    return body


@pytest.mark.parametrize("quick,slow", [("a_quick", "b_slow"), ("b_quick", "a_slow")])
def test_a_finished_task_is_stored_while_its_step_still_runs(
    drive: Drive, box: JournalBox, quick: str, slow: str
) -> None:
    """The slow sibling itself sees the quick one's writes in the store, from another opening of it.

    Rules: 90. Rows: S1-P15
    """
    watching = box.open()
    seen: list[bool] = []

    def stored() -> bool:
        rows = watching.chain("t")
        return rows is not None and any(one.kind == "done" for one in rows.writes)

    def body_quick(state: Log) -> Log:
        return {"log": ["quick"]}

    def body_slow(state: Log) -> Log:
        seen.append(until(stored))
        return {"log": ["slow"]}

    body_quick.__name__, body_slow.__name__ = quick, slow
    # Sync nodes under both drivers: a blocking coroutine would hold the loop that has to do the storing.
    graph = fan_of(body_quick, body_slow, checkpointer=box.open())
    assert sorted(drive.invoke(graph, {"log": []}, on("t"))["log"]) == ["quick", "slow"]
    assert seen == [True]


async def test_a_finished_coroutine_is_stored_while_its_step_still_runs(box: JournalBox) -> None:
    """The same with async nodes.

    Rules: 90
    """
    watching = box.open()
    seen: list[bool] = []

    async def quick(state: Log) -> Log:
        return {"log": ["quick"]}

    async def slow(state: Log) -> Log:
        for _ in range(300):
            rows = watching.chain("t")
            if rows is not None and any(one.kind == "done" for one in rows.writes):
                seen.append(True)
                break
            await asyncio.sleep(0.01)
        return {"log": ["slow"]}

    await fan_of(quick, slow, checkpointer=box.open()).ainvoke({"log": []}, on("t"))
    assert seen == [True]


def test_the_error_reaches_the_caller_unchanged(drive: Drive, journal: Journal, strict: bool) -> None:
    """The very object that the node raised, not a wrapper, group or copy.

    Rules: 91
    """
    error = LookupError("no such page")

    def bad(state: Log) -> Log:
        raise error

    def good(state: Log) -> Log:
        return {"log": ["good"]}

    for graph in (
        fan(drive, bad, strict=strict, checkpointer=journal),
        fan(drive, bad, good, strict=strict, checkpointer=journal),
        fan(drive, bad, good, strict=strict),
    ):
        with pytest.raises(LookupError) as caught:
            drive.invoke(graph, {"log": []}, on("t"))
        assert caught.value is error


def test_the_sync_driver_lets_siblings_end_and_keeps_what_they_wrote(journal: Journal, strict: bool) -> None:
    """A thread cannot be stopped: the call returns after it, and a resume does not run it again.

    Rules: 91, 92
    """
    calls = Calls()

    def slow(state: Log) -> Log:
        calls("slow")
        time.sleep(0.15)
        return {"log": ["slow"]}

    graph = fan_of(once("bad", calls), slow, strict=strict, checkpointer=journal)
    began = time.monotonic()
    with pytest.raises(ValueError, match="bad failed"):
        graph.invoke({"log": []}, on("t"))
    assert time.monotonic() - began >= 0.14
    assert graph.get_state(on("t")).values == {"log": ["slow"]}
    assert by_name(graph.get_state(on("t")))["bad"].error == "ValueError('bad failed')"
    assert graph.invoke(None, on("t")) == {"log": ["bad", "slow"]}
    assert calls.of("slow") == 1


async def test_the_async_driver_cancels_siblings_and_runs_them_again(journal: Journal, strict: bool) -> None:
    """The failure is told at once; the cancelled sibling is marked and is next.

    Rules: 91, 92
    """
    calls = Calls()

    async def bad(state: Log) -> Log:
        await asyncio.sleep(0.02)
        if calls("bad") == 1:
            raise ValueError("bad failed")
        return {"log": ["bad"]}

    async def slow(state: Log) -> Log:
        if calls("slow") == 1:
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                calls("cancelled")
                raise
        return {"log": ["slow"]}

    graph = fan_of(bad, slow, strict=strict, checkpointer=journal)
    began = time.monotonic()
    with pytest.raises(ValueError, match="bad failed"):
        await graph.ainvoke({"log": []}, on("t"))
    assert time.monotonic() - began < 5
    assert calls.of("cancelled") == 1
    head = await graph.aget_state(on("t"))
    assert sorted(head.next) == ["bad", "slow"]
    assert "CancelledError" in by_name(head)["slow"].error
    assert await graph.ainvoke(None, on("t")) == {"log": ["bad", "slow"]}
    assert calls.of("slow") == 2


async def test_a_sibling_that_writes_while_it_is_cancelled_writes_nothing(journal: Journal) -> None:
    """Its answer comes after the step was given up, so it is run again as if it had said nothing.

    Rules: 91, 92
    """
    calls = Calls()

    async def bad(state: Log) -> Log:
        await asyncio.sleep(0.02)
        if calls("bad") == 1:
            raise ValueError("bad failed")
        return {"log": ["bad"]}

    async def stubborn(state: Log) -> Log:
        number = calls("stubborn")
        if number == 1:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(30)
        return {"log": [f"stubborn {number}"]}

    graph = fan_of(bad, stubborn, checkpointer=journal)
    with pytest.raises(ValueError, match="bad failed"):
        await graph.ainvoke({"log": []}, on("t"))
    result = await graph.ainvoke(None, on("t"))
    assert result["log"][0] == "bad"
    assert len(result["log"]) == 2, "its writes are taken once, whichever attempt's they are"


def slow_sibling(calls: Calls, delay: float, finished: list[str]) -> Any:
    def sibling(state: Log) -> Log:
        calls("sibling")
        time.sleep(delay)
        finished.append("done")
        return {"log": ["sibling"]}

    return sibling


@pytest.mark.parametrize("delay", [0.0, 0.001, 0.02])
def test_a_sibling_that_ends_just_after_a_failure_keeps_its_writes(drive: Drive, delay: float) -> None:
    """Many tries at the moment in which a failed step is closed: no finished node is ever run again.

    Rules: 219, 91, 92. Rows: S1-046
    """
    for _ in range(20 if delay < 0.01 else 6):
        calls = Calls()
        finished: list[str] = []

        graph = fan_of(once("bad", calls), slow_sibling(calls, delay, finished), checkpointer=MemoryJournal())
        with pytest.raises(ValueError, match="bad failed"):
            drive.invoke(graph, {"log": []}, on("t"))
        if drive.name == "sync":
            assert finished == ["done"]
            assert drive.get_state(graph, on("t")).values == {"log": ["sibling"]}
            assert drive.invoke(graph, None, on("t")) == {"log": ["bad", "sibling"]}
            assert calls.of("sibling") == 1
        else:
            # A thread that is still at work is left alone and its result not recorded: then, and only then, it runs again.
            kept = "sibling" in drive.get_state(graph, on("t")).values["log"]
            assert drive.invoke(graph, None, on("t")) == {"log": ["bad", "sibling"]}
            assert not kept or calls.of("sibling") == 1


def test_a_resume_runs_only_what_has_no_result(drive: Drive, journal: Journal, strict: bool) -> None:
    """Saved writes are applied with the new ones, in the order of the tasks.

    Rules: 92, 35. Rows: S1-046, S1-P15
    """
    calls = Calls()
    bodies = [writer("a", calls), once("b", calls, wait=0.02), writer("c", calls), once("d", calls, wait=0.04)]
    graph = fan_of(*bodies, strict=strict, checkpointer=journal)
    with pytest.raises(ValueError, match="failed"):
        drive.invoke(graph, {"log": ["in"]}, on("t"))
    for _ in range(3):
        if drive.get_state(graph, on("t")).next:
            try:
                drive.invoke(graph, None, on("t"))
            except ValueError:
                continue
    assert drive.get_state(graph, on("t")).values == {"log": ["in", "a", "b", "c", "d"]}
    assert (calls.of("a"), calls.of("b"), calls.of("c")) == (1, 2, 1)


def test_a_resume_over_a_process_border_runs_only_what_has_no_result(drive: Drive, box: JournalBox) -> None:
    """The same from another opening of the store.

    Rules: 92. Rows: S0-103, S1-K11
    """
    calls = Calls()
    bodies = [writer("a", calls), once("b", calls, wait=0.02)]
    with pytest.raises(ValueError, match="b failed"):
        drive.invoke(fan_of(*bodies, checkpointer=box.open()), {"log": []}, on("t"))
    assert drive.invoke(fan_of(*bodies, checkpointer=box.open()), None, on("t")) == {"log": ["a", "b"]}
    assert (calls.of("a"), calls.of("b")) == (1, 2)


def test_a_resume_runs_only_the_sends_that_have_no_result(drive: Drive, journal: Journal, strict: bool) -> None:
    """Tasks of one node are told apart by their place in the step.

    Rules: 92, 70. Rows: S1-P15
    """
    calls = Calls()

    def spread(state: Log) -> list[Send]:
        return [Send("work", {"n": number}) for number in range(4)]

    def work(state: Log) -> Log:
        number = state.get("n", -1)
        if number == 2:
            time.sleep(0.03)
        if calls(f"work{number}") == 1 and number == 2:
            raise ValueError("the third failed")
        return {"log": [str(number)]}

    builder: Any = StateGraph(Log, strict=strict)
    builder.add_node("work", work).add_conditional_edges(START, spread, ["work"])
    graph = builder.compile(checkpointer=journal)
    with pytest.raises(ValueError, match="the third failed"):
        drive.invoke(graph, {"log": []}, on("t"))
    assert drive.invoke(graph, None, on("t")) == {"log": ["0", "1", "2", "3"]}
    assert [calls.of(f"work{number}") for number in range(4)] == [1, 1, 2, 1]


def test_a_failing_resume_adds_no_checkpoint(drive: Drive, journal: Journal, strict: bool) -> None:
    """However often it fails.

    Rules: 93
    """
    calls = Calls()
    graph = chain(drive, writer("a", calls), once("b", calls, times=3), strict=strict, checkpointer=journal)
    with pytest.raises(ValueError, match="b failed"):
        drive.invoke(graph, {"log": []}, on("t"))
    before = [checkpoint_id(entry) for entry in drive.get_state_history(graph, on("t"))]
    for _ in range(2):
        with pytest.raises(ValueError, match="b failed"):
            drive.invoke(graph, None, on("t"))
        assert [checkpoint_id(entry) for entry in drive.get_state_history(graph, on("t"))] == before
    assert drive.invoke(graph, None, on("t")) == {"log": ["a", "b"]}


def test_a_task_that_returned_nothing_is_known_as_done(drive: Drive, journal: Journal, strict: bool) -> None:
    """None, {} and an empty Command all count.

    Rules: 94
    """
    calls = Calls()

    def returning(name: str, value: Any) -> Any:
        def body(state: Log) -> Any:
            calls(name)
            return value

        body.__name__ = body.__qualname__ = name
        return body

    silent = [returning("none", None), returning("empty", {}), returning("command", Command())]
    graph = fan_of(*silent, once("z_bad", calls, wait=0.03), strict=strict, checkpointer=journal)
    with pytest.raises(ValueError, match="z_bad failed"):
        drive.invoke(graph, {"log": []}, on("t"))
    assert drive.get_state(graph, on("t")).next == ("z_bad",)
    assert drive.invoke(graph, None, on("t")) == {"log": ["z_bad"]}
    assert [calls.of(name) for name in ("none", "empty", "command", "z_bad")] == [1, 1, 1, 2]


def test_stored_results_are_streamed_again_and_marked(drive: Drive, journal: Journal, strict: bool) -> None:
    """As updates with ``cached``, not as task results.

    Rules: 95
    """
    calls = Calls()

    def idle(state: Log) -> None:
        return None

    graph = fan_of(writer("a", calls), idle, once("b", calls, wait=0.03), strict=strict, checkpointer=journal)
    with pytest.raises(ValueError, match="b failed"):
        drive.invoke(graph, {"log": []}, on("t"))
    events = drive.stream(graph, None, on("t"), stream_mode=["updates", "tasks"])
    updates = [event for mode, event in events if mode == "updates"]
    assert sorted(updates, key=str) == sorted(
        [
            {"a": {"log": ["a"]}, "__metadata__": {"cached": True}},
            {"idle": None, "__metadata__": {"cached": True}},
            {"b": {"log": ["b"]}},
        ],
        key=str,
    )
    assert [event["name"] for mode, event in events if mode == "tasks" and "result" in event] == ["b"]


def test_new_input_discards_an_unfinished_step(drive: Drive, journal: Journal, strict: bool) -> None:
    """Also what its finished siblings had written: it is one step's, and the step never was.

    Rules: 96
    """
    calls = Calls()
    graph = fan_of(once("flaky", calls, wait=0.03), writer("ok", calls), strict=strict, checkpointer=journal)
    with pytest.raises(ValueError, match="flaky failed"):
        drive.invoke(graph, {"log": ["i1"]}, on("t"))
    assert drive.get_state(graph, on("t")).values == {"log": ["i1", "ok"]}
    assert drive.invoke(graph, {"log": ["i2"]}, on("t")) == {"log": ["i1", "i2", "flaky", "ok"]}
    assert calls.of("ok") == 2


def test_new_input_discards_a_question_and_what_would_have_followed(
    drive: Drive, journal: Journal, strict: bool
) -> None:
    """The triggers of the waiting node are consumed, so it runs only if the new input leads to it.

    Rules: 96. Rows: S0-102
    """

    def route(state: Log) -> str:
        return "ask" if state.get("log", [])[-1] == "ask" else "tell"

    def ask(state: Log) -> Log:
        return {"log": [interrupt("who?")]}

    def tell(state: Log) -> Log:
        return {"log": ["told"]}

    builder: Any = StateGraph(Log, strict=strict)
    builder.add_node("ask", drive.node(ask)).add_node("tell", drive.node(tell))
    graph = builder.add_conditional_edges(START, route, ["ask", "tell"]).compile(checkpointer=journal)
    assert asked(drive.invoke(graph, {"log": ["ask"]}, on("t")))
    assert drive.invoke(graph, {"log": ["tell"]}, on("t")) == {"log": ["ask", "tell", "told"]}
    assert drive.get_state(graph, on("t")).interrupts == ()


def test_going_on_needs_a_thread_that_began(drive: Drive, journal: Journal, strict: bool) -> None:
    """``None`` as first input is nothing to run on; nothing is stored.

    Rules: 97
    """
    graph = chain(drive, writer("a", Calls()), strict=strict, checkpointer=journal)
    with pytest.raises(EmptyInputError, match="Received no input for"):
        drive.invoke(graph, None, on("t"))
    assert list(journal.threads()) == []
    with pytest.raises(EmptyInputError, match="Received no input for"):
        drive.invoke(chain(drive, writer("a", Calls()), strict=strict), None)


def test_going_on_after_the_end_changes_nothing(drive: Drive, journal: Journal, strict: bool) -> None:
    """The state is returned, no node runs, no checkpoint is added.

    Rules: 97
    """
    calls = Calls()
    graph = chain(drive, writer("a", calls), strict=strict, checkpointer=journal)
    done = drive.invoke(graph, {"log": []}, on("t"))
    before = steps(drive, graph, on("t"))
    assert drive.invoke(graph, None, on("t")) == done
    assert drive.stream(graph, None, on("t"), stream_mode="updates") == []
    assert (calls.of("a"), steps(drive, graph, on("t"))) == (1, before)


def test_a_question_does_not_stop_its_siblings(drive: Drive, journal: Journal, strict: bool) -> None:
    """The step runs to its end; what the others wrote is stored, returned, and not run again.

    Rules: 98. Rows: S1-H02
    """
    calls = Calls()

    def ask(state: Log) -> Log:
        return {"log": [interrupt("who?")]}

    def slow(state: Log) -> Log:
        calls("slow")
        time.sleep(0.05)
        return {"log": ["slow"]}

    graph = fan_of(ask, slow, strict=strict, checkpointer=journal)
    paused = drive.invoke(graph, {"log": []}, on("t"))
    assert paused["log"] == ["slow"]
    assert [question.value for question in asked(paused)] == ["who?"]
    assert drive.get_state(graph, on("t")).next == ("ask",)
    assert drive.invoke(graph, Command(resume="ada"), on("t")) == {"log": ["ada", "slow"]}
    assert calls.of("slow") == 1


async def test_a_question_does_not_cancel_an_async_sibling(journal: Journal) -> None:
    """The same with coroutines.

    Rules: 98
    """
    calls = Calls()

    async def ask(state: Log) -> Log:
        return {"log": [interrupt("who?")]}

    async def slow(state: Log) -> Log:
        calls("slow")
        await asyncio.sleep(0.05)
        return {"log": ["slow"]}

    graph = fan_of(ask, slow, checkpointer=journal)
    assert (await graph.ainvoke({"log": []}, on("t")))["log"] == ["slow"]
    assert await graph.ainvoke(Command(resume="ada"), on("t")) == {"log": ["ada", "slow"]}
    assert calls.of("slow") == 1


@pytest.mark.parametrize("first", ["ask", "fail"])
def test_an_error_comes_before_a_question_and_both_are_kept(
    drive: Drive, journal: Journal, strict: bool, first: str
) -> None:
    """Whichever was first, the error is raised and the question is stored.

    Rules: 99, 220
    """
    calls = Calls()

    def ask(state: Log) -> Log:
        time.sleep(0.0 if first == "ask" else 0.05)
        return {"log": [interrupt("who?")]}

    bad = once("bad", calls, wait=0.05 if first == "ask" else 0.0)
    graph = fan_of(ask, bad, strict=strict, checkpointer=journal)
    with pytest.raises(ValueError, match="bad failed"):
        drive.invoke(graph, {"log": []}, on("t"))
    tasks = by_name(drive.get_state(graph, on("t")))
    assert tasks["bad"].error == "ValueError('bad failed')"
    if drive.name == "sync" or first == "ask":
        assert [question.value for question in tasks["ask"].interrupts] == ["who?"]
    again = drive.invoke(graph, None, on("t"))
    assert [question.value for question in asked(again)] == ["who?"]
    assert drive.invoke(graph, Command(resume="ada"), on("t")) == {"log": ["ada", "bad"]}


def test_of_two_failures_one_is_raised_and_both_are_noted(drive: Drive, journal: Journal, strict: bool) -> None:
    """After the resume both have run again.

    Rules: 91, 92
    """
    calls = Calls()
    barrier = threading.Barrier(2, timeout=3)

    def failing(name: str) -> Any:
        def body(state: Log) -> Log:
            if calls(name) == 1:
                barrier.wait()
                raise ValueError(f"{name} failed")
            return {"log": [name]}

        body.__name__ = body.__qualname__ = name
        return body

    graph = fan_of(failing("a"), failing("b"), strict=strict, checkpointer=journal)
    with pytest.raises(ValueError, match="failed"):
        drive.invoke(graph, {"log": []}, on("t"))
    tasks = by_name(drive.get_state(graph, on("t")))
    assert any(task.error for task in tasks.values())
    if drive.name == "sync":
        assert {name: task.error for name, task in tasks.items()} == {n: f"ValueError('{n} failed')" for n in "ab"}
    assert drive.invoke(graph, None, on("t")) == {"log": ["a", "b"]}


async def test_cancelling_the_caller_cancels_its_nodes_and_keeps_what_was_finished(journal: Journal) -> None:
    """The finished sibling's writes are stored; the cancelled one runs again on resume.

    Rules: 100
    """
    calls = Calls()
    waiting = asyncio.Event()

    async def done(state: Log) -> Log:
        calls("done")
        return {"log": ["done"]}

    async def slow(state: Log) -> Log:
        if calls("slow") == 1:
            waiting.set()
            try:
                await asyncio.sleep(30)
            finally:
                calls("cleaned up")
        return {"log": ["slow"]}

    graph = fan_of(done, slow, checkpointer=journal)
    run = asyncio.create_task(graph.ainvoke({"log": []}, on("t")))
    await waiting.wait()
    await asyncio.sleep(0.05)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert calls.of("cleaned up") == 1
    head = await graph.aget_state(on("t"))
    assert (head.values, head.next) == ({"log": ["done"]}, ("slow",))
    assert await graph.ainvoke(None, on("t"), busy="reject") == {"log": ["done", "slow"]}
    assert calls.of("done") == 1


async def test_a_sync_node_cannot_be_cancelled_but_is_not_recorded(journal: Journal) -> None:
    """The caller is let go at once; what the thread does later, returns or asks is nobody's.

    Rules: 101
    """
    calls = Calls()
    entered, go_on, left = threading.Event(), threading.Event(), threading.Event()
    late: list[BaseException] = []

    def slow(state: Log) -> Log:
        if calls("slow") > 1:
            return {"log": ["second"]}
        entered.set()
        go_on.wait(5)
        for late_call in (lambda: interrupt("late?"), lambda: get_stream_writer()("late")):
            try:
                late_call()
            except BaseException as refused:
                late.append(refused)
        left.set()
        return {"log": ["first"]}

    graph = fan_of(slow, checkpointer=journal)
    run = asyncio.create_task(graph.ainvoke({"log": []}, on("t")))
    await asyncio.get_running_loop().run_in_executor(None, entered.wait, 3)
    run.cancel()
    began = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert time.monotonic() - began < 1
    go_on.set()
    await asyncio.get_running_loop().run_in_executor(None, left.wait, 3)
    assert [type(refused) for refused in late] == [NotInRun, NotInRun]
    await asyncio.sleep(0.02)
    head = await graph.aget_state(on("t"))
    assert (head.values, head.next, head.interrupts) == ({"log": []}, ("slow",), ())
    assert await graph.ainvoke(None, on("t")) == {"log": ["second"]}


async def test_a_node_that_raises_cancelled_error_has_failed(journal: Journal, strict: bool) -> None:
    """Nobody cancelled the run, so it may not look like a cancellation or a success; the error names the node.

    Rules: 102
    """
    calls = Calls()

    async def giver_up(state: Log) -> Log:
        if calls("giver_up") == 1:
            raise asyncio.CancelledError
        return {"log": ["in the end"]}

    graph = fan_of(giver_up, strict=strict, checkpointer=journal)
    with pytest.raises(NodeCancelledError, match="giver_up"):
        await graph.ainvoke({"log": []}, on("t"))
    assert (await graph.aget_state(on("t"))).next == ("giver_up",)
    assert await graph.ainvoke(None, on("t")) == {"log": ["in the end"]}


async def test_a_node_whose_own_child_was_cancelled_has_failed(journal: Journal) -> None:
    """Awaiting a task that the node itself cancelled is the node's own doing.

    Rules: 102
    """

    async def self_made(state: Log) -> Log:
        child = asyncio.create_task(asyncio.sleep(10))
        await asyncio.sleep(0)
        child.cancel()
        await child
        return {"log": ["never"]}

    with pytest.raises(NodeCancelledError, match="self_made"):
        await fan_of(self_made, checkpointer=journal).ainvoke({"log": []}, on("t"))


def test_a_sync_node_that_raises_cancelled_error_has_failed(journal: Journal) -> None:
    """The same without a loop.

    Rules: 102
    """

    def giver_up(state: Log) -> Log:
        raise asyncio.CancelledError

    with pytest.raises(NodeCancelledError, match="giver_up"):
        fan_of(giver_up, checkpointer=journal).invoke({"log": []}, on("t"))


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit])
def test_what_stops_the_process_stops_the_run(journal: Journal, interruption: type[BaseException]) -> None:
    """Ctrl-C in a node comes out as itself, and the thread can be resumed.

    Rules: 91, 92
    """
    calls = Calls()

    def node(state: Log) -> Log:
        if calls("node") == 1:
            raise interruption
        return {"log": ["node"]}

    graph = fan_of(node, checkpointer=journal)
    with pytest.raises(interruption):
        graph.invoke({"log": []}, on("t"))
    assert graph.invoke(None, on("t"), busy="reject") == {"log": ["node"]}


def test_a_failed_route_is_its_nodes_failure(drive: Drive, journal: Journal, strict: bool) -> None:
    """The route runs again on resume, so the way is not lost and the node's writes are there once.

    Rules: 42, 92. Rows: S1-047
    """
    calls = Calls()

    def work(state: Log) -> Log:
        return {"log": ["work"]}

    def route(state: Log) -> str:
        if calls("route") == 1:
            raise ValueError("the map is upside down")
        return "after"

    def after(state: Log) -> Log:
        return {"log": ["after"]}

    builder: Any = StateGraph(Log, strict=strict)
    builder.add_node("work", drive.node(work)).add_node("after", drive.node(after)).add_edge(START, "work")
    graph = builder.add_conditional_edges("work", route, ["after"]).compile(checkpointer=journal)
    with pytest.raises(ValueError, match="upside down"):
        drive.invoke(graph, {"log": []}, on("t"))
    assert drive.get_state(graph, on("t")).next == ("work",)
    assert drive.invoke(graph, None, on("t")) == {"log": ["work", "after"]}


def test_a_conflict_leaves_no_trace_of_its_step(drive: Drive, journal: Journal, strict: bool) -> None:
    """No channel of the step is changed, not even those that had no conflict, and the error names key and nodes.

    Rules: 19, 82. Rows: S1-041, S1-049
    """

    def left(state: Log) -> Log:
        return {"word": "left", "n": 1, "log": ["left"]}

    def right(state: Log) -> Log:
        return {"word": "right", "log": ["right"]}

    graph = fan(drive, left, right, strict=strict, checkpointer=journal)
    with pytest.raises(InvalidUpdateError, match=r"^At key 'word'") as caught:
        drive.invoke(graph, {"log": ["in"]}, on("t"))
    assert "left" in str(caught.value)
    assert "right" in str(caught.value)
    assert drive.get_state(graph, on("t")).values == {"log": ["in"]}
    assert steps(drive, graph, on("t")) == [("loop", 0), ("input", -1)]


def test_going_on_streams_only_what_is_new(drive: Drive, journal: Journal, strict: bool) -> None:
    """Nodes of finished steps are neither run nor told of again.

    Rules: 92, 95
    """
    calls = Calls()
    graph = chain(drive, writer("a", calls), once("b", calls), writer("c", calls), strict=strict, checkpointer=journal)
    with pytest.raises(ValueError, match="b failed"):
        drive.invoke(graph, {"log": []}, on("t"))
    assert names(drive.stream(graph, None, on("t"), stream_mode="updates")) == ["b", "c"]
    assert (calls.of("a"), calls.of("b"), calls.of("c")) == (1, 2, 1)


def test_a_node_may_be_an_object_with_a_name(journal: Journal) -> None:
    """A callable object fails and resumes as a function does.

    Rules: 2, 92
    """
    calls = Calls()
    builder: Any = StateGraph(Log)
    graph = builder.add_node("once", Once("once", calls)).add_edge(START, "once").compile(checkpointer=journal)
    with pytest.raises(ValueError, match="once failed"):
        graph.invoke({"log": []}, on("t"))
    assert graph.invoke(None, on("t")) == {"log": ["once"]}


@pytest.mark.parametrize("spares", [True, False])
async def test_a_failure_may_let_the_others_of_its_step_end(journal: Journal, spares: bool) -> None:
    calls = Calls()

    async def slow(state: Log) -> Log:
        calls("slow")
        await asyncio.sleep(0.02)
        return {"log": ["slow"]}

    async def bad(state: Log) -> Log:
        if calls("bad") == 1:
            raise ValueError("bad failed")
        return {"log": ["bad"]}

    graph = StateGraph(Log).add_node(slow).add_node(bad, spares_siblings=spares)
    built = graph.add_edge(START, "slow").add_edge(START, "bad").compile(checkpointer=journal)
    with pytest.raises(ValueError, match="bad failed"):
        await built.ainvoke({"log": []}, on("t"))
    assert await built.ainvoke(None, on("t")) == {"log": ["bad", "slow"]}
    assert (calls.of("slow"), calls.of("bad")) == (1 if spares else 2, 2)
