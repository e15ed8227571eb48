"""One writer per thread: the policies queue, reject, cancel and fork, and that a lease never outlives its run."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from typing import Any

import pytest

from lawful.core.errors import Failure, RunCancelled, ThreadBusy
from lawful.graph import START, Command, StateGraph, interrupt
from lawful.journal.port import Journal
from support.graphs import Drive, JournalBox, on
from support.pausing import Calls, Log, asked, chain, fan_of

pytestmark = pytest.mark.unit


class Gate:
    """A node that holds its thread until it is opened, once; later runs pass through."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.open = threading.Event()

    def node(self, state: Log) -> Log:
        self.entered.set()
        assert self.open.wait(10)
        return {"log": [f"after {state.get('log', [])[-1]}"]}


class Runner(threading.Thread):
    """An invocation in a thread of its own, by either driver; `result` is what it returned or raised."""

    def __init__(self, kind: str, graph: Any, text: str, **options: Any) -> None:
        super().__init__()
        self.result: Any = None
        self._call = lambda: _invoke(kind, graph, text, options)
        self.start()

    def run(self) -> None:
        try:
            self.result = self._call()
        except BaseException as raised:
            self.result = raised


def _invoke(kind: str, graph: Any, text: str, options: dict[str, Any]) -> Any:
    if kind == "sync":
        return graph.invoke({"log": [text]}, on("t"), **options)
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        return runner.run(graph.ainvoke({"log": [text]}, on("t"), **options))


@pytest.fixture
def gate() -> Gate:
    return Gate()


def held(drive: Drive, box: JournalBox, gate: Gate) -> tuple[Any, Any, Runner]:
    """A run that holds thread "t" at its gate, and two graphs: its own, and one over another opening of the store."""
    own = fan_of(gate.node, checkpointer=box.open())
    other = fan_of(gate.node, checkpointer=box.open())
    first = Runner(drive.name, own, "one")
    assert gate.entered.wait(5)
    return own, other, first


def test_by_default_the_second_run_waits_its_turn(drive: Drive, box: JournalBox, gate: Gate) -> None:
    """It starts from what the first one left: nothing is lost, nothing is mixed.

    Cases: A19
    """
    own, other, first = held(drive, box, gate)
    second = Runner(drive.name, other, "two")
    third = Runner(drive.name, own, "three")
    time.sleep(0.1)
    assert second.is_alive()
    assert third.is_alive()
    gate.open.set()
    for run in (first, second, third):
        run.join(10)
    assert first.result == {"log": ["one", "after one"]}
    log = drive.get_state(own, on("t")).values["log"]
    assert sorted(log[2:]) == ["after three", "after two", "three", "two"]
    assert [log[i + 1] for i in (0, 2, 4)] == [f"after {log[i]}" for i in (0, 2, 4)]


def test_a_wait_has_an_end(drive: Drive, box: JournalBox, gate: Gate) -> None:
    """After busy_timeout the caller is told who is busy; the run that holds the thread is not disturbed.

    Cases: A19
    """
    _, other, first = held(drive, box, gate)
    began = time.monotonic()
    second = Runner(drive.name, other, "two", busy_timeout=0.2)
    second.join(10)
    assert isinstance(second.result, ThreadBusy)
    assert "'t'" in str(second.result)
    assert 0.15 < time.monotonic() - began < 5
    gate.open.set()
    first.join(10)
    assert first.result == {"log": ["one", "after one"]}
    assert drive.get_state(other, on("t")).values == {"log": ["one", "after one"]}


def test_reject_tells_at_once(drive: Drive, box: JournalBox, gate: Gate) -> None:
    """Nothing of the refused run is stored, and afterwards the thread is free.

    Cases: A19
    """
    own, other, first = held(drive, box, gate)
    for graph in (own, other):
        began = time.monotonic()
        refused = Runner(drive.name, graph, "two", busy="reject")
        refused.join(10)
        assert isinstance(refused.result, ThreadBusy)
        assert time.monotonic() - began < 2
    gate.open.set()
    first.join(10)
    assert drive.get_state(own, on("t")).values == {"log": ["one", "after one"]}
    again = Runner(drive.name, other, "two", busy="reject")
    again.join(10)
    assert again.result == {"log": ["one", "after one", "two", "after two"]}


