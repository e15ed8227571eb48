"""`GuardedJournal`: a journal that asks, before each call, whether a principal may do this with this thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypeVar

from lawful.core.errors import AccessDenied
from lawful.core.questions import Principal
from lawful.journal.checks import check_limit
from lawful.journal.port import EffectTx, Journal
from lawful.journal.records import (
    Batch,
    Busy,
    Chain,
    Checkpoint,
    EffectEvent,
    Lease,
    Operation,
    PutAnswer,
    PutCheckpoint,
    ThreadInfo,
)
from lawful.journal.wrapper import EffectTxWrapper, JournalWrapper

T = TypeVar("T")
Access: TypeAlias = Literal["read", "write", "answer", "fork", "delete"]
"""``write``: begin or go on with a run, change a state, cancel; ``answer``: a question; ``fork``: copy a thread, go on from an
old checkpoint; ``delete``: also prune. Whoever resumes a run by an answer needs write and answer."""
Authorize: TypeAlias = Callable[[Principal, str, Access], bool]
"""Whether this principal may do this with this thread; what it raises reaches the caller, and nothing is done."""

_PAGE = 100


class GuardedJournal(JournalWrapper):
    """``journal`` behind ``authorize(principal, thread, access)``, which is asked before each call.

    ``acting(principal)`` gives the handle of one principal, as the host authenticated them; without one everything is
    refused. `CompiledStateGraph.acting` does this for a graph. Listings leave out what may not be read. A principal's handle
    cannot leave its scope: scope the journal, then guard it. The hook is asked often, in the thread that calls: it should
    be quick and must not call this journal.

    Raises: AccessDenied, and what ``journal`` raises.
    """

    def __init__(self, journal: Journal, authorize: Authorize, principal: Principal | None = None) -> None:
        self.inner = journal
        self.authorize = authorize
        self.principal = principal

    def acting(self, principal: Principal) -> GuardedJournal:
        """The same journal on behalf of ``principal``."""
        return GuardedJournal(self.inner, self.authorize, principal)

    def may(self, thread: str, access: Access) -> bool:
        """What the hook says; False without a principal."""
        return self.principal is not None and self.authorize(self.principal, thread, access)

    def _ask(self, thread: str, *accesses: Access) -> None:
        for access in accesses:
            if not self.may(thread, access):
                raise _denied(self.principal, thread, access)

    def scoped(self, scope: str) -> GuardedJournal:
        """This handle, for its own scope. Raises: AccessDenied for any other."""
        if scope != self.scope:
            raise AccessDenied(
                f"a guarded journal stays in its scope {self.scope!r}; to have one for {scope!r}, scope it before you guard it",
                component="journal",
                operation="scoped",
                details={"scope": scope},
            )
        return self

    # Threads.

    def commit(self, batch: Batch) -> None:
        self._ask(batch.thread, *_needed(batch))
        self.inner.commit(batch)

    def submit(self, batch: Batch, done: Callable[[BaseException | None], None]) -> None:
        self._ask(batch.thread, *_needed(batch))
        self.inner.submit(batch, done)

    def chain(self, thread: str, ns: str = "", checkpoint: str | None = None) -> Chain | None:
        self._ask(thread, "read")
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
        self._ask(thread, "read")
        return self.inner.history(thread, ns, before=before, limit=limit, filter=filter)

    def children(self, thread: str, ns: str, checkpoint: str) -> Sequence[Checkpoint]:
        self._ask(thread, "read")
        return self.inner.children(thread, ns, checkpoint)

    def chunks(self, thread: str, digests: Iterable[bytes]) -> Mapping[bytes, bytes]:
        self._ask(thread, "read")
        return self.inner.chunks(thread, digests)

    def namespaces(self, thread: str) -> Sequence[str]:
        self._ask(thread, "read")
        return self.inner.namespaces(thread)

    def threads(self, *, limit: int | None = None, after: str | None = None) -> Sequence[ThreadInfo]:
        if self.principal is None:
            raise _denied(None, "", "read")
        check_limit(limit, "threads")
        found: list[ThreadInfo] = []
        while limit is None or len(found) < limit:
            page = self.inner.threads(limit=None if limit is None else max(limit, _PAGE), after=after)
            found += [info for info in page if self.may(info.thread, "read")]
            if limit is None or len(page) < max(limit, _PAGE):
                break
            after = page[-1].thread
        return found if limit is None else found[:limit]

    def info(self, thread: str) -> ThreadInfo | None:
        self._ask(thread, "read")
        return self.inner.info(thread)

    # Leases. Who has one renews it and gives it up unasked: each commit is asked for anyway.

    def acquire(self, thread: str, owner: str, ttl: float) -> Lease | Busy:
        self._ask(thread, "write")
        return self.inner.acquire(thread, owner, ttl)

    def cancel(self, thread: str) -> bool:
        self._ask(thread, "write")
        return self.inner.cancel(thread)

    def wait(self, thread: str, timeout: float) -> None:
        self._ask(thread, "write")
        self.inner.wait(thread, timeout)

    # Retention.

    def delete_thread(self, thread: str) -> None:
        self._ask(thread, "delete")
        self.inner.delete_thread(thread)

    def copy_thread(self, source: str, target: str) -> None:
        self._ask(source, "read", "fork")
        self._ask(target, "write")
        self.inner.copy_thread(source, target)

    def prune(
        self,
        thread: str | None = None,
        *,
        keep_last: int = 1,
        keep_every: int | None = None,
        older_than: float | None = None,
    ) -> int:
        """As `Journal.prune`; without a thread, of all that may be deleted."""
        if thread is not None:
            self._ask(thread, "delete")
            names = [thread]
        else:
            names = [info.thread for info in self.threads() if self.may(info.thread, "delete")]
        return sum(
            self.inner.prune(name, keep_last=keep_last, keep_every=keep_every, older_than=older_than) for name in names
        )

    # Effects.

    def transact(self, work: Callable[[EffectTx], T], *, durable: bool = True) -> T:
        """As `Journal.transact`. What policies sum up within it is the whole scope's, or a limit would not hold."""
        if self.principal is None:
            raise _denied(None, "", "write")
        return self.inner.transact(lambda tx: work(_GuardedTx(tx, self, reading=False)), durable=durable)

    def read(self, work: Callable[[EffectTx], T]) -> T:
        if self.principal is None:
            raise _denied(None, "", "read")
        return self.inner.read(lambda tx: work(_GuardedTx(tx, self, reading=True)))


