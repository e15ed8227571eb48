"""Several processes on one journal, some of them killed or forked in the middle: nothing lost, nothing locked for ever."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lawful.journal.leases import owner_of
from lawful.journal.port import EffectTx, Journal
from lawful.journal.records import Batch, Busy, Lease, PutCheckpoint
from lawful.testing.conformance_kit import Ids, checkpoint, events, fold, grow, later, operation, put
from support import children
from support.forks import Line, ended, fork, kill
from support.pg import PgServer, skipped

pytestmark = [pytest.mark.integration, pytest.mark.postgres, skipped]

CROWD = Path(children.TESTS) / "support" / "pg_programs.py"


@pytest.fixture
def journal(pg: PgServer, schema: str) -> Iterator[Journal]:
    made = pg.journal(schema)
    yield made
    made.close()


def step_on(journal: Journal, thread: str, *, durable: bool = False) -> int:
    """Add the next checkpoint; its step, once the commit is acknowledged."""
    chain = journal.chain(thread)
    tip = chain.tip if chain else None
    step = tip.step + 1 if tip else 0
    delta = f"<{step}>".encode()
    row = checkpoint(
        later(tip.id if tip else None),
        tip.id if tip else None,
        step=step,
        delta=delta,
        snapshot=(fold(chain) if chain else b"") + delta if step % 5 == 0 else None,
    )
    journal.commit(Batch(thread, (PutCheckpoint(row, tip.id if tip else None),), durable=durable))
    return step


def reached(journal: Journal, thread: str) -> int:
    """The newest step, whose state is checked."""
    chain = journal.chain(thread)
    if chain is None:
        return -1
    assert fold(chain) == b"".join(b"<%d>" % n for n in range(chain.tip.step + 1))
    return chain.tip.step


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
    chance = random.Random(7)
    for _ in range(8):
        line = Line()

        def work(line: Line = line) -> None:
            journal = pg.journal(schema)
            while True:
                line.tell(step_on(journal, "t", durable=chance.random() < 0.2))

        child = fork(work)
        first = line.listen()
        time.sleep(chance.random() * 0.05)
        kill(child)
        acknowledged = (line.rest() or [first])[-1]
        journal = pg.journal(schema, busy_timeout=20)
        assert reached(journal, "t") in (acknowledged, acknowledged + 1)
        assert step_on(journal, "t") > acknowledged
        journal.close()


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
    grow(journal, "t", 3)
    for n in range(3):

        def work(n: int = n) -> None:
            assert len(journal.history("t")) >= 3
            step_on(journal, f"child{n}")
            heard: list[BaseException | None] = []
            journal.submit(Batch(f"queued{n}", (PutCheckpoint(checkpoint(Ids()())),)), heard.append)
            while not heard:
                time.sleep(0.001)
            assert heard == [None]
            if n % 2:
                journal.close()

        child = fork(work)
        tip = journal.history("t")[0]
        put(journal, "t", checkpoint(later(tip.id), tip.id, delta=b"<x>"))
        assert ended(child) == 0
        assert reached(journal, f"child{n}") == 0
        assert len(journal.history(f"queued{n}")) == 1
    assert len(journal.history("t")) == 6


def test_forks_while_other_threads_commit(journal: Journal) -> None:
    stop = threading.Event()
    wrote: list[int] = []

    def busy() -> None:
        while not stop.is_set():
            wrote.append(step_on(journal, "busy"))

    writer = threading.Thread(target=busy)
    writer.start()
    kids: list[int] = []
    for n in range(6):
        kids.append(fork(lambda n=n: step_on(journal, f"child{n}")))
        time.sleep(0.01)
    codes = [ended(child) for child in kids]
    stop.set()
    writer.join(20)
    assert codes == [0] * 6
    assert reached(journal, "busy") == wrote[-1]
    assert [reached(journal, f"child{n}") for n in range(6)] == [0] * 6


def test_a_fork_inside_a_transaction_leaves_the_parent_unharmed(journal: Journal) -> None:
    grow(journal, "t", 2)
    codes: list[int] = []
    journal.transact(lambda tx: (tx.set_mark("m", b"1"), codes.append(ended(fork(lambda: step_on(journal, "u"))))))
    assert codes == [0]
    assert journal.read(lambda tx: tx.mark("m")) == b"1"
    assert reached(journal, "u") == 0


def test_a_child_keeps_its_connections_when_its_parent_closes(pg: PgServer, schema: str) -> None:
    journal = pg.journal(schema)
    grow(journal, "t", 2)
    ready, go = Line(), Line()

    def work() -> None:
        step_on(journal, "early")
        ready.tell(1)
        go.listen()
        for _ in range(3):
            step_on(journal, "late")

    child = fork(work)
    ready.listen()
    journal.close()
    go.tell(1)
    assert ended(child) == 0
    again = pg.journal(schema)
    assert [reached(again, thread) for thread in ("early", "late")] == [0, 2]
    again.close()
