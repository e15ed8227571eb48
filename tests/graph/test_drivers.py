"""The two drivers: async nodes from sync code, sync nodes from async code, and threads that never wait for each other."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Annotated, Any, TypedDict

import pytest

from lawful import START, StateGraph
from lawful.core.errors import ConfigurationError
from support.graphs import Drive, concat, driving, on

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    trail: Annotated[list[str], concat]


async def awaiting(state: State) -> State:
    await asyncio.sleep(0)
    return {"trail": ["awaiting"]}


def blocking(state: State) -> State:
    return {"trail": ["blocking"]}


def both(strict: bool) -> Any:
    builder = StateGraph(State, strict=strict).add_node(awaiting).add_node(blocking)
    return builder.add_edge(START, "awaiting").add_edge(START, "blocking").compile()


def test_async_and_sync_nodes_run_under_either_driver(strict: bool, drive: Drive) -> None:
    """Rows: S1-007. Rules: 48."""
    assert drive.invoke(both(strict), {}) == {"trail": ["awaiting", "blocking"]}
    updates = drive.stream(both(strict), {}, stream_mode="updates")
    assert sorted(name for update in updates for name in update) == ["awaiting", "blocking"]


def test_sync_code_in_a_running_loop_is_told_to_await(strict: bool) -> None:
    """The node is named, and what to call. Rows: S1-007."""

    async def mistaken() -> None:
        both(strict).invoke({})

    with driving("async") as drive, pytest.raises(ConfigurationError, match="ainvoke") as refused:
        drive.wait(mistaken())
    assert "'awaiting'" in str(refused.value)


def test_sync_nodes_alone_may_be_invoked_in_a_running_loop(strict: bool) -> None:
    """Rows: S1-007."""
    graph = StateGraph(State, strict=strict).add_node(blocking).add_edge(START, "blocking").compile()

    async def inside() -> Any:
        return graph.invoke({})

    with driving("async") as drive:
        assert drive.wait(inside()) == {"trail": ["blocking"]}


@pytest.mark.parametrize("most", [None, 4])
def test_nested_graphs_of_threads_do_not_wait_for_each_other(most: int | None, strict: bool, drive: Drive) -> None:
    """Eight sync nodes, each invoking a graph of eight sync branches, with four at once. Rules: 48."""

    def leaf(state: State) -> State:
        time.sleep(0.002)
        return {"trail": ["leaf"]}

    inner: Any = StateGraph(State, strict=strict)
    outer: Any = StateGraph(State, strict=strict)
    for i in range(8):
        inner.add_node(f"n{i}", leaf).add_edge(START, f"n{i}")
    called = inner.compile()

    def holder(state: State) -> State:
        return {"trail": [str(len(called.invoke({"trail": []})["trail"]))]}

    for i in range(8):
        outer.add_node(f"n{i}", holder).add_edge(START, f"n{i}")
    config = on() if most is None else on(max_concurrency=most)
    done: list[Any] = []
    worker = threading.Thread(target=lambda: done.append(drive.invoke(outer.compile(), {}, config)), daemon=True)
    worker.start()
    worker.join(20)
    assert done == [{"trail": ["8"] * 8}]


@pytest.mark.parametrize("most", [0, -1, "2"])
def test_a_bound_on_concurrency_is_a_positive_number(most: Any, strict: bool, drive: Drive) -> None:
    """Rules: 48."""
    with pytest.raises(ValueError, match="max_concurrency"):
        drive.invoke(both(strict), {}, on(max_concurrency=most))


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_process_is_not_held_back(error: type[BaseException], strict: bool) -> None:
    """By no sibling and no handler. Rules: 91."""

    def stop(state: State) -> State:
        raise error

    builder = StateGraph(State, strict=strict).add_node(stop).add_node(blocking).add_edge(START, "stop")
    graph = builder.add_edge(START, "blocking").compile()
    with pytest.raises(error):
        graph.invoke({})
