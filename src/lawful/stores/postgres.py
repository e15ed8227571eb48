"""`PostgresJournal`: the journal in a PostgreSQL database, for any number of machines; extra ``postgres``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar
from urllib.parse import quote

from lawful.core.clock import Clock
from lawful.core.errors import ConfigurationError, StoreError
from lawful.journal.checks import (
    check_batch,
    check_before,
    check_filter,
    check_limit,
    check_retention,
    check_text,
    refuse,
)
from lawful.journal.ids import thread_key
from lawful.journal.port import EffectTx
from lawful.journal.records import Batch, Busy, Chain, Checkpoint, Lease, ThreadInfo
from lawful.stores import postgres_leases, postgres_read, postgres_retention
from lawful.stores.postgres_effects import PostgresEffectTx
from lawful.stores.postgres_link import Link, Server
from lawful.stores.postgres_pool import Pool
from lawful.stores.postgres_rekeying import DIALECT, fetched, rewritten
from lawful.stores.postgres_schema import check_schema, grants, setup

__all__ = ["PostgresJournal", "grants", "setup"]

T = TypeVar("T")


class PostgresJournal:
    """A journal in the tables that `setup` made, for any number of threads, processes and machines.

    Works behind a pooler that hands out a connection for each transaction: it leaves nothing in a session, and prepares no
    statements on the server unless ``prepare`` says so. ``writers`` is how many commits of this process may be under way;
    one thread's always go through the same, and what waits for it is written together. Up to ``readers`` more connections
    do all else; all are made when they are needed and made anew when they were lost. ``busy_timeout`` is how many seconds
    to wait for another's lock, or for a connection, before StoreLocked.

    Leases and effect records go by the database's clock, unless ``clock`` is given. A lease whose holder died is free when
    its time is up, not before. With ``power_safe=False`` a checkpoint's commit does not wait for the server's disk: the
    crash of a server may then lose its last moments (never halves of them); what asks to be durable waits even so, as
    effects always do. ``schema`` is where the tables are. A fork is safe: the child makes connections of its own.

    ``beside`` is a folder on this machine that outlives the process: outcomes of effects that the database would not take
    are kept there, and the newest claim, by which an older copy of the database is noticed.

    Raises: ConfigurationError, NewerSchema, StoreError.
    """

    _before_setup: ClassVar = False
    """Whether one may be made where the tables are not there yet: for names that have `setup` as a method."""

    def __init__(
        self,
        url: str,
        *,
        schema: str = "lawful",
        scope: str = "local",
        writers: int = 4,
        readers: int = 4,
        power_safe: bool = True,
        busy_timeout: float = 5.0,
        prepare: bool = False,
        clock: Clock | None = None,
        beside: str | os.PathLike[str] | None = None,
    ) -> None:
        for name, number in (("writers", writers), ("readers", readers)):
            if number < 1:
                raise ConfigurationError(
                    f"{name} must be at least 1, but is {number}", component="journal", operation="open"
                )
        server = Server(url, check_schema(schema), busy_timeout=busy_timeout, prepare=prepare, safe=power_safe)
        scope = _check_scope(scope)
        start = os.path.join(beside, f"{quote(server.database, safe='')}-{schema}") if beside is not None else None
        pool = Pool(server, writers=writers, readers=readers, clock=clock, before_setup=self._before_setup)
        self._open(scope, pool, {}, start)
        if beside is not None:
            _made(beside)

    def _open(self, scope: str, store: Pool, handles: dict[str, PostgresJournal], beside: str | None) -> None:
        self._scope = scope
        self._beside = beside
        self._store = store
        self._handles = handles
        handles[scope] = self

    @property
    def place(self) -> str:
        """The server, database and schema, for people; without user and password."""
        return self._store.server.place

    @property
    def beside(self) -> str | None:
        """What the names of this machine's files begin with; None where no folder was given for them."""
        return self._beside

    @property
    def identity(self) -> str:
        """What tells the database from a copy of it, as the newest connection has seen it."""
        return self._store.server.identity

    @property
    def sessions(self) -> int:
        """How many connections have been made."""
        return self._store.server.sessions

    @property
    def scope(self) -> str:
        return self._scope

    @property
    def blocking(self) -> bool:
        return True

    @property
    def writers(self) -> int:
        return self._store.writers

    def scoped(self, scope: str) -> PostgresJournal:
        handle = self._handles.get(scope)
        if handle is None:
            handle = PostgresJournal.__new__(PostgresJournal)
            handle._open(_check_scope(scope), self._store, self._handles, self._beside)
        return handle

    # Threads.

    def commit(self, batch: Batch) -> None:
        check_batch(batch)
        self._store.commit(self._scope, batch)

    def submit(self, batch: Batch, done: Callable[[BaseException | None], None]) -> None:
        check_batch(batch)
        self._store.submit(self._scope, batch, done)

    def chain(self, thread: str, ns: str = "", checkpoint: str | None = None) -> Chain | None:
        with self._store.reading() as (link, _):
            return postgres_read.chain(link, self._scope, thread, ns, checkpoint)

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
        return postgres_read.history(self._store, self._scope, thread, ns, before, limit, wanted)

    def children(self, thread: str, ns: str, checkpoint: str) -> Sequence[Checkpoint]:
        return postgres_read.children(self._store, self._scope, thread, ns, checkpoint)

    def chunks(self, thread: str, digests: Iterable[bytes]) -> Mapping[bytes, bytes]:
        return postgres_read.chunks(self._store, self._scope, thread, list(digests))

    def namespaces(self, thread: str) -> Sequence[str]:
        return postgres_read.namespaces(self._store, self._scope, thread)

    def threads(self, *, limit: int | None = None, after: str | None = None) -> Sequence[ThreadInfo]:
        check_limit(limit, "threads")
        if after is not None:
            check_text(after, "after")
        return postgres_read.threads(self._store, self._scope, limit, after)

    def info(self, thread: str) -> ThreadInfo | None:
        return postgres_read.info(self._store, self._scope, thread)

    # Leases.

    def acquire(self, thread: str, owner: str, ttl: float) -> Lease | Busy:
        thread_key(thread)
        check_text(owner, "owner")
        return postgres_leases.acquire(self._store, self._scope, thread, owner, ttl)

    def renew(self, lease: Lease, ttl: float) -> Lease:
        return postgres_leases.renew(self._store, self._scope, lease, ttl)

    def release(self, lease: Lease) -> None:
        postgres_leases.release(self._store, self._scope, lease)

    def cancel(self, thread: str) -> bool:
        return postgres_leases.cancel(self._store, self._scope, thread)

    def cancelled(self, lease: Lease) -> bool:
        return postgres_leases.cancelled(self._store, self._scope, lease)

    def wait(self, thread: str, timeout: float) -> None:
        postgres_leases.wait(self._store, self._scope, thread, timeout)

    # Retention.

    def delete_thread(self, thread: str) -> None:
        with self._store.writing((self._scope, thread)) as (link, _):
            postgres_retention.delete_thread(link, self._scope, thread)

    def copy_thread(self, source: str, target: str) -> None:
        thread_key(target)
        with self._store.writing((self._scope, source), (self._scope, target)) as (link, now):
            postgres_retention.copy_thread(link, self._scope, source, target, now)

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
            with self._store.writing((self._scope, name)) as (link, now):
                count += postgres_retention.prune(
                    link,
                    self._scope,
                    name,
                    now=now,
                    keep_last=keep_last,
                    keep_every=keep_every,
                    older_than=older_than,
                )
        return count

    # Effects.

    def transact(self, work: Callable[[EffectTx], T], *, durable: bool = True) -> T:
        def run(link: Link, now: float) -> T:
            return work(PostgresEffectTx(link, self._scope, now, writable=True))

        return self._store.transact(run, durable=durable)

    def read(self, work: Callable[[EffectTx], T]) -> T:
        with self._store.reading() as (link, now), self._store.inside():
            return work(PostgresEffectTx(link, self._scope, now, writable=False))

    # Sealed bytes.

    dialect = DIALECT

    def fetch_raw(self, statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """As `lawful.stores.rekeying.Rewritable`; for that alone."""
        with self._store.reading() as (link, _):
            return fetched(link, statement, values)

    def rewrite_raw(self, table: str, changes: Sequence[tuple[str, Sequence[Any]]]) -> int:
        """As `lawful.stores.rekeying.Rewritable`; for that alone."""
        with self._store.locking(()) as (link, _):
            return rewritten(link, table, changes)

    def close(self) -> None:
        self._store.close()


def _made(folder: str | os.PathLike[str]) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"beside={os.fspath(folder)!r} cannot be used: {error.strerror or error}",
            component="journal",
            operation="open",
        ) from error


def _check_scope(scope: str) -> str:
    if len(check_text(scope, "scope")) > 255:
        raise refuse(f"a scope has at most 255 characters, this one has {len(scope)}", "scope")
    return scope
