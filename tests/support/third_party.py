"""A journal of a third party's making: a tenant is one immutable value, and each transaction puts a new one in its place."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from lawful.core.clock import Clock
from lawful.journal import checks
from lawful.journal.ids import thread_key
from lawful.journal.port import EffectTx
from lawful.journal.records import (
    Answer,
    Batch,
    Busy,
    Chain,
    Checkpoint,
    DropWrites,
    EffectEvent,
    Lease,
    Operation,
    PutAnswer,
    PutCheckpoint,
    PutChunks,
    PutWrites,
    Record,
    TaskWrites,
    ThreadInfo,
)
from lawful.journal.retention import Line, plan

T = TypeVar("T")


class Thread(Struct, frozen=True):
    lineage: str
    created: float
    rows: tuple[Checkpoint, ...] = ()
    hidden: frozenset[str] = frozenset()
    writes: tuple[TaskWrites, ...] = ()
    answers: tuple[Answer, ...] = ()
    chunks: Mapping[bytes, bytes] = {}

    def of(self, ns: str) -> list[Checkpoint]:
        return sorted((row for row in self.rows if row.ns == ns), key=lambda row: row.id)


class Tenant(Struct, frozen=True):
    threads: Mapping[str, Thread] = {}
    leases: Mapping[str, tuple[str | None, int, float, bool]] = {}
    """Owner, fence, end, whether asked to stop."""
    operations: Mapping[str, Operation] = {}
    events: Mapping[str, tuple[EffectEvent, ...]] = {}
    marks: Mapping[str, bytes] = {}


class _Shared:
    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.tenants: dict[str, Tenant] = {}
        self.lock = threading.Lock()
        self.inside = 0
        self.closed = False

    @contextmanager
    def locked(self) -> Generator[None]:
        if self.inside == threading.get_ident():
            raise checks.nested()
        with self.lock:
            if self.closed:
                raise checks.closed()
            yield


class ValueJournal:
    """Implements `lawful.journal.port.Journal` with the checks that are shipped, and nothing else of the library's stores."""

    def __init__(self, clock: Clock, scope: str = "local", shared: _Shared | None = None) -> None:
        self.scope = checks.check_text(scope, "scope")
        self.blocking = False
        self.writers = 1
        self._shared = shared or _Shared(clock)

    def scoped(self, scope: str) -> ValueJournal:
        return ValueJournal(self._shared.clock, scope, self._shared)

    def close(self) -> None:
        self._shared.closed = True

    @property
    def _now(self) -> float:
        return self._shared.clock.now()

    def _see(self) -> Tenant:
        with self._shared.locked():
            return self._shared.tenants.get(self.scope, Tenant())

    def _thread(self, name: str) -> Thread:
        return self._see().threads.get(name) or Thread(name, 0.0)

    def _change(self, work: Callable[[Tenant], tuple[Tenant, T]]) -> T:
        with self._shared.locked():
            made, result = work(self._shared.tenants.get(self.scope, Tenant()))
            self._shared.tenants[self.scope] = made
            return result

    # Threads.

    def commit(self, batch: Batch) -> None:
        checks.check_batch(batch)

        def work(tenant: Tenant) -> tuple[Tenant, None]:
            if batch.lease is not None:
                _held(tenant, batch.lease)
            thread = tenant.threads.get(batch.thread) or Thread(batch.thread, self._now)
            for record in batch.records:
                thread = _applied(thread, batch.thread, record)
            if batch.records:
                tenant = replace(tenant, threads={**tenant.threads, batch.thread: thread})
            return (_freed(tenant, batch.lease) if batch.release and batch.lease else tenant), None

        self._change(work)

    def submit(self, batch: Batch, done: Callable[[BaseException | None], None]) -> None:
        try:
            self.commit(batch)
        except Exception as error:
            done(error)
        else:
            done(None)

    def chain(self, thread: str, ns: str = "", checkpoint: str | None = None) -> Chain | None:
        found = self._thread(thread)
        rows = {row.id: row for row in found.of(ns)}
        id = checkpoint if checkpoint is not None else max(rows, default=None)
        if id is None or id not in rows or id in found.hidden:
            return None
        line = [rows[id]]
        while line[0].snapshot is None and line[0].parent is not None:
            line.insert(0, rows[line[0].parent])
        writes = tuple(w for w in found.writes if (w.ns, w.checkpoint) == (ns, id))
        answers = tuple(a for a in found.answers if (a.ns, a.checkpoint) == (ns, id))
        refs = {digest: found.chunks[digest] for holder in (*line, *writes) for digest in holder.refs}
        return Chain(tuple(line), writes, answers, refs)

    def history(
        self,
        thread: str,
        ns: str = "",
        *,
        before: str | None = None,
        limit: int | None = None,
        filter: Mapping[str, Any] | None = None,
    ) -> Sequence[Checkpoint]:
        wanted = checks.check_filter(filter)
        checks.check_before(before)
        checks.check_limit(limit, "history")
        found = self._thread(thread)
        rows = [row for row in reversed(found.of(ns)) if row.id not in found.hidden and (not before or row.id < before)]
        return [row for row in rows if checks.matches(row.metadata, row.source, row.step, wanted)][:limit]

    def children(self, thread: str, ns: str, checkpoint: str) -> Sequence[Checkpoint]:
        found = self._thread(thread)
        return [row for row in found.of(ns) if row.parent == checkpoint and row.id not in found.hidden]

    def chunks(self, thread: str, digests: Iterable[bytes]) -> Mapping[bytes, bytes]:
        held = self._thread(thread).chunks
        return {digest: held[digest] for digest in digests if digest in held}

    def namespaces(self, thread: str) -> Sequence[str]:
        return sorted({row.ns for row in self._thread(thread).rows})

    def threads(self, *, limit: int | None = None, after: str | None = None) -> Sequence[ThreadInfo]:
        checks.check_limit(limit, "threads")
        names = sorted(name for name in self._see().threads if after is None or name > after)
        return [info for name in names[:limit] if (info := self.info(name)) is not None]

    def info(self, thread: str) -> ThreadInfo | None:
        found = self._see().threads.get(thread)
        if found is None:
            return None
        heads = {row.ns: row for row in sorted(found.rows, key=lambda row: row.id)}
        graph = heads[""].metadata.get("_graph", "") if "" in heads else ""
        updated = max([found.created, *(row.at for row in heads.values())])
        return ThreadInfo(thread, found.lineage, found.created, updated, graph if isinstance(graph, str) else "")

    # Leases.

    def acquire(self, thread: str, owner: str, ttl: float) -> Lease | Busy:
        thread_key(thread)
        checks.check_text(owner, "owner")
        now = self._now

        def work(tenant: Tenant) -> tuple[Tenant, Lease | Busy]:
            held, fence, expires, _ = tenant.leases.get(thread, (None, 0, 0.0, False))
            if held is not None and expires > now:
                return tenant, Busy(held, expires)
            lease = Lease(thread, owner, fence + 1, now + ttl)
            return _leased(tenant, lease), lease

        return self._change(work)

    def renew(self, lease: Lease, ttl: float) -> Lease:
        def work(tenant: Tenant) -> tuple[Tenant, Lease]:
            asked = _held(tenant, lease)[3]
            made = replace(lease, expires=self._now + ttl)
            return _leased(tenant, made, asked=asked), made

        return self._change(work)

    def release(self, lease: Lease) -> None:
        self._change(lambda tenant: (_freed(tenant, lease), None))

    def cancel(self, thread: str) -> bool:
        now = self._now

        def work(tenant: Tenant) -> tuple[Tenant, bool]:
            owner, fence, expires, _ = tenant.leases.get(thread, (None, 0, 0.0, False))
            if owner is None or expires <= now:
                return tenant, False
            return _leased(tenant, Lease(thread, owner, fence, expires), asked=True), True

        return self._change(work)

    def cancelled(self, lease: Lease) -> bool:
        owner, fence, _, asked = self._see().leases.get(lease.thread, (None, 0, 0.0, False))
        return owner is None or fence != lease.fence or asked

    def wait(self, thread: str, timeout: float) -> None:
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            owner, _, expires, _ = self._see().leases.get(thread, (None, 0, 0.0, False))
            if owner is None or expires <= self._now:
                return
            time.sleep(0.002)

    # Retention.

    def delete_thread(self, thread: str) -> None:
        def work(tenant: Tenant) -> tuple[Tenant, None]:
            return replace(tenant, threads={n: t for n, t in tenant.threads.items() if n != thread}), None

        self._change(work)

    def copy_thread(self, source: str, target: str) -> None:
        thread_key(target)

        def work(tenant: Tenant) -> tuple[Tenant, None]:
            origin, taken = tenant.threads.get(source), tenant.threads.get(target)
            if origin is None or not origin.rows:
                raise checks.refuse(f"thread {source!r} has no checkpoints to copy", "copy_thread")
            if taken is not None and taken.rows:
                raise checks.refuse(f"thread {target!r} has checkpoints already", "copy_thread")
            return replace(tenant, threads={**tenant.threads, target: replace(origin, created=self._now)}), None

        self._change(work)

    def prune(
        self,
        thread: str | None = None,
        *,
        keep_last: int = 1,
        keep_every: int | None = None,
        older_than: float | None = None,
    ) -> int:
        checks.check_retention(keep_last, keep_every, older_than)
        keep: dict[str, Any] = {"keep_last": keep_last, "keep_every": keep_every, "older_than": older_than}

        def work(tenant: Tenant) -> tuple[Tenant, int]:
            pruned = {n: _pruned(t, self._now, keep) for n, t in tenant.threads.items() if thread in (None, n)}
            threads = {**tenant.threads, **{name: made for name, (made, _) in pruned.items()}}
            return replace(tenant, threads=threads), sum(count for _, count in pruned.values())

        return self._change(work)

    # Effects.

    def transact(self, work: Callable[[EffectTx], T], *, durable: bool = True) -> T:
        return self._change(lambda tenant: self._ran(tenant, work, writable=True))

    def read(self, work: Callable[[EffectTx], T]) -> T:
        return self._change(lambda tenant: self._ran(tenant, work, writable=False))

    def _ran(self, tenant: Tenant, work: Callable[[EffectTx], T], *, writable: bool) -> tuple[Tenant, T]:
        tx = _Tx(tenant, self._now, writable)
        self._shared.inside = threading.get_ident()
        try:
            result = work(tx)
        finally:
            self._shared.inside = 0
        return tx.tenant, result


