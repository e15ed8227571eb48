"""`Journal`: the port that every store implements; sync, small, transactional.

One store holds checkpoints, task writes, answers, leases and effect records, so that one file has one order and one
backup. `lawful.testing.conformance` holds the tests that every implementation must pass, third parties' too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

from lawful.journal.records import Batch, Busy, Chain, Checkpoint, EffectEvent, Lease, Operation, ThreadInfo

T = TypeVar("T")


class EffectTx(Protocol):
    """What may be read and written of effects inside one transaction, which no other writer can come between."""

    def now(self) -> float:
        """The store's clock: seconds since 1970 UTC."""
        ...

    def operation(self, op_id: str) -> Operation | None:
        """Where the operation stands, or None."""
        ...

    def events(self, op_id: str) -> Sequence[EffectEvent]:
        """Its events in order; empty if there are none."""
        ...

    def append(self, operation: Operation, events: Sequence[EffectEvent]) -> None:
        """Add ``events`` and set the operation's row to ``operation``.

        The first event's seq must be one more than the stored version, ``operation.version`` the last event's seq.

        Raises: HeadMoved, if it is not; nothing is written then.
        """
        ...

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
        """Operations that match everything given, oldest first; ``since`` compares with ``claimed_at``."""
        ...

    def mark(self, name: str) -> bytes | None:
        """A small named value of the scope (a freeze, a consumed approval), or None."""
        ...

    def set_mark(self, name: str, value: bytes | None) -> None:
        """Set it, or with None forget it."""
        ...


@runtime_checkable
class Journal(Protocol):
    """A transactional store of threads and operations, seen through one scope (tenant).

    Every method is safe to call from any thread. Errors are the `StoreError` family of core/errors.py: StoreFull,
    StoreLocked, NewerSchema, CorruptRecord, HeadMoved, LeaseLost; AlreadyAnswered from PutAnswer. After any error
    nothing of the batch is written and the journal goes on working.
    """

    @property
    def scope(self) -> str:
        """The tenant this handle sees; "local" unless said otherwise."""
        ...

    @property
    def blocking(self) -> bool:
        """Whether a commit waits for a disk or a network, so that an event loop should not make it."""
        ...

    @property
    def writers(self) -> int:
        """How many commits may be under way at once; one thread's always go through the same."""
        ...

    def scoped(self, scope: str) -> Journal:
        """The same store seen by another tenant; each sees only its own rows."""
        ...

    def commit(self, batch: Batch) -> None:
        """Write all of ``batch`` or nothing; returns when it is as durable as it asks for."""
        ...

    def submit(self, batch: Batch, done: Callable[[BaseException | None], None]) -> None:
        """As ``commit``, without waiting: ``done`` is called once, from any thread, with the error or None.

        Batches of one thread are written in the order they were submitted.
        """
        ...

    def chain(self, thread: str, ns: str = "", checkpoint: str | None = None) -> Chain | None:
        """What rebuilds the newest checkpoint of ``ns``, or the one named; None where there is none."""
        ...

    def history(
        self,
        thread: str,
        ns: str = "",
        *,
        before: str | None = None,
        limit: int | None = None,
        filter: Mapping[str, Any] | None = None,
    ) -> Sequence[Checkpoint]:
        """Checkpoints newest first: with ids below ``before``, whose metadata (and ``source``, ``step``) equals ``filter``.

        A filter key must be an identifier ([A-Za-z_][A-Za-z0-9_]*), its value a JSON scalar: else ValidationError.
        """
        ...

    def children(self, thread: str, ns: str, checkpoint: str) -> Sequence[Checkpoint]:
        """The checkpoints made from this one, oldest first."""
        ...

    def chunks(self, thread: str, digests: Iterable[bytes]) -> Mapping[bytes, bytes]:
        """The chunks stored under ``digests``; those that are missing are left out."""
        ...

    def namespaces(self, thread: str) -> Sequence[str]:
        """Every namespace of the thread that has a checkpoint, sorted."""
        ...

    def threads(self, *, limit: int | None = None, after: str | None = None) -> Sequence[ThreadInfo]:
        """The scope's threads, by id, with ids above ``after``."""
        ...

    def info(self, thread: str) -> ThreadInfo | None:
        """What listings show of one thread, its lineage above all; None where nothing of it is stored."""
        ...

    def acquire(self, thread: str, owner: str, ttl: float) -> Lease | Busy:
        """Take the thread's lease for ``ttl`` seconds if it is free, expired, or its owner provably dead; does not wait."""
        ...

    def renew(self, lease: Lease, ttl: float) -> Lease:
        """Prolong it. Raises: LeaseLost."""
        ...

    def release(self, lease: Lease) -> None:
        """Give it up; a lease that is no longer ours is left alone."""
        ...

    def cancel(self, thread: str) -> bool:
        """Ask the lease's holder to stop; it learns of it by ``cancelled``. False where nobody holds it."""
        ...

    def cancelled(self, lease: Lease) -> bool:
        """Whether the holder of ``lease`` was asked to stop, or has lost it."""
        ...

    def wait(self, thread: str, timeout: float) -> None:
        """Return when the thread's lease may have become free, or after ``timeout`` seconds; may return early."""
        ...

    def delete_thread(self, thread: str) -> None:
        """Forget a thread's checkpoints, writes, answers and chunks. Effect records stay."""
        ...

    def copy_thread(self, source: str, target: str) -> None:
        """Copy a thread, with its lineage, to a thread that has no checkpoints yet. Raises: ValidationError if it has."""
        ...

    def prune(
        self,
        thread: str | None = None,
        *,
        keep_last: int = 1,
        keep_every: int | None = None,
        older_than: float | None = None,
    ) -> int:
        """Drop checkpoints from history and return how many.

        Of each namespace the newest ``keep_last``, and every checkpoint whose step divides by ``keep_every``, stay;
        with ``older_than`` only those older than so many seconds may go. Rows that a kept one needs to be rebuilt stay
        out of sight, without their metadata.
        """
        ...

    def transact(self, work: Callable[[EffectTx], T], *, durable: bool = True) -> T:
        """Run ``work`` in one write transaction (FULL where ``durable``); its exception rolls everything back.

        ``work`` may be run again from the start where the store must retry, so it has no effect outside the transaction.
        """
        ...

    def read(self, work: Callable[[EffectTx], T]) -> T:
        """Run ``work``, which only reads, on a consistent view."""
        ...

    def close(self) -> None:
        """Finish what was submitted and let go of files and threads; further calls raise StoreError."""
        ...
