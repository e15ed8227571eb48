"""Several processes on one journal, some of them killed: what was acknowledged is there, nobody is locked out."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from pathlib import Path

import pytest

from lawful.core.errors import StoreError
from lawful.journal.leases import owner_of, take
from lawful.journal.records import Batch, Busy, Lease, PutCheckpoint
from lawful.stores.sqlite import SQLiteJournal
from lawful.testing.conformance_kit import Ids, checkpoint, events, grow, later, operation, put
from support.forks import Line, ended, fork, kill
from support.journal_processes import (
    child_that_outlives_the_parents_handle,
    forks_while_a_thread_commits,
    killed_while_stepping,
    reached,
    step_on,
    warm_parent_and_children,
)
from support.torn import die_in_write, library

pytestmark = pytest.mark.crash


def sound(path: Path) -> bool:
    """Whether SQLite finds the file whole."""
    con = sqlite3.connect(path)
    try:
        return con.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    finally:
        con.close()


def test_what_was_acknowledged_outlives_a_kill(path: Path) -> None:
    """Killed at random times, over and over, on one file. Rows: S0-122, S1-K11."""

    def opened() -> SQLiteJournal:
        assert not path.exists() or sound(path)
        return SQLiteJournal(path)

    killed_while_stepping(opened, kills=12, within=0.03)


@pytest.mark.skipif(library() is None, reason="SQLite is built into this Python; random kills are tested above")
@pytest.mark.parametrize("durable", [False, True])
def test_a_write_torn_in_the_middle_of_a_commit_damages_nothing(path: Path, durable: bool) -> None:
    """SIGKILL with half of the n-th write done, in commits and in the copying back of the log at the end.

    Rows: S0-122, S1-K11.
    """
    journal = SQLiteJournal(path)
    step_on(journal, "t")
    journal.close()
    died, code = 0, -1
    for n in range(1, 200, 1 if durable else 2):
        line = Line()

        def work(n: int = n, line: Line = line) -> None:
            journal = SQLiteJournal(path)
            die_in_write(n)
            for _ in range(3):
                line.tell(step_on(journal, "t", durable=durable))
            journal.transact(lambda tx: tx.set_mark("m", b"1"))
            journal.close()

        before = _steps(path)
        code = ended(fork(work))
        told = line.rest()
        acknowledged = told[-1] if told else before
        assert sound(path)
        assert _steps(path) in ((acknowledged, acknowledged + 1) if code else (acknowledged,))
        if code == 0:
            break
        died += 1
    assert died >= 10
    assert code == 0


def _steps(path: Path) -> int:
    journal = SQLiteJournal(path)
    try:
        return reached(journal, "t")
    finally:
        journal.close()


def test_two_processes_share_a_thread_by_its_lease(path: Path) -> None:
    """Case A19 with processes: each step is taken once, none is lost. Rows: S0-122."""

    def work() -> None:
        journal = SQLiteJournal(path)
        for _ in range(15):
            lease = take(journal, "t", owner_of("run"), timeout=60)
            chain = journal.chain("t")
            tip = chain.tip if chain else None
            row = checkpoint(later(tip.id if tip else None), step=tip.step + 1 if tip else 0)
            batch = Batch("t", (PutCheckpoint(row, tip.id if tip else None),), lease=lease, release=True)
            journal.commit(batch)
        journal.close()

    SQLiteJournal(path).close()
    children = [fork(work) for _ in range(3)]
    assert [ended(child) for child in children] == [0, 0, 0]
    journal = SQLiteJournal(path)
    assert [row.step for row in journal.history("t")] == list(range(44, -1, -1))
    journal.close()
    assert sound(path)


def test_processes_that_begin_at_once_make_one_journal(path: Path) -> None:
    def work(n: int) -> None:
        journal = SQLiteJournal(path)
        for _ in range(20):
            step_on(journal, f"t{n}")
        journal.transact(lambda tx: tx.append(operation(f"op{n}"), events(f"op{n}")))
        journal.close()

    children = [fork(lambda n=n: work(n)) for n in range(4)]
    assert [ended(child) for child in children] == [0] * 4
    journal = SQLiteJournal(path)
    assert [reached(journal, f"t{n}") for n in range(4)] == [19] * 4
    assert len(journal.read(lambda tx: list(tx.operations()))) == 4
    journal.close()
    assert sound(path)


def test_of_racing_processes_one_claims(path: Path) -> None:
    journal = SQLiteJournal(path)
    journal.transact(lambda tx: tx.append(operation("op"), events("op")))
    line = Line()

    def work() -> None:
        def claim(tx: object) -> bool:
            found = tx.operation("op")  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType, reportAttributeAccessIssue]
            if found.state != "planned":  # pyright: ignore[reportUnknownMemberType]
                return False
            tx.append(operation("op", 2, state="claimed"), events("op", 2))  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue]
            return True

        line.tell(int(journal.transact(claim)))

    children = [fork(work) for _ in range(4)]
    assert [ended(child) for child in children] == [0] * 4
    assert sorted(line.rest()) == [0, 0, 0, 1]
    journal.close()


# Forks of a process that uses the journal.


def test_a_child_of_a_warm_parent_writes_and_so_does_the_parent(journal: SQLiteJournal, path: Path) -> None:
    warm_parent_and_children(journal, 4)
    assert sound(path)


def test_forks_while_other_threads_commit(journal: SQLiteJournal, path: Path) -> None:
    forks_while_a_thread_commits(journal, 8)
    assert sound(path)


def test_a_child_keeps_the_file_when_its_parent_lets_go(path: Path) -> None:
    """Whoever closes last folds the log into the file: the parent must not think that it is alone."""
    child_that_outlives_the_parents_handle(lambda: SQLiteJournal(path))
    assert sound(path)


def test_a_fork_inside_a_transaction_leaves_the_parent_unharmed(journal: SQLiteJournal, path: Path) -> None:
    grow(journal, "t", 2)

    def child() -> None:
        with pytest.raises(StoreError):
            journal.chain("t")

    codes: list[int] = []
    journal.transact(lambda tx: (tx.set_mark("m", b"1"), codes.append(ended(fork(child)))))
    assert codes == [0]
    assert journal.read(lambda tx: tx.mark("m")) == b"1"
    step_on(journal, "u")
    assert sound(path)


def test_a_journal_in_memory_is_copied_by_a_fork() -> None:
    journal = SQLiteJournal(":memory:")
    grow(journal, "t", 2)

    def work() -> None:
        assert len(journal.history("t")) == 2
        grow(journal, "u", 1)

    assert ended(fork(work)) == 0
    assert journal.info("u") is None
    journal.close()


# Leases of processes.


def test_the_lease_of_a_killed_process_is_taken_over_at_once(journal: SQLiteJournal, path: Path) -> None:
    line = Line()

    def work() -> None:
        lease = journal.acquire("t", owner_of("run"), 3_600)
        assert isinstance(lease, Lease)
        line.tell(lease.fence)
        time.sleep(60)

    child = fork(work)
    fence = line.listen()
    other = SQLiteJournal(path)
    for look in (journal, other):
        assert isinstance(look.acquire("t", owner_of("me"), 30), Busy)
    begun = time.monotonic()
    other.wait("t", 0.1)
    assert time.monotonic() - begun >= 0.1
    kill(child)
    mine = take(journal, "t", owner_of("me"), policy="reject")
    assert mine.fence > fence
    assert isinstance(other.acquire("t", owner_of("other"), 30), Busy)
    other.close()


def test_waiting_notices_a_death(journal: SQLiteJournal) -> None:
    line = Line()

    def work() -> None:
        assert isinstance(journal.acquire("t", owner_of("run"), 3_600), Lease)
        line.tell(1)
        time.sleep(60)

    child = fork(work)
    line.listen()
    death = threading.Timer(0.1, kill, (child,))
    death.start()
    begun = time.monotonic()
    take(journal, "t", owner_of("me"), timeout=20)
    assert time.monotonic() - begun < 5
    death.join()


def test_a_living_process_keeps_its_lease_though_its_children_end(journal: SQLiteJournal, path: Path) -> None:
    """A child neither inherits the parent's lock nor drops it: not by closing, not by ending, not by being killed."""
    lease = journal.acquire("t", owner_of("parent"), 3_600)
    assert isinstance(lease, Lease)

    def closes() -> None:
        assert isinstance(journal.acquire("t", owner_of("child"), 30), Busy)
        assert isinstance(journal.acquire("u", owner_of("child"), 30), Lease)
        journal.close()

    assert ended(fork(closes)) == 0
    ready = Line()

    def waits() -> None:
        journal.chain("t")
        ready.tell(1)
        time.sleep(60)

    child = fork(waits)
    ready.listen()
    kill(child)

    def looks() -> None:
        fresh = SQLiteJournal(path)
        assert isinstance(fresh.acquire("t", owner_of("other"), 30), Busy)
        assert isinstance(fresh.acquire("u", owner_of("other"), 30), Lease)  # its holder has ended
        fresh.close()

    assert ended(fork(looks)) == 0
    put(journal, "t", checkpoint(Ids()()), lease=lease)