class _Tx:
    def __init__(self, tenant: Tenant, now: float, writable: bool) -> None:
        self.tenant = tenant
        self._now = now
        self._writable = writable

    def now(self) -> float:
        return self._now

    def operation(self, op_id: str) -> Operation | None:
        return self.tenant.operations.get(op_id)

    def events(self, op_id: str) -> Sequence[EffectEvent]:
        return self.tenant.events.get(op_id, ())

    def append(self, operation: Operation, events: Sequence[EffectEvent]) -> None:
        self._may_write()
        old, op_id = self.events(operation.op_id), operation.op_id
        checks.check_append(operation, events, len(old))
        told = {**self.tenant.events, op_id: (*old, *events)}
        self.tenant = replace(self.tenant, operations={**self.tenant.operations, op_id: operation}, events=told)

    def operations(
        self,
        *,
        states: Sequence[str] = (),
        tool: str | None = None,
        thread: str | None = None,
        labels: Mapping[str, Any] | None = None,
        since: float | None = None,
        limit: int | None = None,
    ) -> Iterable[Operation]:
        checks.check_limit(limit, "operations")
        found = [
            op
            for op in self.tenant.operations.values()
            if (not states or op.state in states)
            and tool in (None, op.tool)
            and thread in (None, op.thread)
            and (since is None or (op.claimed_at is not None and op.claimed_at >= since))
            and checks.labelled(op.labels, labels)
        ]
        return found[:limit]

    def mark(self, name: str) -> bytes | None:
        return self.tenant.marks.get(checks.check_text(name, "mark"))

    def set_mark(self, name: str, value: bytes | None) -> None:
        self._may_write()
        marks = {n: v for n, v in self.tenant.marks.items() if n != checks.check_text(name, "mark")}
        self.tenant = replace(self.tenant, marks=marks if value is None else {**marks, name: value})

    def _may_write(self) -> None:
        if not self._writable:
            raise checks.read_only()


