"""How the SQLite journal writes: one lock, grouped commits, as much syncing as was asked for, few statements."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import os
import sqlite3
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from lawful.core.errors import AlreadyAnswered, HeadMoved, LeaseLost, StoreError, StoreLocked
from lawful.journal.records import Batch, Lease, PutCheckpoint
from lawful.stores.sqlite import SQLiteJournal
from lawful.stores.sqlite_link import Link
from lawful.testing.conformance_kit import (
    Ids,
    answer,
    at_once,
    checkpoint,
    events,
    fold,
    grow,
    later,
    operation,
    put,
    send,
)

pytestmark = pytest.mark.unit


def link(journal: SQLiteJournal) -> Link:
    found = journal._writer._link
    assert found is not None
    return found


class Trace:
    """The statements that a journal's connection ran."""

    def __init__(self, journal: SQLiteJournal) -> None:
        self.ran: list[str] = []
        link(journal).con.set_trace_callback(self.ran.append)

    def count(self, start: str) -> int:
        return sum(statement.startswith(start) for statement in self.ran)


def queued(journal: SQLiteJournal, *batches: Batch) -> list[list[BaseException | None]]:
    """Submit ``batches`` while the writer is busy, so that they meet in one group; what each was told."""
    told: list[list[BaseException | None]] = [[] for _ in batches]
    with journal._writer._queue.gate:
        for batch, heard in zip(batches, told, strict=True):
            journal.submit(batch, heard.append)
    deadline = time.monotonic() + 20
    while not all(told) and time.monotonic() < deadline:
        time.sleep(0.001)
    return told


def test_a_small_step_is_one_insert(journal: SQLiteJournal) -> None:
    """Rows: S1-073."""
    grow(journal, "t", 3)
    tip = journal.history("t")[0]
    lease = journal.acquire("t", "p/1", 30)
    assert isinstance(lease, Lease)
    put(journal, "t", one := checkpoint(later(tip.id), tip.id, delta=b"d"), expect=tip.id, lease=lease)
    trace = Trace(journal)
    put(journal, "t", checkpoint(later(one.id), one.id, delta=b"d"), expect=one.id, lease=lease)
    kinds = [statement.split()[0] for statement in trace.ran]
    assert kinds == ["BEGIN", "PRAGMA", "INSERT", "COMMIT"]


def test_batches_that_wait_share_a_transaction(journal: SQLiteJournal) -> None:
    ids = Ids()
    trace = Trace(journal)
    batches = [Batch(f"t{n}", (PutCheckpoint(checkpoint(ids()), None),)) for n in range(20)]
    assert queued(journal, *batches) == [[None]] * 20
    assert trace.count("COMMIT") == 1
    assert trace.count("SAVEPOINT") == 20
    assert len(journal.threads()) == 20


def test_a_refusal_in_a_group_is_one_batchs_own(journal: SQLiteJournal) -> None:
    """Rows: S1-073."""
    (row,) = grow(journal, "t", 1)
    send(journal, "t", answer(row.id, "q"))
    old = journal.acquire("u", "p/1", -1)
    journal.acquire("u", "p/2", 30)
    assert isinstance(old, Lease)
    ids = Ids()
    trace = Trace(journal)
    told = queued(
        journal,
        Batch("a", (PutCheckpoint(checkpoint(ids())),)),
        Batch("t", (PutCheckpoint(checkpoint(later(row.id), ns="new")), answer(row.id, "q"))),
        Batch("u", (PutCheckpoint(checkpoint(ids())),), lease=old),
        Batch("t", (PutCheckpoint(checkpoint(later(row.id)), None),)),
        Batch("b", (PutCheckpoint(checkpoint(ids())),)),
    )
    assert [type(heard[0]) for heard in told] == [type(None), AlreadyAnswered, LeaseLost, HeadMoved, type(None)]
    assert trace.count("COMMIT") == 1
    assert [info.thread for info in journal.threads()] == ["a", "b", "t"]
    assert list(journal.namespaces("t")) == [""]


def test_commits_of_busy_threads_are_grouped(journal: SQLiteJournal) -> None:
    trace = Trace(journal)
    ids = Ids()
    rows = [checkpoint(ids()) for _ in range(8)]
    workers = [threading.Thread(target=put, args=(journal, f"t{n}", rows[n])) for n in range(8)]
    with journal._writer._queue.gate:
        for worker in workers:
            worker.start()
        deadline = time.monotonic() + 20
        while len(journal._writer._queue) < 8 and time.monotonic() < deadline:
            time.sleep(0.001)
    for worker in workers:
        worker.join(20)
    assert trace.count("COMMIT") == 1
    assert len(journal.threads()) == 8


def test_an_idle_commit_starts_no_thread(journal: SQLiteJournal) -> None:
    before = threading.active_count()
    grow(journal, "t", 5)
    assert not journal._writer._queue._running
    assert threading.active_count() == before


