"""What one call of a `Store` does within its transaction, the same for every back end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import nlargest
from itertools import islice
from operator import itemgetter
from typing import TypeAlias, cast

from lawful.stores.store_checks import checked_key, checked_op, decoded, encoded, minutes, no_index
from lawful.stores.store_index import Index, Vector, Vectors, asked, nearness, packed_vectors
from lawful.stores.store_match import accepts, accepts_namespace, cut, literal_start
from lawful.stores.store_records import (
    GetOp,
    Item,
    ListNamespacesOp,
    Namespace,
    Op,
    PutOp,
    Record,
    Result,
    SearchItem,
    SearchOp,
    time_of,
)
from lawful.stores.store_tx import IndexedTx, StoreTx

Scored: TypeAlias = "tuple[Record, float | None]"


class Todo:
    """The operations of a call, checked; what has to be embedded for them is embedded before the transaction begins."""

    __slots__ = ("index", "ops", "puts")

    def __init__(self, ops: Iterable[Op], index: Index | None) -> None:
        self.ops = list(ops)
        self.index = index
        for op in self.ops:
            checked_op(op)
            _check_index(op, index)
        self.puts = [(op, encoded(op.value, op.key)) for op in self.ops if isinstance(op, PutOp)]

    def embedded(self) -> Vectors | None:
        if self.index is None:
            return None
        queries, documents = self.index.needed(self.ops)
        return self.index.embed(queries, documents) if queries or documents else None

    async def aembedded(self) -> Vectors | None:
        if self.index is None:
            return None
        queries, documents = self.index.needed(self.ops)
        return await self.index.aembed(queries, documents) if queries or documents else None

    def work(self, tx: StoreTx, vectors: Vectors | None) -> list[Result]:
        results = [_read(tx, op, vectors) for op in self.ops]
        for op, value in self.puts:
            key = checked_key(op.key)
            if value is None:
                tx.remove(op.namespace, key)
                continue
            tx.write(op.namespace, key, value, minutes(op.ttl))
            texts = self.index.texts(op) if self.index is not None and vectors is not None else ()
            if texts and vectors is not None:
                _indexed(tx).set_vectors(op.namespace, key, packed_vectors([vectors.documents[t] for t in texts]))
        return results


def _check_index(op: Op, index: Index | None) -> None:
    if isinstance(op, PutOp) and op.index:
        if index is None:
            raise no_index("put(index=...)")
        index.texts(op)
    if isinstance(op, SearchOp) and op.query is not None and index is None:
        raise no_index("search(query=...)")


def _indexed(tx: StoreTx) -> IndexedTx:
    if not isinstance(tx, IndexedTx):
        raise no_index("supports_index")
    return tx


def _read(tx: StoreTx, op: Op, vectors: Vectors | None) -> Result:
    if isinstance(op, GetOp):
        return _get(tx, op)
    if isinstance(op, SearchOp):
        query = vectors.queries[cast("str", op.query)] if asked(op.query) and vectors is not None else None
        return _search(tx, op, query)
    return _list(tx, op) if isinstance(op, ListNamespacesOp) else None


def _get(tx: StoreTx, op: GetOp) -> Item | None:
    found = tx.read(op.namespace, checked_key(op.key))
    if found is None:
        return None
    if op.refresh_ttl and found.ttl is not None:
        tx.touch([found])
    return Item(found.namespace, found.key, decoded(found), time_of(found.created), time_of(found.updated))


def _search(tx: StoreTx, op: SearchOp, query: Vector | None) -> list[SearchItem]:
    found = _fitting(tx, op) if query is None else _nearest(_indexed(tx), op, query)
    page = list(islice(found, op.offset, op.offset + op.limit))
    if op.refresh_ttl and (ageing := [row for row, _ in page if row.ttl is not None]):
        tx.touch(ageing)
    return [SearchItem(r.namespace, r.key, decoded(r), time_of(r.created), time_of(r.updated), s) for r, s in page]


def _fitting(tx: StoreTx, op: SearchOp) -> Iterator[Scored]:
    for row in tx.rows(op.namespace_prefix):
        if not op.filter or accepts(op.filter, decoded(row)):
            yield row, None


def _nearest(tx: IndexedTx, op: SearchOp, query: Vector) -> Iterator[Scored]:
    """Of the records that have vectors the nearest first, and of equally near ones what was written last."""
    wanted: dict[tuple[Namespace, str], Record] | None = None
    if op.filter:
        wanted = {(row.namespace, row.key): row for row, _ in _fitting(tx, op)}
    scored = (
        (nearness(query, namespace, key, data), namespace, key)
        for namespace, key, data in tx.vectors(op.namespace_prefix)
        if wanted is None or (namespace, key) in wanted
    )
    for score, namespace, key in nlargest(op.offset + op.limit, scored, key=itemgetter(0)):
        row = tx.read(namespace, key) if wanted is None else wanted[namespace, key]
        if row is not None:
            yield row, score


def _list(tx: StoreTx, op: ListNamespacesOp) -> list[Namespace]:
    conditions = op.match_conditions or ()
    start = max((literal_start(c) for c in conditions), key=len, default=())
    fitting = [ns for ns in tx.namespaces(start) if all(accepts_namespace(c, ns) for c in conditions)]
    return cut(fitting, op.max_depth)[op.offset : op.offset + op.limit]