def _held(tenant: Tenant, lease: Lease) -> tuple[str | None, int, float, bool]:
    found = tenant.leases.get(lease.thread, (None, 0, 0.0, False))
    if found[0] is None or found[1] != lease.fence:
        raise checks.lease_lost(lease.thread, lease.fence, found[0])
    return found


def _leased(tenant: Tenant, lease: Lease, *, asked: bool = False) -> Tenant:
    return replace(tenant, leases={**tenant.leases, lease.thread: (lease.owner, lease.fence, lease.expires, asked)})


def _freed(tenant: Tenant, lease: Lease) -> Tenant:
    owner, fence, _, _ = tenant.leases.get(lease.thread, (None, 0, 0.0, False))
    if owner is None or fence != lease.fence:
        return tenant
    return replace(tenant, leases={**tenant.leases, lease.thread: (None, fence, 0.0, False)})


def _applied(thread: Thread, name: str, record: Record) -> Thread:
    match record:
        case PutCheckpoint(checkpoint=row):
            rows = thread.of(row.ns)
            checks.check_head(name, record, rows[-1].id if rows else None)
            if row.snapshot is None and row.parent is not None and row.parent not in {old.id for old in rows}:
                raise checks.parent_missing(name, row)
            _check_chunks(thread, name, row.refs)
            return replace(thread, rows=(*thread.rows, row))
        case PutWrites(writes=new):
            _check_chunks(thread, name, new.refs)
            place = (new.ns, new.checkpoint, new.task)
            held = {(old.ns, old.checkpoint, old.task): old for old in thread.writes} | {place: new}
            return replace(thread, writes=tuple(held.values()))
        case DropWrites(ns=ns, checkpoint=checkpoint):
            return replace(thread, writes=tuple(w for w in thread.writes if (w.ns, w.checkpoint) != (ns, checkpoint)))
        case PutChunks(chunks=chunks):
            return replace(thread, chunks={**chunks, **thread.chunks})
        case PutAnswer(answer=new):
            if any((a.ns, a.checkpoint, a.question) == (new.ns, new.checkpoint, new.question) for a in thread.answers):
                raise checks.answered(name, new)
            return replace(thread, answers=(*thread.answers, new))


