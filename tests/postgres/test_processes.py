"""Several processes on one journal, some of them killed or forked in the middle: nothing lost, nothing locked for ever."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lawful.journal.leases import owner_of
from lawful.journal.port import EffectTx, Journal
from lawful.journal.records import Busy, Lease
from lawful.testing.conformance_kit import events, grow, operation
from support import children
from support.forks import Line, ended, fork, kill
from support.journal_processes import (
    child_that_outlives_the_parents_handle,
    forks_while_a_thread_commits,
    killed_while_stepping,
    reached,
    step_on,
    warm_parent_and_children,
)
from support.pg import PgServer, skipped

pytestmark = [pytest.mark.integration, pytest.mark.postgres, skipped]

CROWD = Path(children.TESTS) / "support" / "pg_programs.py"


@pytest.fixture
def journal(pg: PgServer, schema: str) -> Iterator[Journal]:
    made = pg.journal(schema)
    yield made
    made.close()


def run_crowd(pg: PgServer, schema: str, processes: int, threads: int, rounds: int) -> None:
    """Every run counts once on the thread it ran on, and each saw what the one before it left."""
    from support.pg_programs import SHARED, counting

    before = pg.run("SELECT sum(deadlocks) FROM pg_stat_database")[0][0]
    crowds = [children.start(CROWD, pg.url(), schema, str(n), str(threads), str(rounds)) for n in range(processes)]
    told = [int(children.finish(child, seconds=550)) for child in crowds]
    assert told == [threads * rounds * 2] * processes
    time.sleep(0.2)
    assert pg.run("SELECT sum(deadlocks) FROM pg_stat_database")[0][0] == before
    journal = pg.journal(schema)
    graph = counting(journal)
    shared = 0
    for n in range(SHARED):
        values = graph.get_state(f"shared-{n}").values
        assert values.get("seen", []) == [str(k + 1) for k in range(values.get("n", 0))]
        shared += values.get("n", 0)
    assert shared == processes * threads * rounds
    for process in range(processes):
        for n in range(threads):
            assert graph.get_state(f"own-{process}-{n}").values["n"] == rounds
    journal.close()


def test_three_processes_of_eight_threads_lose_no_update(pg: PgServer, schema: str) -> None:
    """Rows: S0-123, S0-212."""
    run_crowd(pg, schema, 3, 8, 2)


@pytest.mark.full
def test_eight_processes_of_fifty_threads_lose_no_update(pg: PgServer, schema: str) -> None:
    """Rows: S0-123, S0-212, S1-K04."""
    run_crowd(pg, schema, 8, 50, 2)


def test_what_was_acknowledged_outlives_a_kill(pg: PgServer, schema: str) -> None:
    """Killed at random times, over and over, on one schema. Rows: S0-123."""
    killed_while_stepping(lambda: pg.journal(schema, busy_timeout=20), kills=8, within=0.05)


def test_a_process_killed_inside_a_transaction_leaves_nothing_and_blocks_nobody(
    pg: PgServer, schema: str, journal: Journal
) -> None:
    """It held the gate and a row: the server sees the connection end."""
    line = Line()

    def work() -> None:
        def inside(tx: EffectTx) -> None:
            tx.append(operation("a"), events("a"))
            tx.set_mark("m", b"1")
            line.tell(1)
            time.sleep(60)

        pg.journal(schema).transact(inside)

    child = fork(work)
    line.listen()
    kill(child)
    begun = time.monotonic()
    journal.transact(lambda tx: tx.append(operation("a"), events("a")))
    assert time.monotonic() - begun < 4
    assert journal.read(lambda tx: (tx.mark("m"), len(tx.events("a")))) == (None, 1)


def test_the_lease_of_a_killed_process_ends_by_its_time(pg: PgServer, schema: str, journal: Journal) -> None:
    """Another machine takes the thread over, with a higher fence. Rows: S0-212."""
    line = Line()

    def work() -> None:
        own = pg.journal(schema)
        lease = own.acquire("t", owner_of("run"), 1.0)
        assert isinstance(lease, Lease)
        line.tell(lease.fence)
        time.sleep(60)

    child = fork(work)
    fence = line.listen()
    kill(child)
    assert isinstance(journal.acquire("t", owner_of("me"), 30), Busy)
    until = time.monotonic() + 10
    while isinstance(got := journal.acquire("t", owner_of("me"), 30), Busy):
        assert time.monotonic() < until
        journal.wait("t", 5)
    assert got.fence > fence


def test_a_process_that_stands_still_lets_others_go_on(pg: PgServer, schema: str) -> None:
    """Stopped in the middle of a transaction, it holds its thread for as long as we wait, and no other."""
    line = Line()

    def work() -> None:
        own = pg.journal(schema)
        grow(own, "warm", 1)

        def inside(tx: EffectTx) -> None:
            tx.set_mark("m", b"stopped")
            line.tell(1)
            time.sleep(60)

        own.transact(inside)

    child = fork(work)
    line.listen()
    os.kill(child, signal.SIGSTOP)
    journal = pg.journal(schema, busy_timeout=1)
    grow(journal, "t", 3)
    assert isinstance(journal.acquire("t", "p/1", 30), Lease)
    journal.transact(lambda tx: tx.append(operation("a"), events("a")))
    kill(child)
    journal.transact(lambda tx: tx.set_mark("m", b"mine"))
    assert journal.read(lambda tx: tx.mark("m")) == b"mine"
    journal.close()


# Forks.


def test_a_child_of_a_warm_parent_writes_and_so_does_the_parent(journal: Journal) -> None:
    warm_parent_and_children(journal, 3)


def test_forks_while_other_threads_commit(journal: Journal) -> None:
    forks_while_a_thread_commits(journal, 6)


def test_a_fork_inside_a_transaction_leaves_the_parent_unharmed(journal: Journal) -> None:
    grow(journal, "t", 2)
    codes: list[int] = []
    journal.transact(lambda tx: (tx.set_mark("m", b"1"), codes.append(ended(fork(lambda: step_on(journal, "u"))))))
    assert codes == [0]
    assert journal.read(lambda tx: tx.mark("m")) == b"1"
    assert reached(journal, "u") == 0


def test_a_child_keeps_its_connections_when_its_parent_closes(pg: PgServer, schema: str) -> None:
    child_that_outlives_the_parents_handle(lambda: pg.journal(schema))
