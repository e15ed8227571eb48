"""Rules of a drain: the running step ends and is saved, then the run stops if work remains."""

from __future__ import annotations

import asyncio
import threading
from typing import Annotated, Any, TypedDict

import pytest

from lawful.core.errors import Failure, RunDrained
from lawful.core.signals import GraphDrained
from lawful.graph import START, Done, Failed, RetryPolicy, RunControl, Runtime, StateGraph
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from support.graphs import Drive, concat, on
from support.pausing import Calls

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    log: Annotated[list[str], concat]


def draining(name: str, calls: Calls, reason: str | None = None) -> Any:
    """A node that asks for a drain, where the run can be asked."""

    def body(state: State, runtime: Runtime[None]) -> State:
        calls(name)
        if runtime.control is not None:
            runtime.control.request_drain(reason) if reason is not None else runtime.control.request_drain()
        return {"log": [name]}

    body.__name__ = name
    return body


def plain(name: str, calls: Calls) -> Any:
    def body(state: State) -> State:
        calls(name)
        return {"log": [name]}

    body.__name__ = name
    return body


def chain(drive: Drive, *bodies: Any, strict: bool = True, **options: Any) -> Any:
    builder: Any = StateGraph(State, strict=strict)
    builder.add_sequence([(body.__name__, drive.node(body)) for body in bodies])
    return builder.add_edge(START, bodies[0].__name__).compile(**options)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_the_step_ends_and_the_rest_waits(durability: str, drive: Drive, journal: Journal, strict: bool) -> None:
    """What was done is stored whatever the durability, and nothing of it runs again.

    Rules: 197, 109. Rows: S1-P16
    """
    calls = Calls()
    graph = chain(drive, draining("a", calls, "deploy"), plain("b", calls), strict=strict, checkpointer=journal)
    with pytest.raises(GraphDrained) as caught:
        drive.invoke(graph, {"log": []}, on("t"), control=RunControl(), durability=durability)
    assert caught.value.reason == "deploy"
    head = drive.get_state(graph, on("t"))
    assert (head.values, head.next) == ({"log": ["a"]}, ("b",))
    assert drive.invoke(graph, None, on("t")) == {"log": ["a", "b"]}
    assert (calls.of("a"), calls.of("b")) == (1, 1)


def test_a_run_that_has_no_work_left_ends_as_ever(drive: Drive, journal: Journal, strict: bool) -> None:
    """Rules: 197"""
    graph = chain(drive, draining("a", Calls()), strict=strict, checkpointer=journal)
    assert drive.invoke(graph, {"log": []}, on("t"), control=RunControl()) == {"log": ["a"]}


def test_without_a_journal_the_run_stops_too(drive: Drive, strict: bool) -> None:
    """Rules: 197"""
    calls = Calls()
    graph = chain(drive, draining("a", calls), plain("b", calls), strict=strict)
    with pytest.raises(GraphDrained, match="shutdown"):
        drive.invoke(graph, {"log": []}, control=RunControl())
    assert calls.of("b") == 0


def test_a_run_that_begins_after_the_request_saves_its_input(drive: Drive, journal: Journal, strict: bool) -> None:
    """Rules: 197"""
    calls, control = Calls(), RunControl()
    control.request_drain("first")
    control.request_drain("second")
    graph = chain(drive, plain("a", calls), strict=strict, checkpointer=journal)
    with pytest.raises(GraphDrained) as caught:
        drive.invoke(graph, {"log": ["in"]}, on("t"), control=control)
    assert (caught.value.reason, control.drain_requested) == ("first", True)
    assert drive.invoke(graph, None, on("t")) == {"log": ["in", "a"]}


def test_from_another_thread(drive: Drive, journal: Journal, strict: bool) -> None:
    """All tasks of the running step end first.

    Rules: 197
    """
    calls, control, both = Calls(), RunControl(), threading.Barrier(2, timeout=10)

    def meeting(name: str) -> Any:
        def body(state: State) -> State:
            both.wait()
            if name == "a":
                asker = threading.Thread(target=control.request_drain, args=("from outside",))
                asker.start()
                asker.join()
            calls(name)
            return {"log": [name]}

        return body

    builder: Any = StateGraph(State, strict=strict).add_node("a", meeting("a")).add_node("b", meeting("b"))
    builder.add_node("c", plain("c", calls)).add_edge(START, "a").add_edge(START, "b").add_edge("b", "c")
    graph = builder.compile(checkpointer=journal)
    with pytest.raises(GraphDrained, match="from outside"):
        drive.invoke(graph, {"log": []}, on("t"), control=control)
    assert drive.get_state(graph, on("t")).values == {"log": ["a", "b"]}
    assert drive.invoke(graph, None, on("t"))["log"] == ["a", "b", "c"]