def _check_chunks(thread: Thread, name: str, refs: Iterable[bytes]) -> None:
    for digest in refs:
        if digest not in thread.chunks:
            raise checks.chunk_missing(name, digest)


def _pruned(thread: Thread, now: float, keep: Mapping[str, Any]) -> tuple[Thread, int]:
    count = 0
    for ns in {row.ns for row in thread.rows}:
        lines = [
            Line(r.id, r.parent, r.step, r.at, r.snapshot is not None, r.id in thread.hidden) for r in thread.of(ns)
        ]
        going = plan(lines, now=now, **keep)
        gone = {(ns, id) for id in (*going.drop, *going.hide)}
        count += going.count
        thread = replace(
            thread,
            rows=tuple(
                _bare(row) if row.ns == ns and row.id in going.hide else row
                for row in thread.rows
                if row.ns != ns or row.id not in going.drop
            ),
            hidden=(thread.hidden | set(going.hide)) - set(going.drop),
            writes=tuple(w for w in thread.writes if (w.ns, w.checkpoint) not in gone),
            answers=tuple(a for a in thread.answers if (a.ns, a.checkpoint) not in gone),
        )
    used = {digest for holder in (*thread.rows, *thread.writes) for digest in holder.refs}
    return replace(thread, chunks={d: c for d, c in thread.chunks.items() if d in used}), count


def _bare(row: Checkpoint) -> Checkpoint:
    return replace(row, metadata={}, delta=b"" if row.snapshot is not None else row.delta)
