"""`JournalWrapper`: a journal over another one, which does all that a subclass does not do itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from lawful.journal.port import EffectTx, Journal
from lawful.journal.records import Batch, Busy, Chain, Checkpoint, EffectEvent, Lease, Operation, ThreadInfo

T = TypeVar("T")


class JournalWrapper(ABC):
    """The journal ``inner`` under another type: a subclass overrides what it changes, and owes ``scoped``.

    What is not overridden reaches ``inner`` as it was called. A wrapper that must see every call, as a guard does, tests
    that it overrides them all.
    """

    inner: Journal
    """The journal beneath."""

    @property
    def scope(self) -> str:
        return self.inner.scope

    @property
    def blocking(self) -> bool:
        return self.inner.blocking

    @property
    def writers(self) -> int:
        return self.inner.writers

    @abstractmethod
    def scoped(self, scope: str) -> Journal:
        """This wrapper over ``inner.scoped(scope)``."""
        ...

    def commit(self, batch: Batch) -> None:
        self.inner.commit(batch)

    def submit(self, batch: Batch, done: Callable[[BaseException | None], None]) -> None:
        self.inner.submit(batch, done)

    def chain(self, thread: str, ns: str = "", checkpoint: str | None = None) -> Chain | None:
        return self.inner.chain(thread, ns, checkpoint)

    def history(
        self,
        thread: str,
        ns: str = "",
        *,
        before: str | None = None,
        limit: int | None = None,
        filter: Mapping[str, Any] | None = None,
    ) -> Sequence[Checkpoint]:
        return self.inner.history(thread, ns, before=before, limit=limit, filter=filter)

    def children(self, thread: str, ns: str, checkpoint: str) -> Sequence[Checkpoint]:
        return self.inner.children(thread, ns, checkpoint)

    def chunks(self, thread: str, digests: Iterable[bytes]) -> Mapping[bytes, bytes]:
        return self.inner.chunks(thread, digests)

    def namespaces(self, thread: str) -> Sequence[str]:
        return self.inner.namespaces(thread)

    def threads(self, *, limit: int | None = None, after: str | None = None) -> Sequence[ThreadInfo]:
        return self.inner.threads(limit=limit, after=after)

    def info(self, thread: str) -> ThreadInfo | None:
        return self.inner.info(thread)

    def acquire(self, thread: str, owner: str, ttl: float) -> Lease | Busy:
        return self.inner.acquire(thread, owner, ttl)

    def renew(self, lease: Lease, ttl: float) -> Lease:
        return self.inner.renew(lease, ttl)

    def release(self, lease: Lease) -> None:
        self.inner.release(lease)

    def cancel(self, thread: str) -> bool:
        return self.inner.cancel(thread)

    def cancelled(self, lease: Lease) -> bool:
        return self.inner.cancelled(lease)

    def wait(self, thread: str, timeout: float) -> None:
        self.inner.wait(thread, timeout)

    def delete_thread(self, thread: str) -> None:
        self.inner.delete_thread(thread)

    def copy_thread(self, source: str, target: str) -> None:
        self.inner.copy_thread(source, target)

    def prune(
        self,
        thread: str | None = None,
        *,
        keep_last: int = 1,
        keep_every: int | None = None,
        older_than: float | None = None,
    ) -> int:
        return self.inner.prune(thread, keep_last=keep_last, keep_every=keep_every, older_than=older_than)

    def transact(self, work: Callable[[EffectTx], T], *, durable: bool = True) -> T:
        return self.inner.transact(work, durable=durable)

    def read(self, work: Callable[[EffectTx], T]) -> T:
        return self.inner.read(work)

    def close(self) -> None:
        self.inner.close()


class EffectTxWrapper:
    """`EffectTx` over another one; a subclass overrides what it changes."""

    def __init__(self, tx: EffectTx) -> None:
        self._tx = tx

    @property
    def inner(self) -> EffectTx:
        """The transaction beneath."""
        return self._tx

    def now(self) -> float:
        return self._tx.now()

    def operation(self, op_id: str) -> Operation | None:
        return self._tx.operation(op_id)

    def events(self, op_id: str) -> Sequence[EffectEvent]:
        return self._tx.events(op_id)

    def append(self, operation: Operation, events: Sequence[EffectEvent]) -> None:
        self._tx.append(operation, events)

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
        return self._tx.operations(states=states, tool=tool, thread=thread, labels=labels, since=since, limit=limit)

    def mark(self, name: str) -> bytes | None:
        return self._tx.mark(name)

    def set_mark(self, name: str, value: bytes | None) -> None:
        self._tx.set_mark(name, value)
