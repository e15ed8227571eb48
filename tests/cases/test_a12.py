"""Case A12: a consumer leaves the stream of a graph whose child loops; within a second nothing runs and nothing is left."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from typing import Any

import anyio
import pytest

from lawful.graph import END, START, StateGraph
from lawful.journal.port import Journal
from support.graphs import on
from support.pausing import Calls, Log

pytestmark = pytest.mark.unit

TURNS = 60


class Work:
    """A parent with a node before and a child that loops 60 times 50 ms."""

    def __init__(self, journal: Journal | None, fail_at: int = 0) -> None:
        self.calls = Calls()
        self.fail_at = fail_at
        inner: Any = StateGraph(Log)
        inner.add_node("turn", self.turn).add_edge(START, "turn").add_conditional_edges(
            "turn", self.more, ["turn", END]
        )
        outer: Any = StateGraph(Log)
        outer.add_node("first", self.first).add_node("child", inner.compile())
        self.graph = outer.add_edge(START, "first").add_edge("first", "child").compile(checkpointer=journal)

    async def first(self, state: Log) -> Log:
        return {"log": ["first"]}

    async def turn(self, state: Log) -> Log:
        number = self.calls("turn")
        if number == self.fail_at:
            raise ValueError("in the child")
        await asyncio.sleep(0.05)
        self.calls("finished")
        return {"n": state.get("n", 0) + 1}

    def more(self, state: Log) -> str:
        return "turn" if state.get("n", 0) < TURNS else END

    async def still(self) -> bool:
        """Whether no further turn begins within a fifth of a second."""
        before = self.calls.of("turn")
        await asyncio.sleep(0.2)
        return self.calls.of("turn") == before


def others() -> set[asyncio.Task[Any]]:
    return asyncio.all_tasks() - {asyncio.current_task()}  # pyright: ignore[reportReturnType]


async def test_leaving_after_the_first_event(journal: Journal, caplog: pytest.LogCaptureFixture) -> None:
    """The child's task is cancelled and awaited; finished steps are stored; the thread can be used at once.

    Cases: A12. Rules: 181. Rows: S0-054
    """
    work = Work(journal)
    before = others()
    with caplog.at_level(logging.WARNING):
        began = time.monotonic()
        async with work.graph.astream({"log": []}, on("t"), subgraphs=True) as events:
            async for ns, _ in events:
                if ns:
                    break
        assert time.monotonic() - began < 1
        assert others() == before
        assert await work.still()
        gc.collect()
    assert work.calls.of("turn") <= 3
    assert [record.getMessage() for record in caplog.records] == []
    head = await work.graph.aget_state(on("t"))
    assert (head.values, head.next) == ({"log": ["first"]}, ("child",))
    inside = await work.graph.aget_state(head.tasks[0].state)
    assert inside.values["n"] >= 1
    result = await asyncio.wait_for(
        work.graph.ainvoke({"log": ["new"]}, on("t"), busy="reject", interrupt_before=["child"]), 2
    )
    assert result == {"log": ["first", "new", "first"]}


async def test_the_consumer_is_cancelled_in_a_task_group(journal: Journal) -> None:
    """By a cancel scope of another library, which must see its own cancellation come back.

    Cases: A12. Rules: 100, 181. Rows: S0-052
    """
    work = Work(journal)
    before = others()
    began = 0.0
    seen: list[Any] = []

    async def consume() -> None:
        async for event in work.graph.astream({"log": []}, on("t"), subgraphs=True):
            seen.append(event)

    async with anyio.create_task_group() as group:
        group.start_soon(consume)
        while len(seen) < 3:
            await asyncio.sleep(0.01)
        began = time.monotonic()
        group.cancel_scope.cancel()
    assert time.monotonic() - began < 1
    assert others() == before
    assert await work.still()
    assert (await work.graph.aget_state(on("t"))).next == ("child",)


async def test_a_plain_task_that_reads_is_cancelled(journal: Journal) -> None:
    """The same by asyncio's own means; CancelledError comes out.

    Cases: A12. Rules: 100, 181
    """
    work = Work(journal)
    seen: list[Any] = []

    async def consume() -> None:
        async with work.graph.astream({"log": []}, on("t"), subgraphs=True) as events:
            async for event in events:
                seen.append(event)

    before = others()
    reader = asyncio.create_task(consume())
    while len(seen) < 3:
        await asyncio.sleep(0.01)
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(reader, 1)
    assert others() == before
    assert await work.still()


@pytest.mark.parametrize("open_first", [True, False], ids=["async with", "async for"])
async def test_a_node_raises(journal: Journal, open_first: bool) -> None:
    """The stream ends with that error, does not hang, and has delivered what came before it.

    Cases: A12. Rules: 91. Rows: S0-055
    """
    work = Work(journal, fail_at=4)
    before = others()
    seen: list[Any] = []

    async def consume() -> None:
        if not open_first:
            async for event in work.graph.astream({"log": []}, on("t"), subgraphs=True):
                seen.append(event)
            return
        async with work.graph.astream({"log": []}, on("t"), subgraphs=True) as events:
            async for event in events:
                seen.append(event)

    with pytest.raises(ValueError, match="in the child"):
        await asyncio.wait_for(consume(), 3)
    assert [next(iter(event)) for _, event in seen] == ["first", "turn", "turn", "turn"]
    assert others() == before


async def test_an_iterator_that_is_held_stops_the_run_by_back_pressure() -> None:
    """A plain ``async for`` whose iterator is kept cannot be noticed: the run waits at its buffer's end.

    Cases: A12. Rows: S0-053
    """
    calls = Calls()

    async def turn(state: Log) -> Log:
        calls("turn")
        return {"n": state.get("n", 0) + 1}

    builder: Any = StateGraph(Log)
    builder.add_node("turn", turn).add_edge(START, "turn").add_edge("turn", "turn")
    events = builder.compile().astream({"log": []})
    async for _ in events:
        break
    await asyncio.sleep(0.2)
    stopped = calls.of("turn")
    assert stopped <= 68
    await asyncio.sleep(0.1)
    assert calls.of("turn") == stopped
    await events.aclose()
    await asyncio.sleep(0.05)
    assert calls.of("turn") <= stopped + 1


async def test_dropping_the_iterator_closes_it() -> None:
    """When nobody holds it any more its run ends, without a word in the log.

    Cases: A12. Rows: S0-053, S0-054
    """
    work = Work(None)
    before = others()

    async def look() -> None:
        async for _ in work.graph.astream({"log": []}, subgraphs=True):
            break

    await look()
    gc.collect()
    for _ in range(100):
        if others() == before:
            break
        await asyncio.sleep(0.01)
    assert others() == before
    assert await work.still()
