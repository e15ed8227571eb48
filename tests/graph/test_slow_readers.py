"""A reader that is slow or stalls: nodes are held back, memory stays bounded, and nobody waits for a reader that has left."""

from __future__ import annotations

import asyncio
import threading
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from lawful.core.telling import model_call, room
from lawful.graph import START, StateGraph, StreamWriter, get_stream_writer
from lawful.graph.outbox import Outbox
from support.graphs import Drive
from support.pausing import Calls, Log, until, within

pytestmark = pytest.mark.unit

LIMIT = 64
MANY = 10_000


def alone(node: Callable[..., Any]) -> Any:
    builder: Any = StateGraph(Log)
    return builder.add_node("node", node).add_edge(START, "node").compile()


def nested(node: Callable[..., Any]) -> Any:
    builder: Any = StateGraph(Log)
    return builder.add_node("hold", alone(node)).add_edge(START, "hold").compile()


def writes(count: int, calls: Calls) -> Callable[..., Any]:
    """A sync node that writes without a pause."""

    def node(state: Log, writer: StreamWriter) -> Log:
        for number in range(count):
            writer(number)
            calls("wrote")
        return {"log": ["done"]}

    return node


def writes_async(count: int, calls: Calls) -> Callable[..., Any]:
    """The same, with an await between two chunks."""

    async def node(state: Log) -> Log:
        for number in range(count):
            get_stream_writer()(number)
            calls("wrote")
            await asyncio.sleep(0)
        return {"log": ["done"]}

    return node


def test_a_node_in_a_thread_is_held_back_where_its_reader_stalls(drive: Drive) -> None:
    """After 64 chunks it waits; when the reader goes on so does the node, and nothing is lost.

    Rows: S0-053
    """
    calls, ahead, got = Calls(), list[int](), list[int]()

    def look(chunk: int) -> None:
        got.append(chunk)
        if len(got) == 1:
            until(lambda: calls.of("wrote") > LIMIT + 1, 0.15)
        ahead.append(calls.of("wrote") - len(got))

    with within(20):
        drive.watch(alone(writes(1_000, calls)), {"log": []}, look, stream_mode="custom")
    assert got == list(range(1_000))
    assert max(ahead) <= LIMIT + 1


@pytest.mark.parametrize("make", [alone, nested])
async def test_an_async_node_is_held_back_at_its_awaits(make: Callable[..., Any]) -> None:
    """Also in an inner graph.

    Rows: S0-053
    """
    calls, got = Calls(), list[int]()
    graph = make(writes_async(500, calls))
    async with graph.astream({"log": []}, stream_mode="custom", subgraphs=True) as chunks:
        async for _, chunk in chunks:
            got.append(chunk)
            if len(got) == 1:
                await asyncio.sleep(0.1)
                assert calls.of("wrote") <= LIMIT + 1
    assert got == list(range(500))


async def test_an_inner_graph_is_held_back_between_its_steps() -> None:
    """Though none of its nodes ever waits.

    Rows: S0-053
    """
    calls = Calls()

    async def turn(state: Log) -> Log:
        get_stream_writer()("turn")
        calls("turn")
        return {"n": state.get("n", 0) + 1}

    def more(state: Log) -> str:
        return "turn" if state.get("n", 0) < 300 else "__end__"

    inner: Any = StateGraph(Log)
    inner.add_node("turn", turn).add_edge(START, "turn").add_conditional_edges("turn", more, ["turn", "__end__"])
    outer: Any = StateGraph(Log)
    graph = outer.add_node("hold", inner.compile()).add_edge(START, "hold").compile()
    count = 0
    async with graph.astream({"log": []}, stream_mode="custom", subgraphs=True) as chunks:
        async for _ in chunks:
            count += 1
            if count == 1:
                await asyncio.sleep(0.1)
                assert calls.of("turn") <= LIMIT + 1
    assert (count, calls.of("turn")) == (300, 300)


async def test_a_node_that_asks_for_room_is_held_back_where_it_asks() -> None:
    """`room`, for what never waits otherwise, such as a model's stream that comes from memory.

    Rows: S0-053
    """
    calls = Calls()

    async def node(state: Log) -> Log:
        with model_call("fake:m") as call:
            for _ in range(300):
                call.text("x")
                calls("said")
                await (call.room() if calls.of("said") % 2 else room())
        return {}

    count = 0
    async with alone(node).astream({"log": []}, stream_mode="messages") as chunks:
        async for _ in chunks:
            count += 1
            if count == 1:
                await asyncio.sleep(0.1)
                assert calls.of("said") <= LIMIT + 1
    assert count == 300


def test_a_stalled_readers_memory_stays_bounded(drive: Drive) -> None:
    """10,000 chunks of 10 KB: never more than the buffer's worth of them are alive.

    Rows: S0-053, S0-202
    """

    def node(state: Log, writer: StreamWriter) -> Log:
        for _ in range(MANY):
            writer(bytes(10_000))
        return {}

    seen = 0

    def look(chunk: bytes) -> None:
        nonlocal seen
        seen += 1
        if seen % 2_500 == 1:
            time.sleep(0.03)

    graph = alone(node)
    tracemalloc.start()
    try:
        with within(30):
            drive.watch(graph, {"log": []}, look, stream_mode="custom")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert seen == MANY
    assert peak < 3 * LIMIT * 10_000


