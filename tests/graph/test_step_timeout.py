"""The wall-clock bound of a step: `step_timeout` on the compiled graph."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Any, TypedDict

import pytest

from lawful import START, Command, StateGraph
from lawful.core.errors import NodeTimeoutError
from support.graphs import Drive, concat, driving

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    trail: Annotated[list[str], concat]


def sleepy(name: str, seconds: float) -> Any:
    def body(state: State) -> State:
        time.sleep(seconds)
        return {"trail": [name]}

    return body


def awaiting(name: str, seconds: float, cancelled: list[str]) -> Any:
    async def body(state: State) -> State:
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            cancelled.append(name)
            raise
        return {"trail": [name]}

    return body


def test_each_step_has_its_own_bound(strict: bool, drive: Drive) -> None:
    """Three steps of 60 ms pass under 150 ms. Rules: 49."""
    builder = StateGraph(State, strict=strict).add_sequence([(f"n{i}", sleepy(f"n{i}", 0.06)) for i in range(3)])
    graph = builder.add_edge(START, "n0").compile()
    graph.step_timeout = 0.15
    assert drive.invoke(graph, {})["trail"] == ["n0", "n1", "n2"]


def test_a_step_that_lasts_too_long_is_a_time_out(strict: bool, drive: Drive) -> None:
    """Of sync nodes too, though their threads cannot be stopped. Rules: 49."""
    builder = StateGraph(State, strict=strict).add_node("slow", sleepy("slow", 0.4)).add_node("fast", sleepy("fast", 0))
    graph = builder.add_edge(START, "slow").add_edge(START, "fast").compile()
    graph.step_timeout = 0.1
    with pytest.raises(TimeoutError) as ended:
        drive.invoke(graph, {})
    assert not isinstance(ended.value, NodeTimeoutError)


def test_running_async_nodes_are_cancelled(strict: bool) -> None:
    """Rules: 49."""
    cancelled: list[str] = []
    builder = StateGraph(State, strict=strict).add_node("slow", awaiting("slow", 5, cancelled))
    graph = builder.add_node("fast", awaiting("fast", 0, cancelled)).add_edge(START, "slow").add_edge(START, "fast")
    compiled = graph.compile()
    compiled.step_timeout = 0.1
    begun = time.monotonic()
    with driving("async") as drive, pytest.raises(TimeoutError):
        drive.invoke(compiled, {})
    assert cancelled == ["slow"]
    assert time.monotonic() - begun < 2


def test_time_in_which_the_consumer_holds_the_stream_counts(strict: bool) -> None:
    """Rules: 49."""
    cancelled: list[str] = []
    builder = StateGraph(State, strict=strict).add_node("slow", awaiting("slow", 5, cancelled))
    builder.add_node("soon", awaiting("soon", 0.1, cancelled)).add_edge(START, "slow").add_edge(START, "soon")
    graph = builder.compile()
    graph.step_timeout = 0.25
    seen: list[Any] = []

    async def follow() -> None:
        async for event in graph.astream({}, stream_mode="updates"):
            seen.append(event)
            await asyncio.sleep(0.4)

    with driving("async") as drive, pytest.raises(TimeoutError):
        drive.wait(follow())
    assert seen == [{"soon": {"trail": ["soon"]}}]
    assert cancelled == ["slow"]


def test_a_parent_command_beats_the_bound(strict: bool, drive: Drive) -> None:
    """Rules: 49, 58."""

    def up(state: State) -> Command[Any]:
        return Command(graph=Command.PARENT, update={"trail": ["up"]}, goto="after")

    inner = StateGraph(State, strict=strict).add_node("up", up).add_edge(START, "up").compile()
    outer = StateGraph(State, strict=strict).add_node("inner", inner).add_node("after", sleepy("after", 0))
    graph = outer.add_edge(START, "inner").compile()
    inner.step_timeout = graph.step_timeout = 2
    assert drive.invoke(graph, {})["trail"] == ["up", "after"]
