"""`MemoryJournal`: the journal in memory, under one lock; the reference that other stores are held against."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from lawful.core.clock import SYSTEM, Clock
from lawful.journal.checks import (
    check_batch,
    check_before,
    check_filter,
    check_limit,
    check_retention,
    check_text,
    closed,
    lease_lost,
    nested,
    refuse,
)
from lawful.journal.ids import thread_key
from lawful.journal.memory_effects import EffectRows, MemoryEffectTx
from lawful.journal.memory_rows import ThreadRows
from lawful.journal.port import EffectTx
from lawful.journal.records import Batch, Busy, Chain, Checkpoint, Lease, ThreadInfo

T = TypeVar("T")


class _Held:
    """Who has a thread's lease; stays when it is given up, so that fences go on growing."""

    __slots__ = ("asked", "expires", "fence", "owner", "process")

    def __init__(self) -> None:
        self.owner: str | None = None
        self.fence = 0
        self.expires = 0.0
        self.asked = False
        """Whether the holder was asked to stop."""
        self.process = 0

    def free(self, now: float) -> bool:
        # After a fork the child has a memory of its own: a holder in the parent will never give it up here.
        return self.owner is None or self.expires <= now or self.process != os.getpid()


class _Scope:
    """One tenant's rows."""

    __slots__ = ("effects", "leases", "threads")

    def __init__(self) -> None:
        self.threads: dict[str, ThreadRows] = {}
        self.leases: dict[str, _Held] = {}
        self.effects = EffectRows()


