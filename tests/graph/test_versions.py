"""What a thread's versions are: ids of checkpoints and fences of leases, which only grow, whatever is done to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lawful.core.clock import SYSTEM, Clock
from lawful.graph import START, Command, Send, StateGraph, interrupt
from lawful.journal.port import Journal
from lawful.journal.records import Batch, Checkpoint, Lease, PutCheckpoint
from support.graphs import Drive, on
from support.pausing import Log

pytestmark = pytest.mark.unit


class BackwardClock(Clock):
    """Each reading is an hour before the one before it."""

    def __init__(self) -> None:
        self.readings = 0

    def now(self) -> float:
        self.readings += 1
        return 2_000_000_000.0 - 3600 * self.readings

    def monotonic(self) -> float:
        return SYSTEM.monotonic()

    def token(self) -> str:
        return SYSTEM.token()

    def random(self) -> float:
        return 0.5


def work(log: Log) -> Log:
    return {"log": ["work"]}


def ask(log: Log) -> Log:
    return {"log": [interrupt("go on?")]}


def fan_out(log: Log) -> list[Any]:
    return [Send("work", {}), Send("work", {}), "inner"]


def written(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> list[Checkpoint]:
    """Fills with every checkpoint that the journal is handed, in that order."""
    seen: list[Checkpoint] = []

    def note(batch: Batch) -> None:
        seen.extend(r.checkpoint for r in batch.records if isinstance(r, PutCheckpoint))

    commit, submit = journal.commit, journal.submit

    def noted_commit(batch: Batch) -> None:
        note(batch)
        commit(batch)

    def noted_submit(batch: Batch, done: Callable[[BaseException | None], None]) -> None:
        note(batch)
        submit(batch, done)

    monkeypatch.setattr(journal, "commit", noted_commit)
    monkeypatch.setattr(journal, "submit", noted_submit)
    return seen


def built(journal: Journal) -> Any:
    inner = StateGraph(Log).add_node(work).add_node(ask).add_edge(START, "work").add_edge("work", "ask").compile()
    outer = StateGraph(Log).add_node("first", work).add_node(work).add_node("inner", inner).add_edge(START, "first")
    return outer.add_conditional_edges("first", fan_out, ["work", "inner"]).compile(checkpointer=journal)


@pytest.mark.parametrize("backward", [False, True], ids=["time goes on", "time goes back"])
def test_versions_only_grow_whatever_is_done_to_a_thread(
    drive: Drive, journal: Journal, backward: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows: S1-K06."""
    seen = written(journal, monkeypatch)
    graph = built(journal)
    if backward:
        graph.clock = BackwardClock()
    drive.invoke(graph, {"log": ["in"]}, on("t"))
    drive.invoke(graph, Command(resume="yes"), on("t"))
    drive.update_state(graph, on("t"), {"word": "x"}, as_node="first")
    drive.invoke(graph, {"log": ["again"]}, on("t"))
    drive.invoke(graph, None, drive.get_state_history(graph, on("t"))[3].config)

    by_ns: dict[str, list[Checkpoint]] = {}
    for row in {row.id: row for row in seen}.values():  # submit may call commit
        by_ns.setdefault(row.ns, []).append(row)
    assert len(by_ns) > 2
    assert "fork" in {row.source for row in by_ns[""]}
    for rows in by_ns.values():
        assert len(rows) > 1
        assert [row.id for row in rows] == sorted({row.id for row in rows})
        steps = {row.id: row.step for row in rows}
        assert all(row.step == steps[row.parent] + 1 for row in rows if row.parent is not None)
    if backward:
        assert by_ns[""][-1].at < by_ns[""][0].at


def test_each_holder_of_a_thread_gets_a_higher_fence(journal: Journal) -> None:
    """Rows: S1-K06."""
    fences: list[int] = []
    for n in range(5):
        lease = journal.acquire("t", f"owner {n}", 10.0)
        assert isinstance(lease, Lease)
        fences.append(lease.fence)
        journal.release(lease)
    assert fences == sorted(set(fences))
