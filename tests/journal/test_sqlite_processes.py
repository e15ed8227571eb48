"""Several processes on one journal, some of them killed: what was acknowledged is there, nobody is locked out."""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lawful.core.errors import StoreError
from lawful.journal.leases import owner_of, take
from lawful.journal.records import Batch, Busy, Lease, PutCheckpoint
from lawful.stores.sqlite import SQLiteJournal
from lawful.testing.conformance_kit import Ids, checkpoint, events, fold, grow, later, operation, put
from support.forks import Line, ended, fork, kill
from support.torn import die_in_write, library

pytestmark = pytest.mark.crash


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "j.db"


@pytest.fixture
def journal(path: Path) -> Iterator[SQLiteJournal]:
    made = SQLiteJournal(path)
    yield made
    made.close()


def sound(path: Path) -> bool:
    """Whether SQLite finds the file whole."""
    con = sqlite3.connect(path)
    try:
        return con.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    finally:
        con.close()


def step_on(journal: SQLiteJournal, thread: str, *, durable: bool = False) -> int:
    """Add the next checkpoint, with a snapshot every five; its step, once the commit is acknowledged."""
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


def reached(journal: SQLiteJournal, thread: str) -> int:
    """The newest step, whose state is checked."""
    chain = journal.chain(thread)
    if chain is None:
        return -1
    assert fold(chain) == b"".join(b"<%d>" % n for n in range(chain.tip.step + 1))
    return chain.tip.step


def test_what_was_acknowledged_outlives_a_kill(path: Path) -> None:
    """Killed at random times, over and over, on one file. Rows: S0-122, S1-K11."""
    chance = random.Random(7)
    SQLiteJournal(path).close()
    for _ in range(12):
        line = Line()

        def work(line: Line = line) -> None:
            journal = SQLiteJournal(path)
            while True:
                line.tell(step_on(journal, "t", durable=chance.random() < 0.2))

        child = fork(work)
        first = line.listen()
        time.sleep(chance.random() * 0.03)
        kill(child)
        acknowledged = (line.rest() or [first])[-1]
        assert sound(path)
        journal = SQLiteJournal(path)
        assert reached(journal, "t") in (acknowledged, acknowledged + 1)
        assert step_on(journal, "t") > acknowledged
        journal.close()


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
    grow(journal, "t", 5)
    for n in range(4):

        def work(n: int = n) -> None:
            assert len(journal.history("t")) in (5 + 2 * n, 6 + 2 * n)  # the parent may have gone on
            step_on(journal, f"child{n}")
            heard: list[BaseException | None] = []
            row = checkpoint(Ids()())
            journal.submit(Batch(f"queued{n}", (PutCheckpoint(row),)), heard.append)
            while not heard:
                time.sleep(0.001)
            assert heard == [None]
            if n % 2:
                journal.close()

        child = fork(work)
        journal.chain("t")
        tip = journal.history("t")[0]
        put(journal, "t", one := checkpoint(later(tip.id)))
        assert ended(child) == 0
        put(journal, "t", checkpoint(later(one.id)))
        assert reached(journal, f"child{n}") == 0
        assert len(journal.history(f"queued{n}")) == 1
    assert len(journal.history("t")) == 13
    assert sound(path)


def test_forks_while_other_threads_commit(journal: SQLiteJournal, path: Path) -> None:
    stop = threading.Event()
    wrote: list[int] = []

    def busy() -> None:
        while not stop.is_set():
            wrote.append(step_on(journal, "busy"))

    writer = threading.Thread(target=busy)
    writer.start()
    children: list[int] = []
    for n in range(8):
        children.append(fork(lambda n=n: step_on(journal, f"child{n}")))
        time.sleep(0.005)
    codes = [ended(child) for child in children]
    stop.set()
    writer.join(20)
    assert codes == [0] * 8
    assert reached(journal, "busy") == wrote[-1]
    assert [reached(journal, f"child{n}") for n in range(8)] == [0] * 8
    assert sound(path)


def test_a_child_keeps_the_file_when_its_parent_lets_go(path: Path) -> None:
    """Whoever closes last folds the log into the file: the parent must not think that it is alone."""
    journal = SQLiteJournal(path)
    grow(journal, "t", 2)
    ready, go = Line(), Line()

    def work() -> None:
        step_on(journal, "early")
        ready.tell(1)
        go.listen()
        for _ in range(5):
            step_on(journal, "late")

    child = fork(work)
    ready.listen()
    step_on(journal, "parent")
    journal.close()
    again = SQLiteJournal(path)
    step_on(again, "parent")
    again.close()
    go.tell(1)
    assert ended(child) == 0
    again = SQLiteJournal(path)
    assert [reached(again, thread) for thread in ("early", "late", "parent")] == [0, 4, 1]
    again.close()
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