class _GuardedTx(EffectTxWrapper):
    """`EffectTx` of one principal."""

    def __init__(self, tx: EffectTx, guard: GuardedJournal, *, reading: bool) -> None:
        super().__init__(tx)
        self._guard = guard
        self._reading = reading

    def _shown(self, operation: Operation) -> bool:
        return not (self._reading and operation.thread) or self._guard.may(operation.thread, "read")

    def operation(self, op_id: str) -> Operation | None:
        found = self._tx.operation(op_id)
        return found if found is not None and self._shown(found) else None

    def events(self, op_id: str) -> Sequence[EffectEvent]:
        if self._reading and self.operation(op_id) is None:
            return ()
        return self._tx.events(op_id)

    def append(self, operation: Operation, events: Sequence[EffectEvent]) -> None:
        if operation.thread and not self._guard.may(operation.thread, "write"):
            raise _denied(self._guard.principal, operation.thread, "write")
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
        most = None if self._reading else limit
        found = super().operations(states=states, tool=tool, thread=thread, labels=labels, since=since, limit=most)
        shown = [operation for operation in found if self._shown(operation)]
        return shown if limit is None else shown[:limit]


def _needed(batch: Batch) -> list[Access]:
    """What a batch does; one that only gives a lease up is anybody's who has it."""
    needed: dict[Access, None] = {}
    for record in batch.records:
        if isinstance(record, PutAnswer):
            needed["answer"] = None
        elif isinstance(record, PutCheckpoint) and record.checkpoint.source == "fork":
            needed["fork"] = None
        else:
            needed["write"] = None
    return list(needed)


def _denied(principal: Principal | None, thread: str, access: Access) -> AccessDenied:
    if principal is None:
        message = (
            "this journal is guarded and nobody acts here: use graph.acting(principal) or journal.acting(principal)"
        )
    else:
        message = f"{principal.id!r} may not {access} thread {thread!r}"
    return AccessDenied(
        message,
        component="journal",
        operation=access,
        details={"principal": "" if principal is None else principal.id, "thread": thread, "access": access},
    )