class _Store:
    """What the handles of one store share."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.scopes: dict[str, _Scope] = {}
        self.handles: dict[str, MemoryJournal] = {}
        self.closed = False
        self.renew_lock()

    def renew_lock(self) -> None:
        self.lock = threading.Lock()
        self.freed = threading.Condition(self.lock)
        self.holder = 0
        """The thread inside transact() or read(), to refuse what would wait for itself."""
        self.process = os.getpid()

    @contextmanager
    def held(self) -> Generator[None]:
        """The lock."""
        if self.process != os.getpid():
            self.renew_lock()
        if self.holder and self.holder == threading.get_ident():
            raise nested()
        with self.lock:
            if self.closed:
                raise closed()
            yield


class MemoryJournal:
    """A journal that ends with its process; safe to use from any thread.

    ``clock`` gives the time of leases and of effect records.
    """

    def __init__(self, scope: str = "local", clock: Clock = SYSTEM) -> None:
        self._open(scope, _Store(clock))

    def _open(self, scope: str, store: _Store) -> None:
        self._scope = check_text(scope, "scope")
        self._store = store
        self._rows = store.scopes.setdefault(scope, _Scope())
        store.handles[scope] = self

    @property
    def scope(self) -> str:
        return self._scope

    @property
    def blocking(self) -> bool:
        return False

    @property
    def writers(self) -> int:
        return 1

    def scoped(self, scope: str) -> MemoryJournal:
        with self._store.held():
            handle = self._store.handles.get(scope)
            if handle is None:
                handle = MemoryJournal.__new__(MemoryJournal)
                handle._open(scope, self._store)
            return handle

    # Threads.

    def commit(self, batch: Batch) -> None:
        check_batch(batch)
        with self._store.held():
            if batch.lease is not None:
                self._fenced(batch.lease)
            rows = self._rows.threads.get(batch.thread)
            known = rows is not None
            if rows is None:
                rows = ThreadRows(batch.thread, self._store.clock.now())
            rows.check(batch)
            for record in batch.records:
                rows.apply(record)
            if not known and batch.records:
                self._rows.threads[batch.thread] = rows
            if batch.release and batch.lease is not None:
                self._free(batch.lease)

    def submit(self, batch: Batch, done: Callable[[BaseException | None], None]) -> None:
        error: BaseException | None = None
        try:
            self.commit(batch)
        except BaseException as e:  # handed over, as the port says; what is no Exception is raised here too
            error = e
            if not isinstance(e, Exception):
                raise
        finally:
            done(error)

    def chain(self, thread: str, ns: str = "", checkpoint: str | None = None) -> Chain | None:
        with self._store.held():
            rows = self._rows.threads.get(thread)
            return None if rows is None else rows.chain(thread, ns, checkpoint)

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
        with self._store.held():
            rows = self._rows.threads.get(thread)
            return [] if rows is None else rows.history(ns, before, limit, wanted)

    def children(self, thread: str, ns: str, checkpoint: str) -> Sequence[Checkpoint]:
        with self._store.held():
            rows = self._rows.threads.get(thread)
            return [] if rows is None else rows.children(ns, checkpoint)

    def chunks(self, thread: str, digests: Iterable[bytes]) -> Mapping[bytes, bytes]:
        wanted = list(digests)
        with self._store.held():
            rows = self._rows.threads.get(thread)
            return {} if rows is None else {d: rows.chunks[d] for d in wanted if d in rows.chunks}

    def namespaces(self, thread: str) -> Sequence[str]:
        with self._store.held():
            rows = self._rows.threads.get(thread)
            return [] if rows is None else sorted(ns for ns, space in rows.spaces.items() if space.rows)

    def threads(self, *, limit: int | None = None, after: str | None = None) -> Sequence[ThreadInfo]:
        check_limit(limit, "threads")
        with self._store.held():
            names = sorted(name for name in self._rows.threads if after is None or name > after)
            return [self._rows.threads[name].info(name) for name in names[:limit]]

    def info(self, thread: str) -> ThreadInfo | None:
        with self._store.held():
            rows = self._rows.threads.get(thread)
            return None if rows is None else rows.info(thread)

    # Leases.

    def acquire(self, thread: str, owner: str, ttl: float) -> Lease | Busy:
        thread_key(thread)
        check_text(owner, "owner")
        with self._store.held():
            now = self._store.clock.now()
            held = self._rows.leases.setdefault(thread, _Held())
            if held.owner is not None and not held.free(now):
                return Busy(held.owner, held.expires)
            held.owner, held.fence, held.expires = owner, held.fence + 1, now + ttl
            held.asked, held.process = False, os.getpid()
            return Lease(thread, owner, held.fence, held.expires)

    def renew(self, lease: Lease, ttl: float) -> Lease:
        with self._store.held():
            held = self._fenced(lease)
            held.expires = self._store.clock.now() + ttl
            return Lease(lease.thread, lease.owner, lease.fence, held.expires)

    def release(self, lease: Lease) -> None:
        with self._store.held():
            self._free(lease)

    def cancel(self, thread: str) -> bool:
        with self._store.held():
            held = self._rows.leases.get(thread)
            if held is None or held.free(self._store.clock.now()):
                return False
            held.asked = True
            return True

    def cancelled(self, lease: Lease) -> bool:
        with self._store.held():
            held = self._rows.leases.get(lease.thread)
            return held is None or held.owner is None or held.fence != lease.fence or held.asked

    def wait(self, thread: str, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        with self._store.held():
            while True:
                held = self._rows.leases.get(thread)
                now = self._store.clock.now()
                left = deadline - time.monotonic()
                if held is None or held.free(now) or left <= 0 or self._store.closed:
                    return
                self._store.freed.wait(min(left, max(held.expires - now, 0.001)))

    def _fenced(self, lease: Lease) -> _Held:
        held = self._rows.leases.get(lease.thread)
        if held is None or held.owner is None or held.fence != lease.fence:
            raise lease_lost(lease.thread, lease.fence, held.owner if held else None)
        return held

    def _free(self, lease: Lease) -> None:
        held = self._rows.leases.get(lease.thread)
        if held is not None and held.owner is not None and held.fence == lease.fence:
            held.owner = None
            self._store.freed.notify_all()

    # Retention.

    def delete_thread(self, thread: str) -> None:
        with self._store.held():
            self._rows.threads.pop(thread, None)

    def copy_thread(self, source: str, target: str) -> None:
        thread_key(target)
        with self._store.held():
            threads = self._rows.threads
            if source not in threads or not threads[source].begun:
                raise refuse(f"thread {source!r} has no checkpoints to copy", "copy_thread", thread=source)
            if target in threads and threads[target].begun:
                raise refuse(f"thread {target!r} has checkpoints already", "copy_thread", thread=target)
            made = threads[source].copy()
            made.created = self._store.clock.now()
            threads[target] = made

    def prune(
        self,
        thread: str | None = None,
        *,
        keep_last: int = 1,
        keep_every: int | None = None,
        older_than: float | None = None,
    ) -> int:
        check_retention(keep_last, keep_every, older_than)
        with self._store.held():
            now = self._store.clock.now()
            names = list(self._rows.threads) if thread is None else [thread]
            found = [self._rows.threads[name] for name in names if name in self._rows.threads]
            return sum(rows.prune(now, keep_last, keep_every, older_than) for rows in found)

    # Effects.

    def transact(self, work: Callable[[EffectTx], T], *, durable: bool = True) -> T:
        with self._inside(writable=True) as tx:
            result = work(tx)
            tx.settle()
            return result

    def read(self, work: Callable[[EffectTx], T]) -> T:
        with self._inside(writable=False) as tx:
            return work(tx)

    @contextmanager
    def _inside(self, *, writable: bool) -> Generator[MemoryEffectTx]:
        store = self._store
        with store.held():
            store.holder = threading.get_ident()
            try:
                yield MemoryEffectTx(self._rows.effects, store.clock.now(), writable=writable)
            finally:
                store.holder = 0

    def close(self) -> None:
        with self._store.lock:
            self._store.closed = True
            self._store.freed.notify_all()