async def test_cancel_stops_the_first_run_and_takes_its_place(journal: Journal) -> None:
    """The first caller gets RunCancelled; its unfinished step is not in the state.

    Cases: A19
    """
    entered = asyncio.Event()
    calls = Calls()

    async def node(state: Log) -> Log:
        if calls("node") == 1:
            entered.set()
            try:
                await asyncio.sleep(30)
            finally:
                calls("cleaned up")
        return {"log": [f"after {state.get('log', [])[-1]}"]}

    graph = fan_of(node, checkpointer=journal)
    first = asyncio.create_task(graph.ainvoke({"log": ["one"]}, on("t")))
    await entered.wait()
    second = await asyncio.wait_for(graph.ainvoke({"log": ["two"]}, on("t"), busy="cancel"), 10)
    with pytest.raises(RunCancelled):
        await first
    assert calls.of("cleaned up") == 1
    assert second == {"log": ["one", "two", "after two"]}


def test_cancel_stops_a_sync_run_between_its_steps(box: JournalBox, gate: Gate) -> None:
    """A running sync node ends first; what it did is kept, the step after it never begins.

    Cases: A19
    """
    calls = Calls()

    def after(state: Log) -> Log:
        calls("after")
        return {"log": ["second step"]}

    builder: Any = StateGraph(Log)
    builder.add_node("node", gate.node).add_node("after", after).add_edge(START, "node").add_edge("node", "after")
    graph = builder.compile(checkpointer=box.open())
    first = Runner("sync", graph, "one")
    assert gate.entered.wait(5)
    second = Runner("sync", builder.compile(checkpointer=box.open()), "two", busy="cancel")
    time.sleep(0.1)
    gate.open.set()
    first.join(10)
    second.join(10)
    assert isinstance(first.result, RunCancelled)
    assert second.result["log"][-2:] == ["after two", "second step"]
    assert calls.of("after") == 1


def test_fork_leaves_the_first_run_alone(drive: Drive, box: JournalBox, gate: Gate) -> None:
    """The second run works on a branch of its own; both end well and neither is lost.

    Cases: A19
    """
    builder: Any = StateGraph(Log)
    calls = Calls()

    def node(state: Log) -> Log:
        text = state.get("log", [])[-1]
        calls("node")
        return gate.node(state) if text == "one" else {"log": [f"after {text}"]}

    builder.add_node("node", node).add_edge(START, "node")
    graph = builder.compile(checkpointer=box.open())
    first = Runner(drive.name, graph, "one")
    assert gate.entered.wait(5)
    second = Runner(drive.name, builder.compile(checkpointer=box.open()), "two", busy="fork")
    second.join(10)
    assert not isinstance(second.result, BaseException), second.result
    assert second.result["log"][-2:] == ["two", "after two"]
    gate.open.set()
    first.join(10)
    assert first.result == {"log": ["one", "after one"]}
    assert drive.get_state(graph, on("t")).values == {"log": ["one", "after one"]}


def test_an_unknown_policy_is_refused(drive: Drive, journal: Journal) -> None:
    """With the valid ones named; nothing runs.

    Cases: A19
    """
    calls = Calls()

    def node(state: Log) -> Log:
        calls("node")
        return {"log": ["node"]}

    graph = chain(drive, node, checkpointer=journal)
    with pytest.raises(Failure, match="reject"):
        drive.invoke(graph, {"log": []}, on("t"), busy="rejct")
    assert calls.of("node") == 0


def test_other_threads_are_not_held_up(drive: Drive, box: JournalBox, gate: Gate) -> None:
    """A lease is of one thread.

    Rows: S1-K03
    """
    _, other, first = held(drive, box, gate)

    def quick(state: Log) -> Log:
        return {"log": ["quick"]}

    graph = chain(drive, quick, checkpointer=box.open())
    assert drive.invoke(graph, {"log": []}, on("u"), busy="reject") == {"log": ["quick"]}
    assert drive.get_state(other, on("t")).values == {"log": ["one"]}, "reading needs no lease"
    gate.open.set()
    first.join(10)


