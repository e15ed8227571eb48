"""Trees of nested calls, some of which fail in some runs: any number of resumes gives what plain Python gives, and no finished
call runs again."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lawful.graph import Command, interrupt
from lawful.graph.functional import entrypoint, task
from lawful.journal.memory import MemoryJournal

pytestmark = pytest.mark.property

# A leaf gives its number, after failing or asking in its first runs; a branch sums its parts, at once or one by one.
LEAVES = st.tuples(st.just("leaf"), st.integers(0, 9), st.sampled_from(["fail", "ask", ""]))
TREES = st.recursive(
    LEAVES,
    lambda parts: st.tuples(st.sampled_from(["at once", "in turn"]), st.lists(parts, min_size=1, max_size=3)),
    max_leaves=8,
)
QUIET = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def plain(tree: Any) -> int:
    return tree[1] if tree[0] == "leaf" else sum(plain(part) for part in tree[1])


def leaves(tree: Any) -> int:
    return 1 if tree[0] == "leaf" else sum(leaves(part) for part in tree[1])


class World:
    """How often each leaf was entered and finished, by its place in the tree."""

    def __init__(self) -> None:
        self.entered: Counter[str] = Counter()
        self.finished: Counter[str] = Counter()

    def leaf(self, place: str, tree: Any) -> int:
        self.entered[place] += 1
        if tree[2] == "fail" and self.entered[place] == 1:
            raise ConnectionError(place)
        if tree[2] == "ask":
            assert interrupt(place) == place
        self.finished[place] += 1
        return tree[1]


def run_all(graph: Any, tree: Any) -> int:
    """Run, and resume after every failure and question, to the end."""
    given: Any = tree
    for _ in range(100):
        try:
            result = graph.invoke(given, thread="t")
        except ConnectionError:
            given = None
            continue
        if isinstance(result, int):
            return result
        given = Command(resume={q.id: q.value for q in result["__interrupt__"]})
    raise AssertionError("it does not come to an end")


@QUIET
@given(TREES)
def test_sync_trees(tree: Any) -> None:
    """Rules: 200, 201, 203, 130. Rows: S1-P14, S1-044."""
    world = World()

    @task
    def walk(part: Any, place: str) -> int:
        if part[0] == "leaf":
            return world.leaf(place, part)
        if part[0] == "at once":
            futures = [walk(p, f"{place}.{n}") for n, p in enumerate(part[1])]
            return sum(f.result() for f in futures)
        return sum(walk(p, f"{place}.{n}").result() for n, p in enumerate(part[1]))

    @entrypoint(checkpointer=MemoryJournal())
    def flow(given: Any) -> int:
        return walk(given, "r").result()

    assert run_all(flow, tree) == plain(tree)
    assert set(world.finished.values()) == {1}
    assert len(world.finished) == leaves(tree)


@QUIET
@given(TREES)
def test_async_trees(tree: Any) -> None:
    """Rules: 200, 201, 203, 130. Rows: S1-P14, S1-044."""
    world = World()

    @task
    async def walk(part: Any, place: str) -> int:
        if part[0] == "leaf":
            await asyncio.sleep(0)
            return world.leaf(place, part)
        if part[0] == "at once":
            return sum(await asyncio.gather(*(walk(p, f"{place}.{n}") for n, p in enumerate(part[1]))))
        return sum([await walk(p, f"{place}.{n}") for n, p in enumerate(part[1])])

    @entrypoint(checkpointer=MemoryJournal())
    async def flow(given: Any) -> int:
        return await walk(given, "r")

    assert run_all(flow, tree) == plain(tree)
    assert set(world.finished.values()) == {1}
    assert len(world.finished) == leaves(tree)
