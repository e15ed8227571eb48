"""Case A11: a blocking node cannot be given a deadline that would pass while it works on."""

from __future__ import annotations

import asyncio
import time
from typing import Any, TypedDict

import pytest

from lawful import START, Send, StateGraph, TimeoutPolicy
from lawful.core.errors import Failure, GraphBuildError, NodeTimeoutError
from support.graphs import driving

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    n: int


def blocking(state: State) -> State:
    time.sleep(0.6)
    return {"n": 1}


async def waiting(state: State) -> State:
    await asyncio.sleep(0.6)
    return {"n": 1}


TIMEOUTS: list[Any] = [0.2, 1, TimeoutPolicy(run_timeout=0.2), TimeoutPolicy(idle_timeout=0.2)]


@pytest.mark.parametrize("timeout", TIMEOUTS)
def test_a_deadline_on_a_sync_node_is_refused_at_build_with_a_hint(timeout: Any, strict: bool) -> None:
    """Cases: A11. Rules: 188."""
    builder = StateGraph(State, strict=strict)
    with pytest.raises(GraphBuildError) as refused:
        builder.add_node("work", blocking, timeout=timeout).add_edge(START, "work").compile()
    told = str(refused.value)
    assert "'work'" in told
    assert "async" in told


def test_a_callable_object_and_a_lambda_are_sync_nodes_too(strict: bool) -> None:
    """Cases: A11. Rules: 188."""

    class Work:
        def __call__(self, state: State) -> State:
            return blocking(state)

    def give(state: State) -> State:
        return {}

    short: Any = lambda state: give(state)  # noqa: E731 - a lambda is what is tried  # pyright: ignore
    for fn in (Work(), short):
        with pytest.raises(GraphBuildError, match="async"):
            StateGraph(State, strict=strict).add_node("work", fn, timeout=0.2).add_edge(START, "work").compile()


def test_a_default_deadline_is_refused_for_sync_nodes_too(strict: bool) -> None:
    """Cases: A11. Rules: 188, 18."""
    builder = StateGraph(State, strict=strict).add_node("work", blocking).add_edge(START, "work")
    with pytest.raises(GraphBuildError, match="'work'"):
        builder.set_node_defaults(timeout=0.2).compile()


@pytest.mark.parametrize("timeout", [0, -1])
def test_a_deadline_is_positive(timeout: Any, strict: bool) -> None:
    """Cases: A11. Rules: 188."""
    with pytest.raises(ValueError, match="timeout"):
        StateGraph(State, strict=strict).add_node("work", waiting, timeout=timeout).add_edge(START, "work").compile()


def test_an_async_node_is_stopped_at_its_deadline_and_has_no_late_effect(strict: bool) -> None:
    """Two seconds later still nothing has come. Cases: A11. Rules: 189."""
    sink: list[str] = []

    async def work(state: State) -> State:
        await asyncio.sleep(0.6)
        sink.append("effect")
        return {"n": 1}

    graph = StateGraph(State, strict=strict).add_node("work", work, timeout=0.2).add_edge(START, "work").compile()
    with driving("async") as drive:
        with pytest.raises(NodeTimeoutError, match="work"):
            drive.invoke(graph, {"n": 0})
        drive.wait(asyncio.sleep(0.8))
    assert sink == []


def test_a_send_cannot_bring_a_deadline_to_a_sync_node(strict: bool) -> None:
    """It is refused when it is sent: nothing of the node has run. Cases: A11. Rules: 188, 71."""
    ran: list[str] = []

    def work(state: Any) -> State:
        ran.append("work")
        return {}

    def spread(state: State) -> list[Send]:
        return [Send("work", {}, timeout=0.2)]

    graph = StateGraph(State, strict=strict).add_node("work", work).add_conditional_edges(START, spread, ["work"])
    with driving("async") as drive, pytest.raises(Failure, match="async"):
        drive.invoke(graph.compile(), {"n": 0})
    assert ran == []