def test_an_update_waits_too(drive: Drive, box: JournalBox, gate: Gate) -> None:
    """update_state is a writer like any other: it comes after the run, not into it.

    Rules: 145
    """
    own, other, first = held(drive, box, gate)
    done: list[Any] = []
    updating = threading.Thread(target=lambda: done.append(other.update_state(on("t"), {"log": ["by hand"]})))
    updating.start()
    time.sleep(0.1)
    gate.open.set()
    first.join(10)
    updating.join(10)
    assert first.result == {"log": ["one", "after one"]}
    assert drive.get_state(own, on("t")).values == {"log": ["one", "after one", "by hand"]}


ENDINGS = ["done", "failed", "asked", "breakpoint", "limit", "refused"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_lease_ends_with_the_run(drive: Drive, box: JournalBox, ending: str) -> None:
    """However it ended, another opening of the store may write at once.

    Rows: S1-046
    """

    def node(state: Log) -> Any:
        match ending:
            case "failed":
                raise ValueError("broken")
            case "asked":
                return {"log": [interrupt("who?")]}
            case "limit":
                return Command(goto="node")
            case "refused":
                return {"lgo": []}
            case _:
                return {"log": ["node"]}

    options: dict[str, Any] = {"interrupt_before": ["node"]} if ending == "breakpoint" else {}
    graph = chain(drive, node, checkpointer=box.open())
    with contextlib.suppress(ValueError, Failure):
        drive.invoke(graph, {"log": []}, on("t", limit=5), **options)

    def quick(state: Log) -> Log:
        return {"log": ["quick"]}

    other = chain(drive, quick, checkpointer=box.open())
    result = drive.invoke(other, {"log": ["new"]}, on("t"), busy="reject")
    assert result["log"][-2:] == ["new", "quick"]


def test_many_short_runs_at_once_lose_nothing(box: JournalBox) -> None:
    """Twenty runs from four threads over four openings: every one of them is in the state, whole.

    Rows: S1-K03. Cases: A19
    """

    def node(state: Log) -> Log:
        return {"log": [f"after {state.get('log', [])[-1]}"]}

    def work(number: int) -> None:
        graph = fan_of(node, checkpointer=box.open())
        for turn in range(5):
            graph.invoke({"log": [f"{number}.{turn}"]}, on("t"))

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    log = fan_of(node, checkpointer=box.open()).get_state(on("t")).values["log"]
    assert sorted(log[::2]) == [f"{number}.{turn}" for number in range(4) for turn in range(5)]
    assert log[1::2] == [f"after {text}" for text in log[::2]]


async def test_runs_of_one_loop_take_turns(journal: Journal) -> None:
    """Five at once on one event loop: the waiting ones do not block it.

    Cases: A19
    """

    async def node(state: Log) -> Log:
        await asyncio.sleep(0.01)
        return {"log": [f"after {state.get('log', [])[-1]}"]}

    graph = fan_of(node, checkpointer=journal)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.005)

    ticking = asyncio.create_task(tick())
    await asyncio.gather(*(graph.ainvoke({"log": [str(i)]}, on("t")) for i in range(5)))
    ticking.cancel()
    log = (await graph.aget_state(on("t"))).values["log"]
    assert sorted(log[::2]) == list("01234")
    assert log[1::2] == [f"after {text}" for text in log[::2]]
    assert ticks >= 5


def test_a_paused_thread_is_free(drive: Drive, box: JournalBox) -> None:
    """Days may pass between question and answer: a pause holds nothing.

    Rows: S1-H07
    """

    def node(state: Log) -> Log:
        return {"log": [interrupt("who?")]}

    graph = chain(drive, node, checkpointer=box.open())
    assert asked(drive.invoke(graph, {"log": []}, on("t")))
    other = chain(drive, node, checkpointer=box.open())
    assert drive.invoke(other, Command(resume="ada"), on("t"), busy="reject") == {"log": ["ada"]}
