"""A store that a graph is compiled with reaches its nodes, over threads of runs, and takes many writes of one step at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypedDict

import pytest

from lawful import START, MemoryJournal, Runtime, Send, StateGraph
from lawful.graph import get_store
from lawful.stores.memory_store import MemoryStore
from lawful.stores.sqlite_store import SQLiteStore
from lawful.stores.store_port import Store

pytestmark = pytest.mark.integration


class State(TypedDict, total=False):
    count: int
    n: int


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    with MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "s.db") as made:
        yield made


@pytest.fixture(params=[True, False], ids=["strict", "lenient"])
def strict(request: pytest.FixtureRequest) -> bool:
    return request.param


def _fan(state: State) -> list[Send]:
    return [Send("write", {"n": n}) for n in range(state.get("count", 0))]


def _write(state: State, store: Store) -> None:
    store.put(("run", "parts"), f"k{state.get('n', -1)}", {"n": state.get("n", -1)})


async def _awrite(state: State, runtime: Runtime[None]) -> None:
    await runtime.store.aput(("run", "parts"), f"k{state.get('n', -1)}", {"n": state.get("n", -1)})


def _numbers(store: Store) -> list[int]:
    return sorted(item.value["n"] for item in store.search(("run",), limit=100))


def test_fifty_tasks_of_a_step_write_at_once(store: Store, strict: bool) -> None:
    """Rules: 209. Rows: S1-K12."""
    graph = (
        StateGraph(State, strict=strict)
        .add_node("write", _write)
        .add_conditional_edges(START, _fan, ["write"])
        .compile(store=store)
    )
    graph.invoke({"count": 50})
    assert _numbers(store) == list(range(50))


async def test_fifty_async_tasks_of_a_step_write_at_once(store: Store, strict: bool) -> None:
    """Rules: 209. Rows: S1-K12."""
    graph = (
        StateGraph(State, strict=strict)
        .add_node("write", _awrite)
        .add_conditional_edges(START, _fan, ["write"])
        .compile(store=store)
    )
    await graph.ainvoke({"count": 50})
    assert _numbers(store) == list(range(50))


def test_threads_of_runs_share_it(store: Store, strict: bool) -> None:
    """Rules: 209."""

    def count(state: State) -> State:
        memory: Store = get_store()
        found = memory.get(("users", "ann"), "visits")
        visits = found.value["n"] + 1 if found else 1
        memory.put(("users", "ann"), "visits", {"n": visits})
        return {"n": visits}

    graph = (
        StateGraph(State, strict=strict)
        .add_node(count)
        .add_edge(START, "count")
        .compile(checkpointer=MemoryJournal(), store=store)
    )
    assert [graph.invoke({"count": 0}, thread=thread)["n"] for thread in ("t1", "t2", "t1")] == [1, 2, 3]
