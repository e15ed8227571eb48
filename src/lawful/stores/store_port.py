"""`Store`: long-term memory over all threads, as values under a namespace and a key; and the port that back ends implement.

Names and signatures are LangGraph's (``langgraph.store.base``). A back end implements `Store.run` and `Store.close` and
the six calls of `StoreTx` (and the two of `IndexedTx`, if it takes an index); checks, filters, paging, nearness, times and
values are decided once for all of them, here and in `lawful.stores.store_work`.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from typing import Any, Literal, Self, TypeVar, cast

from lawful.core.clock import SYSTEM, Clock
from lawful.stores.store_checks import (
    checked_key,
    checked_namespace,
    checked_scope,
    checked_ttl_config,
    no_index,
)
from lawful.stores.store_index import Index, Vectors
from lawful.stores.store_records import (
    NOT_PROVIDED,
    AnyLabel,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Namespace,
    NotProvided,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)
from lawful.stores.store_tx import IndexedTx, StoreTx
from lawful.stores.store_work import Todo

__all__ = ["IndexedTx", "Pattern", "Store", "StoreTx"]

T = TypeVar("T")
Pattern = tuple[str | AnyLabel, ...]


class Store(ABC):
    """Values that outlive their thread: JSON objects under a namespace (a tuple of labels) and a key.

    Namespaces are compared label by label, never as text or patterns. Reads are copies: changing one changes nothing
    that is stored. ``ttl`` is LangGraph's configuration: ``default_ttl`` (minutes), ``refresh_on_read`` (True where it
    is not given), ``sweep_interval_minutes`` (so often at most, a write also deletes what has expired); expired items
    are never shown, swept or not. ``index`` lets `search` find what is near to a text (`IndexConfig`). ``clock`` gives all
    times. A handle sees the items of its ``scope`` only.

    Every call is one transaction and safe from any thread. Raises, beside what each call names: StoreError and its
    kinds, where a back end fails; nothing is half-written then.
    """

    supports_ttl: bool = True
    supports_index: bool = False
    """Whether its transactions are `IndexedTx`."""
    blocking: bool = False
    """Whether calls wait for I/O: their ``a…`` forms then run in a thread of their own, which a cancellation leaves behind."""

    def __init__(
        self,
        *,
        scope: str = "local",
        ttl: TTLConfig | None = None,
        index: IndexConfig | None = None,
        clock: Clock = SYSTEM,
    ) -> None:
        self._scope = checked_scope(scope)
        if index is not None and not self.supports_index:
            raise no_index("index=")
        self.index_config: IndexConfig | None = None if index is None else index.copy()
        self._index = None if index is None else Index(index)
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
        return cast("Item | None", self.batch([op])[0])

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
        """The items whose namespace begins with these labels and whose value answers to ``filter``.

        With ``query`` those that the index has, the nearest first, each with its ``score``: the cosine of the query and the
        nearest of its texts. Without one (or with a blank one) all, the newest write first.

        ``filter`` maps a field of the value to a scalar that it must equal, or to ``{operator: scalar}`` with the
        operators ``$eq $ne $gt $gte $lt $lte``; all must hold. A field that is missing counts as None; numbers compare
        with numbers and text with text, anything else is never greater or less. Raises: InvalidNamespace,
        InvalidFilter; ConfigurationError for ``query``, if this store has no index; EmbeddingError, and what the embedder
        raises.
        """
        op = SearchOp(namespace_prefix, filter, limit, offset, query, self._refresh(refresh_ttl))
        return cast("list[SearchItem]", self.batch([op])[0])

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
        for ever. ``index`` says what of it the store's index embeds: nothing (False), or paths in the place of those of
        the configuration. Raises: InvalidNamespace; ValidationError with the path of what is not JSON; ConfigurationError,
        if ``index`` names fields and this store has no index; EmbeddingError, and what the embedder raises.
        """
        self.batch([self._put(namespace, key, value, index, ttl)])

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
        return cast("list[Namespace]", self.batch([op])[0])

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Many calls in one transaction: what each gives, None for a put.

        The reads see what stood there before the batch; the puts follow in their order, all or none. A PutOp whose value
        is None deletes. Raises: as the single calls, before anything is done.
        """
        todo = Todo(ops, self._index)
        return self._done(todo, todo.embedded())

    def _done(self, todo: Todo, vectors: Vectors | None) -> list[Result]:
        results = self.run(self._scope, lambda tx: todo.work(tx, vectors), writing=bool(todo.puts))
        if todo.puts:
            self._sweep_in_passing()
        return results

    def _put(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        index: Literal[False] | list[str] | None,
        ttl: float | None | NotProvided,
    ) -> PutOp:
        time = (self.ttl_config or {}).get("default_ttl") if isinstance(ttl, NotProvided) else ttl
        return PutOp(namespace, key, value, index, time)

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
        op = SearchOp(namespace_prefix, filter, limit, offset, query, self._refresh(refresh_ttl))
        return cast("list[SearchItem]", (await self.abatch([op]))[0])

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
        await self.abatch([self._put(namespace, key, value, index, ttl)])

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
        todo = Todo(ops, self._index)
        vectors = await todo.aembedded()
        return await self._off(lambda: self._done(todo, vectors))