@pytest.mark.parametrize("mode", ["custom", "messages", "events"])
def test_a_reader_that_leaves_lets_everybody_go(drive: Drive, mode: str) -> None:
    """A node that waits for room ends at once, and says nothing more.

    Rows: S0-054. Rules: 181
    """
    ended = threading.Event()
    calls = Calls()

    def node(state: Log) -> Log:
        try:
            with model_call("fake:m") as call:
                for _ in range(MANY):
                    call.text("x")
                    get_stream_writer()("x")
                    calls("said")
        finally:
            ended.set()
        return {}

    graph = alone(node)
    with within(20):
        if drive.name == "sync":
            chunks: Iterator[Any] = graph.stream({"log": []}, stream_mode=mode)
            next(chunks)
            until(lambda: calls.of("said") >= LIMIT // 2, 0.2)
            graph_chunks: Any = chunks
            graph_chunks.close()
        else:

            async def leave() -> None:
                stream: AsyncIterator[Any]
                async with graph.astream({"log": []}, stream_mode=mode) as stream:
                    async for _ in stream:
                        await asyncio.sleep(0.02)
                        break

            drive.wait(leave())
        assert ended.wait(5)
    assert calls.of("said") < MANY


def test_an_inner_graph_whose_reader_has_left_comes_to_its_end() -> None:
    """Its thread cannot be stopped, and must not wait for ever for room that nobody makes.

    Rows: S0-054
    """
    ended = threading.Event()
    calls = Calls()

    def turn(state: Log) -> Log:
        calls("turn")
        return {"n": state.get("n", 0) + 1}

    def more(state: Log) -> str:
        return "turn" if state.get("n", 0) < 300 else "__end__"

    builder: Any = StateGraph(Log)
    builder.add_node("turn", turn).add_edge(START, "turn").add_conditional_edges("turn", more, ["turn", "__end__"])
    inner = builder.compile()

    def hold(state: Log) -> Log:
        try:
            inner.invoke({"log": []})
        finally:
            ended.set()
        return {}

    chunks: Any = alone(hold).stream({"log": []}, subgraphs=True)
    next(chunks)
    until(lambda: calls.of("turn") >= LIMIT, 1)
    chunks.close()
    assert ended.wait(5)
    assert calls.of("turn") == 300


async def test_a_cancelled_node_is_cancelled_while_it_waits_for_room() -> None:
    """Being held back is an await like any other: timeouts and cancellation reach the node.

    Rows: S0-054
    """
    told: list[str] = []

    async def node(state: Log) -> Log:
        try:
            async with asyncio.timeout(0.05):
                while True:
                    get_stream_writer()("x")
                    await asyncio.sleep(0)
        except TimeoutError:
            told.append("late")
        return {"log": ["done"]}

    async with alone(node).astream({"log": []}, stream_mode=["custom", "updates"]) as chunks:
        await anext(chunks)
        await asyncio.sleep(0.15)
        assert told == ["late"]
        rest = [mode async for mode, _ in chunks]
    assert rest[-1] == "updates"
    assert len(rest) <= LIMIT + 2


def test_writers_in_many_threads_lose_nothing_and_none_sleeps_on(drive: Drive) -> None:
    """Each chunk arrives, in its writer's order, however reader and writers fall asleep over one another."""
    count, width = 700, 6

    def make(name: str) -> Callable[..., Any]:
        def node(state: Log, writer: StreamWriter) -> None:
            for number in range(count):
                writer((name, number))

        return node

    builder: Any = StateGraph(Log)
    for i in range(width):
        builder.add_node(f"n{i}", make(f"n{i}")).add_edge(START, f"n{i}")
    with within(20):
        got: list[Any] = drive.stream(builder.compile(), {}, stream_mode="custom")
    for i in range(width):
        assert [number for name, number in got if name == f"n{i}"] == list(range(count))
    assert len(got) == count * width


def test_writers_that_wait_for_room_are_all_let_go() -> None:
    """Whoever fills the room again before the others have looked does not leave them asleep."""
    outbox, done = Outbox(), threading.Event()
    left = list(range(5))

    def write() -> None:
        for number in range(300):
            outbox.offer(number)
        left.pop()
        if not left:
            done.set()

    writers = [threading.Thread(target=write, daemon=True) for _ in left]
    for writer in writers:
        writer.start()
    taken = 0
    while taken < 1500:
        if outbox:
            outbox.popleft()
            taken += 1
        else:
            time.sleep(0)
    assert done.wait(10)


def test_a_driver_is_woken_once_by_what_it_awaits() -> None:
    outbox, woken = Outbox(), list[int]()
    outbox.wake = lambda: woken.append(len(outbox))
    outbox.give("before")
    assert not outbox.await_one()
    outbox.popleft()
    assert outbox.await_one()
    for chunk in ("first", "second"):
        outbox.give(chunk)
    assert woken == [1]
