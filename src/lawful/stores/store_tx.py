"""The port beneath a `Store`: what a back end offers within one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

from lawful.stores.store_records import Namespace, Record


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


@runtime_checkable
class IndexedTx(StoreTx, Protocol):
    """What a back end offers besides where `Store.supports_index` is true: vectors, beside the records that they tell of.

    They are gone when their record is: removed, expired, or written again.
    """

    def set_vectors(self, namespace: Namespace, key: str, data: bytes) -> None:
        """Keep these beside the record that this transaction has just written."""
        ...

    def vectors(self, prefix: Namespace) -> Iterator[tuple[Namespace, str, bytes]]:
        """Place and vectors of each record that `rows` gives and that has some, in the same order."""
        ...
