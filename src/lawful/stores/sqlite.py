"""`SQLiteJournal`: the journal in one SQLite file, with nothing but the standard library."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from lawful.core.clock import SYSTEM, Clock
from lawful.journal.checks import (
    check_batch,
    check_before,
    check_filter,
    check_limit,
    check_retention,
    check_text,
)
from lawful.journal.ids import thread_key
from lawful.journal.port import EffectTx
from lawful.journal.records import Batch, Busy, Chain, Checkpoint, Lease, ThreadInfo
from lawful.stores import sqlite_leases, sqlite_read, sqlite_retention
from lawful.stores.sqlite_batch import fenced, free
from lawful.stores.sqlite_effects import SQLiteEffectTx
from lawful.stores.sqlite_rekeying import DIALECT, rewritten
from lawful.stores.sqlite_writer import Writer

T = TypeVar("T")

_LOOK = 0.03
"""Seconds between two looks at a lease that another process may give up."""


class _Store:
    """What the handles of one file share."""

    def __init__(self, writer: Writer, path: str) -> None:
        self.writer = writer
        self.side = sqlite_leases.side_of(path)
        self.handles: dict[str, SQLiteJournal] = {}
        self.renew_lock()
        writer.on_freed = self.freed

    def renew_lock(self) -> None:
        self.changed = threading.Condition()
        self.releases = 0
        self.process = os.getpid()

    def condition(self) -> threading.Condition:
        if self.process != os.getpid():
            self.renew_lock()
        return self.changed

    def freed(self) -> None:
        """Wake those who wait for a lease."""
        changed = self.condition()
        with changed:
            self.releases += 1
            changed.notify_all()


class SQLiteJournal:
    """A journal in a file (WAL mode), for any number of threads and processes of one machine.

    A commit outlives the process once it returns; with ``power_safe`` a power cut too (a batch may ask for that by itself,
    and effects always do). ``busy_timeout`` is how many seconds to wait for another process's lock before StoreLocked.
    ``clock`` gives the time of leases and of effect records; all processes on one file should agree about it. Beside
    ``path`` lie ``path-wal``, ``path-shm`` and ``path-lock``: none of them may be removed while a process uses the journal.
    The last one carries the locks by which a process's death is seen. ":memory:" keeps everything in memory.

    A fork is safe: parent and child both open the file anew. Raises: NewerSchema, CorruptRecord, StoreError.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        scope: str = "local",
        power_safe: bool = False,
        busy_timeout: float = 5.0,
        clock: Clock = SYSTEM,
    ) -> None:
        name = os.fspath(path)
        place = name if name in (":memory:", "") else os.path.abspath(name)
        self._open(scope, _Store(Writer(place, busy_timeout, power_safe, clock), place))

    def _open(self, scope: str, store: _Store) -> None:
        self._scope = check_text(scope, "scope")
        self._store = store
        self._writer = store.writer
        store.handles[scope] = self

    @property
    def path(self) -> str:
        """The file."""
        return self._writer.path

    @property
    def beside(self) -> str | None:
        """What the names of files beside it begin with; None in memory."""
        return self.path if self.path not in ("", ":memory:") else None

    @property
    def scope(self) -> str:
        return self._scope

    @property
    def blocking(self) -> bool:
        return True

    @property
    def writers(self) -> int:
        return 1

    def scoped(self, scope: str) -> SQLiteJournal:
        handle = self._store.handles.get(scope)
        if handle is None:
            handle = SQLiteJournal.__new__(SQLiteJournal)
            handle._open(scope, self._store)
        return handle

    # Threads.

    def commit(self, batch: Batch) -> None:
        check_batch(batch)
        self._writer.commit(self._scope, batch)

    def submit(self, batch: Batch, done: Callable[[BaseException | None], None]) -> None:
        check_batch(batch)
        self._writer.submit(self._scope, batch, done)

    def chain(self, thread: str, ns: str = "", checkpoint: str | None = None) -> Chain | None:
        with self._writer.reading() as link:
            return sqlite_read.chain(link, self._scope, thread, ns, checkpoint)

    def history(
        self,
        thread: str,
        ns: str = "",
        *,
        before: str | None = None,
        limit: int | None = None,
        filter: Mapping[str, Any] | None = None,
    ) -> Sequence[Checkpoint]:
        wanted = check_filter(filter)
        check_before(before)
        check_limit(limit, "history")
        with self._writer.reading() as link:
            return sqlite_read.history(link, self._scope, thread, ns, before, limit, wanted)

    def children(self, thread: str, ns: str, checkpoint: str) -> Sequence[Checkpoint]:
        with self._writer.reading() as link:
            return sqlite_read.children(link, self._scope, thread, ns, checkpoint)

    def chunks(self, thread: str, digests: Iterable[bytes]) -> Mapping[bytes, bytes]:
        wanted = list(digests)
        with self._writer.reading() as link:
            return sqlite_read.chunks(link, self._scope, thread, wanted)

    def namespaces(self, thread: str) -> Sequence[str]:
        with self._writer.reading() as link:
            return sqlite_read.namespaces(link, self._scope, thread)

    def threads(self, *, limit: int | None = None, after: str | None = None) -> Sequence[ThreadInfo]:
        check_limit(limit, "threads")
        if after is not None:
            check_text(after, "after")
        with self._writer.reading() as link:
            return sqlite_read.threads(link, self._scope, limit, after)

    def info(self, thread: str) -> ThreadInfo | None:
        with self._writer.reading() as link:
            return sqlite_read.info(link, self._scope, thread)

    # Leases.

    def acquire(self, thread: str, owner: str, ttl: float) -> Lease | Busy:
        thread_key(thread)
        check_text(owner, "owner")
        with self._writer.writing(durable=False) as link:
            return sqlite_leases.acquire(link, self._scope, thread, owner, self._now(), ttl, self._store.side)

    def renew(self, lease: Lease, ttl: float) -> Lease:
        with self._writer.writing(durable=False) as link:
            fenced(link, self._scope, lease)
            return sqlite_leases.renew(link, self._scope, lease, self._now(), ttl)

    def release(self, lease: Lease) -> None:
        with self._writer.writing(durable=False) as link:
            free(link, self._scope, lease)
        self._store.freed()

    def cancel(self, thread: str) -> bool:
        with self._writer.writing(durable=False) as link:
            return sqlite_leases.cancel(link, self._scope, thread, self._now(), self._store.side)

    def cancelled(self, lease: Lease) -> bool:
        with self._writer.reading() as link:
            return sqlite_leases.cancelled(link, self._scope, lease)

    def wait(self, thread: str, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        changed = self._store.condition()
        while True:
            seen = self._store.releases
            with self._writer.reading() as link:
                now = self._now()
                expires = sqlite_leases.free_at(link, self._scope, thread, now, self._store.side)
            left = deadline - time.monotonic()
            if expires is None or left <= 0:
                return
            with changed:
                if self._store.releases == seen:
                    changed.wait(min(left, _LOOK, max(expires - now, 0.001)))

    def _now(self) -> float:
        return self._writer.clock.now()

    # Retention.

    def delete_thread(self, thread: str) -> None:
        with self._writer.writing(durable=False) as link:
            sqlite_retention.delete_thread(link, self._scope, thread)
        self._writer.shrink()

    def copy_thread(self, source: str, target: str) -> None:
        thread_key(target)
        with self._writer.writing(durable=False) as link:
            sqlite_retention.copy_thread(link, self._scope, source, target, self._now())

    def prune(
        self,
        thread: str | None = None,
        *,
        keep_last: int = 1,
        keep_every: int | None = None,
        older_than: float | None = None,
    ) -> int:
        check_retention(keep_last, keep_every, older_than)
        names = [thread] if thread is not None else [info.thread for info in self.threads()]
        count = 0
        for name in names:  # a transaction for each: other runs need not wait for all of them
            with self._writer.writing(durable=False) as link:
                count += sqlite_retention.prune(
                    link,
                    self._scope,
                    name,
                    now=self._now(),
                    keep_last=keep_last,
                    keep_every=keep_every,
                    older_than=older_than,
                )
        self._writer.shrink()
        return count

    # Effects.

    def transact(self, work: Callable[[EffectTx], T], *, durable: bool = True) -> T:
        with self._writer.writing(durable=durable) as link:
            return work(SQLiteEffectTx(link, self._scope, self._now(), writable=True))

    def read(self, work: Callable[[EffectTx], T]) -> T:
        with self._writer.reading() as link:
            return work(SQLiteEffectTx(link, self._scope, self._now(), writable=False))

    # Sealed bytes.

    dialect = DIALECT

    def fetch_raw(self, statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """As `lawful.stores.rekeying.Rewritable`; for that alone."""
        with self._writer.reading() as link:
            return link.con.execute(statement.replace("@", ""), values).fetchall()

    def rewrite_raw(self, table: str, changes: Sequence[tuple[str, Sequence[Any]]]) -> int:
        """As `lawful.stores.rekeying.Rewritable`; for that alone."""
        with self._writer.writing(durable=True) as link:
            return rewritten(link.con, table, changes)

    def close(self) -> None:
        self._writer.close()
        side, self._store.side = self._store.side, None
        sqlite_leases.leave_side(side)