def test_the_parents_death_frees_its_leases_though_a_child_lives(path: Path) -> None:
    ready, grandchild = Line(), Line()

    def parent() -> None:
        journal = SQLiteJournal(path)
        assert isinstance(journal.acquire("t", owner_of("parent"), 3_600), Lease)

        def child() -> None:
            journal.chain("t")
            ready.tell(1)
            time.sleep(60)

        grandchild.tell(fork(child))
        time.sleep(60)

    pid = fork(parent)
    young = grandchild.listen()
    ready.listen()
    kill(pid)
    journal = SQLiteJournal(path)
    try:
        assert isinstance(journal.acquire("t", owner_of("me"), 30), Lease)
    finally:
        os.kill(young, 9)
        journal.close()


def test_an_owner_that_is_no_process_of_ours_is_waited_for(journal: SQLiteJournal, path: Path) -> None:
    assert isinstance(journal.acquire("t", "abc/run", 3_600), Lease)
    other = SQLiteJournal(path)
    assert isinstance(other.acquire("t", owner_of("me"), 30), Busy)
    other.close()


def test_a_closed_journals_leases_are_free_unless_another_uses_the_file(path: Path) -> None:
    one, two = SQLiteJournal(path), SQLiteJournal(path)
    assert isinstance(one.acquire("t", owner_of("run"), 3_600), Lease)
    one.close()

    def busy() -> None:
        fresh = SQLiteJournal(path)
        assert isinstance(fresh.acquire("t", owner_of("x"), 30), Busy)
        fresh.close()

    assert ended(fork(busy)) == 0
    two.close()

    def free() -> None:
        fresh = SQLiteJournal(path)
        assert isinstance(fresh.acquire("t", owner_of("x"), 30), Lease)
        fresh.close()

    assert ended(fork(free)) == 0
