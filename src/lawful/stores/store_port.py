"""`Store`: long-term memory over all threads, as values under a namespace and a key; and the port that back ends implement.

Names and signatures are LangGraph's (``langgraph.store.base``). A back end implements `Store.run` and `Store.close` and
the six calls of `StoreTx`; checks, filters, paging, times and values are decided here, once for all of them.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import islice
from typing import Any, Literal, Protocol, Self, TypeVar

from lawful.core.clock import SYSTEM, Clock
from lawful.stores.store_checks import (
    checked_key,
    checked_namespace,
    checked_op,
    checked_scope,
    checked_ttl_config,
    decoded,
    encoded,
    minutes,
)
from lawful.stores.store_match import accepts, accepts_namespace, cut, literal_start
from lawful.stores.store_records import (
    NOT_PROVIDED,
    AnyLabel,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Namespace,
    NotProvided,
    Op,
    PutOp,
    Record,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    time_of,
)

T = TypeVar("T")
Pattern = tuple[str | AnyLabel, ...]


class StoreTx(Protocol):
    """What a back end offers within one transaction; all arguments are checked already.

    A record whose ``expires`` is not after the transaction's own time is not there, for every call but `write`.
    """

    def read(self, namespace: Namespace, key: str) -> Record | None:
        """The record under this key."""
        ...

    def rows(self, prefix: Namespace) -> Iterator[Record]:
        """Every record whose namespace begins with the labels of ``prefix``, the one written last first."""
        ...

    def namespaces(self, prefix: Namespace) -> Iterator[Namespace]:
        """Each namespace with a record that begins with the labels of ``prefix``, once, in the order of tuples."""
        ...

    def write(self, namespace: Namespace, key: str, value: bytes, ttl: float | None) -> None:
        """Keep ``value`` from now on, ``ttl`` minutes long; a record that is there keeps its ``created``."""
        ...

    def remove(self, namespace: Namespace, key: str) -> None:
        """Forget the record, if it is there."""
        ...

    def touch(self, found: Sequence[Record]) -> None:
        """Let the time to live of these records, which this transaction has read, begin anew; others are left out."""
        ...


class Store(ABC):
    """Values that outlive their thread: JSON objects under a namespace (a tuple of labels) and a key.

    Namespaces are compared label by label, never as text or patterns. Reads are copies: changing one changes nothing
    that is stored. ``ttl`` is LangGraph's configuration: ``default_ttl`` (minutes), ``refresh_on_read`` (True where it
    is not given), ``sweep_interval_minutes`` (so often at most, a write also deletes what has expired); expired items
    are never shown, swept or not. ``clock`` gives all times. A handle sees the items of its ``scope`` only.

    Every call is one transaction and safe from any thread. Raises, beside what each call names: StoreError and its
    kinds, where a back end fails; nothing is half-written then.
    """

    supports_ttl: bool = True
    blocking: bool = False
    """Whether calls wait for I/O: their ``a…`` forms then run in a thread of their own, which a cancellation leaves behind."""

    def __init__(self, *, scope: str = "local", ttl: TTLConfig | None = None, clock: Clock = SYSTEM) -> None:
        self._scope = checked_scope(scope)
        self.ttl_config: TTLConfig | None = checked_ttl_config(ttl)
        self.clock = clock
        self._swept = [clock.now()]

    @abstractmethod
    def run(self, scope: str, work: Callable[[StoreTx], T], *, writing: bool) -> T:
        """What ``work`` makes of one transaction on the items of ``scope``: all of it is kept, or none where it raises.

        Without ``writing``, ``work`` only reads and touches.
        """

    @abstractmethod
    def sweep_ttl(self) -> int:
        """Delete what has expired, in every scope; gives how many items that were."""

    @abstractmethod
    def close(self) -> None:
        """Give up what the handles of all scopes share. Calls after that raise StoreError; closing twice is no error."""

    @property
    def scope(self) -> str:
        """The owner of the items that this handle sees."""
        return self._scope

    def scoped(self, scope: str) -> Self:
        """A handle on the items of another owner, in the same store."""
        handle = copy(self)
        handle._scope = checked_scope(scope)
        return handle

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # One call each.

    def get(self, namespace: Namespace, key: str, *, refresh_ttl: bool | None = None) -> Item | None:
        """The item under ``key``, or None.

        ``refresh_ttl``: whether its time to live begins anew (None: as configured). Raises: InvalidNamespace.
        """
        op = GetOp(checked_namespace(namespace), checked_key(key), self._refresh(refresh_ttl))
        return self.run(self._scope, lambda tx: _get(tx, op), writing=False)

    def search(
        self,
        namespace_prefix: Namespace,
        /,
        *,
        query: str | None = None,
        filter: Mapping[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> list[SearchItem]:
        """The items whose namespace begins with these labels and whose value answers to ``filter``, newest write first.

        ``filter`` maps a field of the value to a scalar that it must equal, or to ``{operator: scalar}`` with the
        operators ``$eq $ne $gt $gte $lt $lte``; all must hold. A field that is missing counts as None; numbers compare
        with numbers and text with text, anything else is never greater or less. Raises: InvalidNamespace,
        InvalidFilter; ConfigurationError for ``query``, since this store has no index.
        """
        op = SearchOp(namespace_prefix, filter, limit, offset, query, self._refresh(refresh_ttl))
        checked_op(op)
        return self.run(self._scope, lambda tx: _search(tx, op), writing=False)

    def put(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        index: Literal[False] | list[str] | None = None,
        *,
        ttl: float | None | NotProvided = NOT_PROVIDED,
    ) -> None:
        """Keep ``value`` under ``key``, in the place of what was there.

        ``value`` is a JSON object: None, bool, int, float, str, list and dict with str keys. ``ttl`` in minutes; None is
        for ever. Raises: InvalidNamespace; ValidationError with the path of what is not JSON; ConfigurationError, if
        ``index`` names fields, since this store has no index.
        """
        time = (self.ttl_config or {}).get("default_ttl") if isinstance(ttl, NotProvided) else ttl
        self.batch([PutOp(namespace, key, value, index, time)])

    def delete(self, namespace: Namespace, key: str) -> None:
        """Forget the item under ``key``, if there is one. Raises: InvalidNamespace."""
        self.batch([PutOp(namespace, key, None)])

    def list_namespaces(
        self,
        *,
        prefix: Pattern | None = None,
        suffix: Pattern | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Namespace]:
        """The namespaces that hold items, in the order of tuples, cut to ``max_depth`` labels.

        In ``prefix`` and ``suffix``, `ANY` stands for any one label. Raises: InvalidNamespace.
        """
        conditions = [MatchCondition("prefix", prefix)] if prefix else []
        conditions += [MatchCondition("suffix", suffix)] if suffix else []
        op = ListNamespacesOp(tuple(conditions), max_depth, limit, offset)
        checked_op(op)
        return self.run(self._scope, lambda tx: _list(tx, op), writing=False)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Many calls in one transaction: what each gives, None for a put.

        The reads see what stood there before the batch; the puts follow in their order, all or none. A PutOp whose value
        is None deletes. Raises: as the single calls, before anything is done.
        """
        wanted = list(ops)
        for op in wanted:
            checked_op(op)
        puts = [(op, encoded(op.value, op.key)) for op in wanted if isinstance(op, PutOp)]

        def work(tx: StoreTx) -> list[Result]:
            results = [_read(tx, op) for op in wanted]
            for op, value in puts:
                if value is None:
                    tx.remove(op.namespace, checked_key(op.key))
                else:
                    tx.write(op.namespace, checked_key(op.key), value, minutes(op.ttl))
            return results

        results = self.run(self._scope, work, writing=bool(puts))
        if puts:
            self._sweep_in_passing()
        return results

    def _refresh(self, wanted: bool | None) -> bool:
        return bool((self.ttl_config or {}).get("refresh_on_read", True)) if wanted is None else wanted

    def _sweep_in_passing(self) -> None:
        interval = (self.ttl_config or {}).get("sweep_interval_minutes")
        now = self.clock.now()
        if interval is not None and now - self._swept[0] >= interval * 60:
            self._swept[0] = now
            self.sweep_ttl()

    # The same, for asyncio.

    async def _off(self, call: Callable[[], T]) -> T:
        return await asyncio.to_thread(call) if self.blocking else call()

    async def aget(self, namespace: Namespace, key: str, *, refresh_ttl: bool | None = None) -> Item | None:
        """As `get`."""
        return await self._off(lambda: self.get(namespace, key, refresh_ttl=refresh_ttl))

    async def asearch(
        self,
        namespace_prefix: Namespace,
        /,
        *,
        query: str | None = None,
        filter: Mapping[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh_ttl: bool | None = None,
    ) -> list[SearchItem]:
        """As `search`."""
        return await self._off(
            lambda: self.search(
                namespace_prefix, query=query, filter=filter, limit=limit, offset=offset, refresh_ttl=refresh_ttl
            )
        )

    async def aput(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        index: Literal[False] | list[str] | None = None,
        *,
        ttl: float | None | NotProvided = NOT_PROVIDED,
    ) -> None:
        """As `put`."""
        await self._off(lambda: self.put(namespace, key, value, index, ttl=ttl))

    async def adelete(self, namespace: Namespace, key: str) -> None:
        """As `delete`."""
        await self._off(lambda: self.delete(namespace, key))

    async def alist_namespaces(
        self,
        *,
        prefix: Pattern | None = None,
        suffix: Pattern | None = None,
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Namespace]:
        """As `list_namespaces`."""
        return await self._off(
            lambda: self.list_namespaces(prefix=prefix, suffix=suffix, max_depth=max_depth, limit=limit, offset=offset)
        )

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`."""
        wanted = list(ops)
        return await self._off(lambda: self.batch(wanted))


def _read(tx: StoreTx, op: Op) -> Result:
    if isinstance(op, GetOp):
        return _get(tx, op)
    if isinstance(op, SearchOp):
        return _search(tx, op)
    return _list(tx, op) if isinstance(op, ListNamespacesOp) else None


def _get(tx: StoreTx, op: GetOp) -> Item | None:
    found = tx.read(op.namespace, checked_key(op.key))
    if found is None:
        return None
    if op.refresh_ttl and found.ttl is not None:
        tx.touch([found])
    return Item(found.namespace, found.key, decoded(found), time_of(found.created), time_of(found.updated))


def _search(tx: StoreTx, op: SearchOp) -> list[SearchItem]:
    fitting = (row for row in tx.rows(op.namespace_prefix) if not op.filter or accepts(op.filter, decoded(row)))
    page = list(islice(fitting, op.offset, op.offset + op.limit))
    if op.refresh_ttl and (ageing := [row for row in page if row.ttl is not None]):
        tx.touch(ageing)
    return [SearchItem(r.namespace, r.key, decoded(r), time_of(r.created), time_of(r.updated)) for r in page]


def _list(tx: StoreTx, op: ListNamespacesOp) -> list[Namespace]:
    conditions = op.match_conditions or ()
    start = max((literal_start(c) for c in conditions), key=len, default=())
    fitting = [ns for ns in tx.namespaces(start) if all(accepts_namespace(c, ns) for c in conditions)]
    return cut(fitting, op.max_depth)[op.offset : op.offset + op.limit]