def test_the_writer_thread_ends_when_idle_and_comes_back(journal: SQLiteJournal) -> None:
    ids = Ids()
    for _ in range(2):
        assert queued(journal, Batch("t", (PutCheckpoint(checkpoint(ids())),))) == [[None]]
        deadline = time.monotonic() + 10
        while journal._writer._queue._running and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not journal._writer._queue._running
    assert len(journal.history("t")) == 2


def test_done_may_call_the_journal_and_may_fail(journal: SQLiteJournal, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = Ids()
    seen: list[int] = []
    ended: list[object] = []

    def unraisable(told: Any) -> None:
        ended.append(told.exc_type)

    monkeypatch.setattr(sys, "unraisablehook", unraisable)

    def done(error: BaseException | None) -> None:
        assert error is None
        seen.append(len(journal.history("t")))

    def broken(error: BaseException | None) -> None:
        raise ZeroDivisionError

    with journal._writer._queue.gate:
        journal.submit(Batch("t", (PutCheckpoint(checkpoint(ids())),)), broken)
        journal.submit(Batch("t", (PutCheckpoint(checkpoint(ids())),)), done)
    deadline = time.monotonic() + 20
    while not (seen and ended) and time.monotonic() < deadline:
        time.sleep(0.001)
    assert seen == [2]
    assert ended == [ZeroDivisionError]  # it ends the writer thread; the next submit starts another
    put(journal, "t", checkpoint(ids()))
    assert queued(journal, Batch("t", (PutCheckpoint(checkpoint(ids())),))) == [[None]]


def test_syncing_is_what_was_asked_for(path: Path) -> None:
    for safe in (False, True):
        journal = SQLiteJournal(f"{path}{safe}", power_safe=safe)
        con = link(journal).con

        def level(con: sqlite3.Connection = con) -> int:
            return con.execute("PRAGMA synchronous").fetchone()[0]

        ids = Ids()
        put(journal, "t", checkpoint(ids()))
        assert level() == (2 if safe else 1)
        journal.commit(Batch("t", (PutCheckpoint(checkpoint(ids())),), durable=True))
        assert level() == 2
        put(journal, "t", checkpoint(ids()))
        assert level() == (2 if safe else 1)
        journal.transact(lambda tx: tx.append(operation("a"), events("a")))
        assert level() == 2
        journal.transact(lambda tx: tx.set_mark("m", b"1"), durable=False)
        assert level() == (2 if safe else 1)
        queued(
            journal,
            Batch("a", (PutCheckpoint(checkpoint(ids())),)),
            Batch("b", (PutCheckpoint(checkpoint(ids())),), durable=True),
        )
        assert level() == 2
        journal.close()


def test_an_interrupt_while_writing_for_others_is_not_theirs(
    journal: SQLiteJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interrupted thread has its KeyboardInterrupt, what others had queued is written all the same."""
    from lawful.stores import sqlite_writer

    ids = Ids()
    heard: list[BaseException | None] = []
    real, struck = sqlite_writer.write, threading.Event()

    def strike(*args: object) -> None:
        if not struck.is_set() and threading.current_thread() is threading.main_thread():
            struck.set()
            raise KeyboardInterrupt
        real(*args)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(sqlite_writer, "write", strike)
    monkeypatch.setattr(journal._writer._queue, "_wake_up", lambda: None)
    journal.submit(Batch("other", (PutCheckpoint(checkpoint(ids())),)), heard.append)
    with pytest.raises(KeyboardInterrupt):
        put(journal, "mine", checkpoint(ids()))
    assert heard == []
    put(journal, "mine", checkpoint(ids()))
    assert heard == [None]
    assert [len(journal.history(thread)) for thread in ("mine", "other")] == [1, 1]


def test_an_interrupt_right_after_the_commit_repeats_nothing(
    journal: SQLiteJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lawful.stores import sqlite_writer

    ids = Ids()
    heard: list[BaseException | None] = []
    real = sqlite_writer.finish
    struck: list[bool] = []

    def strike(*args: object) -> None:
        if not struck:
            struck.append(True)
            raise KeyboardInterrupt
        real(*args)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(sqlite_writer, "finish", strike)
    monkeypatch.setattr(journal._writer._queue, "_wake_up", lambda: None)
    journal.submit(Batch("other", (PutCheckpoint(checkpoint(ids()), None),)), heard.append)
    with pytest.raises(KeyboardInterrupt):
        put(journal, "mine", checkpoint(ids()))
    assert heard == [None]
    assert [len(journal.history(thread)) for thread in ("mine", "other")] == [1, 1]


def test_reads_do_not_wait_for_a_write_under_way(journal: SQLiteJournal) -> None:
    rows = grow(journal, "t", 3)
    inside, go = threading.Event(), threading.Event()

    def slow(tx: object) -> None:
        inside.set()
        assert go.wait(20)

    writer = threading.Thread(target=journal.transact, args=(slow,))
    writer.start()
    assert inside.wait(20)
    assert list(journal.history("t")) == rows[::-1]
    assert fold(journal.chain("t")) == b"<0><1><2>"
    go.set()
    writer.join(20)
    grow(journal, "u", 2)
    assert fold(journal.chain("u")) == b"<0><1>"


def test_two_handles_on_one_file_see_each_other(journal: SQLiteJournal, path: Path) -> None:
    """What a journal remembers of names and heads is dropped when another has written."""
    other = SQLiteJournal(path)
    rows = grow(journal, "t", 3)
    put(other, "t", nxt := checkpoint(later(rows[-1].id), rows[-1].id, delta=b"<3>"), expect=rows[-1].id)
    with pytest.raises(HeadMoved):
        put(journal, "t", checkpoint(later(nxt.id)), expect=rows[-1].id)
    assert fold(journal.chain("t")) == b"<0><1><2><3>"
    other.delete_thread("t")
    grow(other, "u", 1)
    again = grow(journal, "t", 2)
    assert list(other.history("t")) == again[::-1]
    assert list(journal.history("u")) == list(other.history("u"))
    lease = journal.acquire("t", "p/1", 0)
    assert isinstance(lease, Lease)
    put(journal, "t", checkpoint(later(again[-1].id)), lease=lease)
    assert isinstance(other.acquire("t", "p/2", 30), Lease)
    with pytest.raises(LeaseLost):
        put(journal, "t", checkpoint(later(journal.history("t")[0].id)), lease=lease)
    other.close()


def test_a_locked_file_is_told_in_time(journal: SQLiteJournal, path: Path) -> None:
    journal.close()
    journal = SQLiteJournal(path, busy_timeout=0.2)
    grow(journal, "t", 2)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    ids = Ids()
    begun = time.monotonic()
    with pytest.raises(StoreLocked) as caught:
        put(journal, "new", checkpoint(ids()))
    assert caught.value.retryable
    told = queued(journal, *(Batch("new", (PutCheckpoint(checkpoint(ids())),)) for _ in range(20)))
    assert all(isinstance(heard[0], StoreLocked) for heard in told)
    assert time.monotonic() - begun < 3  # a group waits once, not once for each batch
    with pytest.raises(StoreLocked):
        journal.transact(lambda tx: tx.set_mark("m", b"1"))
    assert len(journal.history("t")) == 2
    other.execute("ROLLBACK")
    other.close()
    put(journal, "new", checkpoint(ids()))
    assert len(journal.history("new")) == 1
    journal.close()


def test_closing_writes_what_was_submitted(path: Path) -> None:
    journal = SQLiteJournal(path)
    ids, heard = Ids(), list[BaseException | None]()
    rows = [checkpoint(ids()) for _ in range(10)]
    for row in rows:
        journal.submit(Batch("t", (PutCheckpoint(row),)), heard.append)
    journal.close()
    journal.close()
    deadline = time.monotonic() + 10
    while len(heard) < 10 and time.monotonic() < deadline:
        time.sleep(0.001)
    assert heard == [None] * 10
    with pytest.raises(StoreError):
        journal.submit(Batch("t", (PutCheckpoint(checkpoint(ids())),)), heard.append)
    assert not os.path.exists(f"{path}-wal")
    again = SQLiteJournal(path)
    assert list(again.history("t")) == rows[::-1]
    again.close()


def test_a_small_step_costs_few_bytes(path: Path) -> None:
    """Rows: S1-071."""
    SQLiteJournal(path).close()
    empty = os.path.getsize(path)
    journal = SQLiteJournal(path)
    ids, last = Ids(), None
    for n in range(2_000):
        row = checkpoint(ids(), last, step=n, head=b"", delta=b"")
        put(journal, "t", row, expect=last)
        last = row.id
    journal.close()
    assert (os.path.getsize(path) - empty) / 2_000 <= 120


def test_pruning_gives_the_space_back(path: Path) -> None:
    journal = SQLiteJournal(path)
    ids, last = Ids(), None
    for n in range(200):
        row = checkpoint(ids(), last, step=n, snapshot=os.urandom(4_000))
        put(journal, "t", row)
        last = row.id
    journal.close()
    before = os.path.getsize(path)
    journal = SQLiteJournal(path)
    assert journal.prune("t", keep_every=50) == 195
    journal.close()
    assert os.path.getsize(path) < before / 7
    journal = SQLiteJournal(path)
    journal.delete_thread("t")
    journal.close()
    assert os.path.getsize(path) < 140_000


def test_racing_durable_commits_are_grouped(journal: SQLiteJournal) -> None:
    trace = Trace(journal)

    def work(n: int) -> None:
        ids = Ids()
        for _ in range(10):
            journal.commit(Batch(f"t{n}", (PutCheckpoint(checkpoint(ids())),), durable=True))

    assert at_once(8, work) == [None] * 8
    assert trace.count("COMMIT") <= 80
    assert sum(len(journal.history(f"t{n}")) for n in range(8)) == 80
