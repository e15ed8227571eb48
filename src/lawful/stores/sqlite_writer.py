"""Who writes when: one lock, whose holder also writes what others have queued; connections; what a fork leaves of them."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from weakref import WeakSet

from lawful.core.clock import Clock
from lawful.core.errors import Failure, StoreLocked
from lawful.journal.checks import closed, nested
from lawful.journal.records import Batch
from lawful.stores.queue import Done, Entry, Queue, finish
from lawful.stores.sqlite_batch import write
from lawful.stores.sqlite_errors import translated, translating
from lawful.stores.sqlite_link import Link

_FORK_PATIENCE = 10.0
"""Seconds that a fork waits for commits under way."""


class Writer:
    """The only way to the file, for one process; shared by the handles of all scopes."""

    def __init__(self, path: str, busy_timeout: float, power_safe: bool, clock: Clock) -> None:
        self.path = path
        self.clock = clock
        self._busy_timeout = busy_timeout
        self._power_safe = power_safe
        self._private = path == ":memory:" or path == ""
        self._closed = False
        self._link: Link | None = None
        self._reader: Link | None = None
        self.on_freed: Callable[[], None] = _nothing
        """Called after a batch gave up its lease."""
        self._queue = Queue(self._write, lambda: self.on_freed())
        self._renew_locks()
        with translating(path, "open"):
            self._link = Link(path, busy_timeout)
        _writers.add(self)

    def _renew_locks(self) -> None:
        self._queue.renew()
        self._holder = 0
        self._reading = threading.Lock()
        self._reader_of = 0
        self._forking: list[threading.Lock] = []

    # Batches.

    def commit(self, scope: str, batch: Batch) -> None:
        """Write ``batch`` in this thread, and with it what waits in the queue; or let the holder of the lock write it."""
        self._refuse_nested()
        self._queue.commit(Entry(scope, batch))

    def submit(self, scope: str, batch: Batch, done: Done) -> None:
        """Queue ``batch`` for the writer thread, or for whoever commits before it."""
        if self._closed:
            raise closed()
        self._queue.submit(Entry(scope, batch, done))

    def _write(self, entries: Sequence[Entry]) -> None:
        if len(entries) > 1:
            self._group(entries)
        for entry in entries:
            if not entry.finished:
                self._single(entry)

    def _single(self, entry: Entry) -> None:
        link: Link | None = None
        try:
            link = self._ready(durable=entry.batch.durable)
            with link.writing():
                write(link, entry.scope, entry.batch, self.clock.now())
            entry.finished = True
        except sqlite3.Error as error:
            entry.finish(translated(error, self.path, "commit"))
        except BaseException as error:
            if isinstance(error, Exception):
                entry.finish(error)
                return
            entry.finished = link is not None and link.committed
            raise

    def _group(self, entries: Sequence[Entry]) -> None:
        """All of ``entries`` in one transaction, each in a savepoint; where that fails as a whole, none is finished."""
        refused: dict[int, Failure] = {}
        link: Link | None = None
        try:
            link = self._ready(durable=any(entry.batch.durable for entry in entries))
            with link.writing():
                for i, entry in enumerate(entries):
                    if (error := self._part(link, entry)) is not None:
                        refused[i] = error
            finish(entries, refused)
        except BaseException as error:
            if link is not None and link.committed:
                finish(entries, refused)
            if not isinstance(error, Exception):
                raise
            if isinstance(error, sqlite3.Error):
                told = translated(error, self.path, "commit")
                if isinstance(told, StoreLocked):  # once waited is enough for all of them
                    finish(entries, dict.fromkeys(range(len(entries)), told))
            # Any other trouble: they are written one by one next, so that each gets the error that is its own.

    def _part(self, link: Link, entry: Entry) -> Failure | None:
        link.con.execute("SAVEPOINT part")
        try:
            write(link, entry.scope, entry.batch, self.clock.now())
        except Failure as error:
            link.forget()
            link.con.execute("ROLLBACK TO part")
            link.con.execute("RELEASE part")
            return error
        link.con.execute("RELEASE part")
        return None

    # Connections.

    def _ready(self, *, durable: bool) -> Link:
        if self._closed:
            raise closed()
        if self._link is None:
            self._link = Link(self.path, self._busy_timeout)
        self._link.power_safe(durable or self._power_safe)
        return self._link

    def _refuse_nested(self) -> None:
        if threading.get_ident() in (self._holder, self._reader_of):
            raise nested()

    @contextmanager
    def writing(self, *, durable: bool) -> Generator[Link]:
        """A write transaction of one's own."""
        self._refuse_nested()
        with self._queue.gate, translating(self.path, "write"):
            link = self._ready(durable=durable)
            self._holder = threading.get_ident()
            try:
                with link.writing():
                    yield link
            finally:
                self._holder = 0

    @contextmanager
    def reading(self) -> Generator[Link]:
        """A consistent view: over the writing connection if it is idle, else over another, so that reads never wait."""
        self._refuse_nested()
        if self._private:
            self._queue.gate.acquire()
        elif not self._queue.gate.acquire(blocking=False):
            with self._second() as link, translating(self.path, "read"), link.reading():
                yield link
            return
        try:
            with translating(self.path, "read"):
                link = self._ready(durable=False)
                self._holder = threading.get_ident()
                with link.reading():
                    yield link
        finally:
            self._holder = 0
            self._queue.gate.release()

    @contextmanager
    def _second(self) -> Generator[Link]:
        with self._reading:
            if self._closed:
                raise closed()
            self._reader_of = threading.get_ident()
            try:
                if self._reader is None:
                    with translating(self.path, "open"):
                        self._reader = Link(self.path, self._busy_timeout)
                yield self._reader
            finally:
                self._reader_of = 0

    def shrink(self) -> None:
        """Give free pages back to the file system."""
        with self._queue.gate, translating(self.path, "shrink"):
            con = self._ready(durable=False).con
            con.executescript("PRAGMA incremental_vacuum")  # execute() would stop after the first page
            con.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def close(self) -> None:
        """Write what is queued, then let go of the file."""
        self._refuse_nested()
        with self._queue.gate, self._reading:
            served = self._queue.flush()
            self._closed = True
            self._let_go(truncate=True)
        _writers.discard(self)
        self._queue.report(served)

    def __del__(self) -> None:
        if "_link" in self.__dict__:
            self._let_go(truncate=False)

    def _let_go(self, *, truncate: bool) -> None:
        if self._reader is not None:
            self._reader.close(truncate=False)
        if self._link is not None:
            self._link.close(truncate=truncate)
        self._link = self._reader = None

    # Forks. SQLite's locks belong to the process, and its own memory of them would be copied into the child, where it is
    # false: the parent therefore lets go of the file before, and both open it anew when they next use it.

    def before_fork(self) -> None:
        if threading.get_ident() in (self._holder, self._reader_of):
            return
        locks = (self._queue.gate, self._reading)
        self._forking = [lock for lock in locks if lock.acquire(timeout=_FORK_PATIENCE)]
        if len(self._forking) == len(locks) and not self._private:
            self._let_go(truncate=False)

    def after_fork(self) -> None:
        for lock in self._forking:
            lock.release()
        self._forking = []

    def in_child(self) -> None:
        if not self._private and (self._link is not None or self._reader is not None):
            # Forked in the middle of a transaction: the connections are the parent's, and closing them here would drop
            # its locks. They are kept, and never touched.
            _inherited.extend((self._link, self._reader))
            self._link = self._reader = None
            self._closed = True
        self._renew_locks()


def _nothing() -> None:
    return


_inherited: list[Link | None] = []
_writers: WeakSet[Writer] = WeakSet()


def _before_fork() -> None:
    for writer in list(_writers):
        writer.before_fork()


def _after_fork() -> None:
    for writer in list(_writers):
        writer.after_fork()


def _in_child() -> None:
    for writer in list(_writers):
        writer.in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)
