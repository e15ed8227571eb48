"""However parallel nodes are scheduled, the state is the same to the byte, nobody waits for ever, and nothing done is lost."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import given, settings

from lawful.core.canonical import state_bytes
from lawful.graph import START, StateGraph
from lawful.testing.crash import ForkServer, run_to_end
from lawful.testing.graphs import Block, Chain, Choice, Fan, Loop, Nested, Spread, Touch, Work, build, limit, plans
from support.crash_cuts import DRIVERS, Driver
from support.crash_programs import lent_threads_async, lent_threads_sync
from support.graphs import JOURNALS, JournalBox, boxed, concat, on

pytestmark = pytest.mark.property

WIDE = Chain(
    (
        Fan((Work(), Work(jumps=True), Spread(3), Nested(Fan((Work(), Work()))), Loop(Work(), 2))),
        Choice((Work(), Spread(2))),
        Fan((Spread(2), Chain((Work(), Work()))), defer=True),
    )
)


def finish(plan: Block, driver: Driver, is_async: bool, seed: int, journal: Any = None) -> bytes:
    """Run ``plan`` where about half of its nodes take up to two milliseconds or let others go first."""
    chance = random.Random(seed)

    def touch(name: str) -> float | None:
        throw = chance.random()
        return 0.0 if throw < 0.3 else throw / 500 if throw < 0.6 else None

    graph: Any = build(plan, is_async=is_async, touch=touch)
    compiled = graph.compile(checkpointer=journal).with_config(on(limit=limit(plan)))
    if journal is not None:
        return state_bytes(run_to_end(compiled, {"trail": []}, driver=driver))
    return state_bytes(compiled.invoke({"trail": []}))


@pytest.mark.parametrize("is_async", [False, True], ids=["threads", "coroutines"])
def test_two_hundred_schedules_of_one_graph_give_the_same_bytes(is_async: bool) -> None:
    """Five branches side by side, packets, a subgraph and a loop among them.

    Rows: S1-011, S1-044, S0-089. Rules: 35, 37, 48.
    """
    driver: Driver = "async" if is_async else "sync"
    assert len({finish(WIDE, driver, is_async, seed) for seed in range(200)}) == 1


@settings(max_examples=settings().max_examples // 2)
@given(plan=plans())
def test_schedules_of_random_graphs_give_the_same_bytes(plan: Block) -> None:
    """Under both drivers. Rows: S1-011, S1-044. Rules: 35, 37."""
    ways: list[tuple[Driver, bool]] = [("sync", False), ("async", True), ("async", False)]
    assert len({finish(plan, driver, is_async, seed) for seed in range(2) for driver, is_async in ways}) == 1


@pytest.mark.parametrize("kind", JOURNALS)
def test_schedules_with_a_journal_give_the_same_bytes(kind: str, tmp_path: Path) -> None:
    """Each finished task is saved while others run. Rows: S1-011, S1-044. Rules: 35, 90."""
    found: set[bytes] = set()
    with boxed(kind, tmp_path) as box:
        for seed in range(8):
            for driver in DRIVERS:
                graph: Any = build(WIDE, is_async=driver == "async", touch=pauses(seed))
                compiled = graph.compile(checkpointer=box.open()).with_config(on(limit=limit(WIDE)))
                found.add(state_bytes(run_to_end(compiled, {"trail": []}, thread=f"{driver}{seed}", driver=driver)))
    assert len(found) == 1


def pauses(seed: int) -> Touch:
    chance = random.Random(seed)

    def touch(name: str) -> float:
        return chance.random() / 500

    return touch


# Threads are lent and never waited for


@pytest.mark.parametrize("program", [lent_threads_sync, lent_threads_async], ids=DRIVERS)
def test_nodes_that_invoke_wide_graphs_do_not_wait_for_each_other_for_ever(program: Any, tmp_path: Path) -> None:
    """Eight sync nodes, each invoking a graph of eight sync branches, four at once. Rows: S1-070. Rules: 48, 143."""
    with ForkServer(program) as server:
        ended = server.run(tmp_path, timeout=20)
    assert ended.code == 0, ended.said
    assert ended.shown == "{'count': 64}"


# What has ended is saved, however close to a failure


class State(TypedDict, total=False):
    trail: Annotated[list[str], concat]


@pytest.fixture(params=JOURNALS)
def box(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[JournalBox]:
    with boxed(request.param, tmp_path) as box:
        yield box


def test_a_sibling_that_ends_just_after_a_failure_keeps_its_writes(box: JournalBox) -> None:
    """Forty-five trials: it ends at once, 5 or 20 ms after the other has failed. Rules: 219, 91, 92. Rows: S1-046."""
    again: list[str] = []
    for trial in range(45):
        delay = (0.0, 0.005, 0.02)[trial % 3]
        ran: list[str] = []
        failed = threading.Event()

        def fails(state: State, ran: list[str] = ran, failed: threading.Event = failed) -> State:
            ran.append("fails")
            if ran.count("fails") == 1:
                failed.set()
                raise ConnectionError("once")
            return {"trail": ["fails"]}

        def ends(state: State, ran: list[str] = ran, failed: threading.Event = failed, delay: float = delay) -> State:
            failed.wait(5)
            time.sleep(delay)
            ran.append("ends")
            return {"trail": ["ends"]}

        graph = StateGraph(State).add_node("fails", fails).add_node("ends", ends)
        built: Any = graph.add_edge(START, "fails").add_edge(START, "ends").compile(checkpointer=box.open())
        with pytest.raises(ConnectionError, match="once"):
            built.invoke({"trail": []}, on(f"t{trial}"))
        assert built.get_state(f"t{trial}").next == ("fails",)
        assert built.invoke(None, on(f"t{trial}")) == {"trail": ["ends", "fails"]}
        again += ran if ran.count("ends") > 1 else []
    assert again == []
