"""A run that is over leaves nothing that only the collector of cycles could free."""

from __future__ import annotations

import asyncio
import gc
import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest

from lawful.checkpoint.memory import InMemorySaver
from lawful.graph import END, START, Send, StateGraph

pytestmark = pytest.mark.unit


class Parts(TypedDict):
    count: int
    parts: Annotated[list[int], operator.add]


def plain(state: Any) -> dict[str, Any]:
    return {"parts": [state["count"]]}


async def gives_way(state: Any) -> dict[str, Any]:
    await asyncio.sleep(0)
    return {"parts": [state["count"]]}


async def waits(state: Any) -> dict[str, Any]:
    await asyncio.sleep(0.001)
    return {"parts": [state["count"]]}


def four(state: Any) -> list[Send]:
    return [Send("node", {"count": i}) for i in range(4)]


def line(node: Callable[[Any], Any], journal: Any) -> Any:
    graph = StateGraph(Parts)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    return graph.compile(checkpointer=journal)


def fan(node: Callable[[Any], Any], journal: Any) -> Any:
    graph = StateGraph(Parts)
    for name in "abcd":
        graph.add_node(name, node)
        graph.add_edge(START, name)
        graph.add_edge(name, END)
    return graph.compile(checkpointer=journal)


def sent(node: Callable[[Any], Any], journal: Any) -> Any:
    graph = StateGraph(Parts)
    graph.add_node("node", node)
    graph.add_conditional_edges(START, four, ["node"])
    return graph.compile(checkpointer=journal)


def left(run: Callable[[], Any]) -> list[str]:
    """The kinds of the engine's objects that ``run`` leaves to the collector; a journal of another test may end meanwhile."""
    run()
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        run()
        gc.collect()
        return sorted({type(o).__name__ for o in gc.garbage if type(o).__module__.startswith("lawful.graph.")})
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def test_the_measure_sees_a_cycle() -> None:
    def run() -> None:
        graph = StateGraph(Parts)
        graph.__dict__["me"] = graph

    assert "StateGraph" in left(run)


@pytest.mark.parametrize("journaled", [False, True], ids=["bare", "journal"])
@pytest.mark.parametrize("streamed", [False, True], ids=["invoke", "stream"])
@pytest.mark.parametrize("build", [line, fan, sent])
def test_a_sync_run(build: Any, streamed: bool, journaled: bool) -> None:
    graph = build(plain, InMemorySaver() if journaled else None)
    options = {"thread": "t"} if journaled else {}

    def run() -> None:
        if streamed:
            list(graph.stream({"count": 1, "parts": []}, **options))
        else:
            graph.invoke({"count": 1, "parts": []}, **options)

    assert left(run) == []


@pytest.mark.parametrize("journaled", [False, True], ids=["bare", "journal"])
@pytest.mark.parametrize("streamed", [False, True], ids=["invoke", "stream"])
@pytest.mark.parametrize("node", [plain, gives_way, waits])
@pytest.mark.parametrize("build", [line, fan, sent])
def test_an_async_run(build: Any, node: Any, streamed: bool, journaled: bool) -> None:
    graph = build(node, InMemorySaver() if journaled else None)
    options = {"thread": "t"} if journaled else {}

    async def once() -> None:
        if streamed:
            async for _ in graph.astream({"count": 1, "parts": []}, **options):
                pass
        else:
            await graph.ainvoke({"count": 1, "parts": []}, **options)

    with asyncio.Runner() as runner:
        assert left(lambda: runner.run(once())) == []