def test_a_caller_sees_an_error_and_a_typed_run_a_value(drive: Drive, journal: Journal) -> None:
    """Outside a run it is an Exception like any other, so that a server's handlers see it.

    Rules: 197. Rows: S1-P13
    """
    graph = chain(drive, draining("a", Calls(), "deploy"), plain("b", Calls()), checkpointer=journal)
    ended = drive.run(graph, {"log": []}, on("t"), control=RunControl())
    assert isinstance(ended, Failed)
    assert isinstance(ended.error, RunDrained)
    assert (ended.error.code, ended.error.reason, ended.state) == ("run_drained", "deploy", {"log": ["a"]})
    with pytest.raises(Failure):
        drive.invoke(graph, {"log": []}, on("u"), control=RunControl())
    assert isinstance(drive.resume(graph, "t"), Done)


@pytest.mark.parametrize("called", ["as a node", "in a node"])
def test_a_graph_inside_stops_between_its_steps(called: str, drive: Drive, journal: Journal, strict: bool) -> None:
    """What it did is kept under its namespace, and it goes on from there.

    Rules: 197
    """
    calls = Calls()
    inner = chain(drive, draining("a", calls), plain("b", calls), strict=strict)

    def hold(state: State) -> Any:
        return {"log": inner.invoke({"log": []})["log"]}

    async def ahold(state: State) -> Any:
        return {"log": (await inner.ainvoke({"log": []}))["log"]}

    node = inner if called == "as a node" else hold if drive.name == "sync" else ahold
    builder: Any = StateGraph(State, strict=strict).add_node("hold", node).add_edge(START, "hold")
    graph = builder.add_node("after", drive.node(plain("after", calls))).add_edge("hold", "after")
    compiled = graph.compile(checkpointer=journal)
    with pytest.raises(GraphDrained):
        drive.invoke(compiled, {"log": []}, on("t"), control=RunControl())
    assert (calls.of("a"), calls.of("b"), calls.of("after")) == (1, 0, 0)
    assert drive.get_state(compiled, on("t")).next == ("hold",)
    assert drive.invoke(compiled, None, on("t")) == {"log": ["a", "b", "after"]}
    assert (calls.of("a"), calls.of("b")) == (1, 1)


def test_a_graph_inside_that_keeps_no_record_runs_to_its_end(drive: Drive, strict: bool) -> None:
    """Stopping it would lose what it did.

    Rules: 197
    """
    calls = Calls()
    inner = chain(drive, draining("a", calls), plain("b", calls), strict=strict, checkpointer=False)
    builder: Any = StateGraph(State, strict=strict).add_node("hold", inner).add_edge(START, "hold")
    builder.add_node("after", drive.node(plain("after", calls))).add_edge("hold", "after")
    journal = MemoryJournal()
    graph = builder.compile(checkpointer=journal)
    with pytest.raises(GraphDrained):
        drive.invoke(graph, {"log": []}, on("t"), control=RunControl())
    assert (calls.of("b"), calls.of("after")) == (1, 0)
    assert drive.get_state(graph, on("t")).next == ("after",)


def test_a_drain_is_never_retried_nor_handled(drive: Drive, journal: Journal, strict: bool) -> None:
    """Rules: 186, 197"""
    calls = Calls()
    inner = chain(drive, draining("a", calls), plain("b", calls), strict=strict)

    def anything(error: BaseException) -> bool:
        return True

    def handle(state: State) -> State:
        calls("handler")
        return {}

    policy = RetryPolicy(initial_interval=0.001, retry_on=anything)
    builder: Any = StateGraph(State, strict=strict)
    builder.add_node("hold", inner, retry_policy=policy, error_handler=handle).add_edge(START, "hold")
    graph = builder.compile(checkpointer=journal)
    with pytest.raises(GraphDrained):
        drive.invoke(graph, {"log": []}, on("t"), control=RunControl())
    assert (calls.of("a"), calls.of("handler")) == (1, 0)


def test_a_stream_gives_what_was_done_and_then_raises(drive: Drive, journal: Journal) -> None:
    """Rules: 197"""
    graph = chain(drive, draining("a", Calls()), plain("b", Calls()), checkpointer=journal)
    seen: list[Any] = []
    with pytest.raises(GraphDrained):
        drive.watch(graph, {"log": []}, seen.append, on("t"), control=RunControl())
    assert seen == [{"a": {"log": ["a"]}}]


def test_the_runtime_tells_of_the_request(strict: bool) -> None:
    """A long node can look and come to its end early.

    Rules: 197
    """
    seen: list[Any] = []

    async def work(state: State, runtime: Runtime[None]) -> State:
        seen.append((runtime.drain_requested, runtime.drain_reason))
        while not runtime.drain_requested:
            await asyncio.sleep(0.005)
        seen.append((runtime.drain_requested, runtime.drain_reason))
        return {}

    graph: Any = StateGraph(State, strict=strict).add_node("work", work).add_edge(START, "work").compile()

    async def run() -> None:
        control = RunControl()
        running = asyncio.create_task(graph.ainvoke({}, control=control))
        await asyncio.sleep(0.02)
        control.request_drain("soon")
        await running

    asyncio.run(run())
    assert seen == [(False, None), (True, "soon")]
