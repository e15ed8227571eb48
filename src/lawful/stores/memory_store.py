"""`MemoryStore`: the store in memory, under one lock; the reference that other stores are held against."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from msgspec.structs import replace

from lawful.core.clock import SYSTEM, Clock
from lawful.stores.store_checks import closed
from lawful.stores.store_port import Store, StoreTx
from lawful.stores.store_records import IndexConfig, Namespace, Record, TTLConfig, expiry

T = TypeVar("T")
_Rows = dict[tuple[Namespace, str], Record]
"""In the order in which they were last written."""
_Vectors = dict[tuple[Namespace, str], bytes]


class _Shared:
    """What the handles of all scopes share."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.scopes: dict[str, _Rows] = {}
        self.vectors: dict[str, _Vectors] = {}
        self.closed = False


class MemoryStore(Store):
    """A store that lasts as long as the process. Safe from any thread; a forked child has a copy."""

    supports_index = True

    def __init__(
        self,
        *,
        scope: str = "local",
        ttl: TTLConfig | None = None,
        index: IndexConfig | None = None,
        clock: Clock = SYSTEM,
    ) -> None:
        super().__init__(scope=scope, ttl=ttl, index=index, clock=clock)
        self._shared = _Shared()

    def run(self, scope: str, work: Callable[[StoreTx], T], *, writing: bool) -> T:
        shared = self._shared
        with shared.lock:
            if shared.closed:
                raise closed()
            tx = _Tx(shared.scopes.setdefault(scope, {}), shared.vectors.setdefault(scope, {}), self.clock.now())
            done = work(tx)
            tx.commit()
            return done

    def sweep_ttl(self) -> int:
        gone = 0
        with self._shared.lock:
            if self._shared.closed:
                raise closed()
            now = self.clock.now()
            for scope, rows in self._shared.scopes.items():
                for place in [place for place, row in rows.items() if not _lives(row, now)]:
                    del rows[place]
                    self._shared.vectors[scope].pop(place, None)
                    gone += 1
        return gone

    def close(self) -> None:
        with self._shared.lock:
            self._shared.closed = True
            self._shared.scopes.clear()
            self._shared.vectors.clear()


class _Tx:
    """Keeps its changes back until `commit`, so that nothing stays of a transaction that raises."""

    def __init__(self, rows: _Rows, vectors: _Vectors, now: float) -> None:
        self._rows = rows
        self._vectors = vectors
        self._now = now
        self._changes: list[Callable[[], None]] = []

    def commit(self) -> None:
        for change in self._changes:
            change()

    def read(self, namespace: Namespace, key: str) -> Record | None:
        row = self._rows.get((namespace, key))
        return row if row is not None and _lives(row, self._now) else None

    def rows(self, prefix: Namespace) -> Iterator[Record]:
        length = len(prefix)
        for row in reversed(self._rows.values()):
            if row.namespace[:length] == prefix and _lives(row, self._now):
                yield row

    def namespaces(self, prefix: Namespace) -> Iterator[Namespace]:
        return iter(sorted({row.namespace for row in self.rows(prefix)}))

    def write(self, namespace: Namespace, key: str, value: bytes, ttl: float | None) -> None:
        def change() -> None:
            now, old = self._now, self.read(namespace, key)
            created = now if old is None else old.created
            # Taken out first: what was written last stands last.
            self._rows.pop((namespace, key), None)
            self._vectors.pop((namespace, key), None)
            self._rows[namespace, key] = Record(namespace, key, value, created, now, ttl, expiry(now, ttl))

        self._changes.append(change)

    def remove(self, namespace: Namespace, key: str) -> None:
        def change() -> None:
            self._rows.pop((namespace, key), None)
            self._vectors.pop((namespace, key), None)

        self._changes.append(change)

    def touch(self, found: Sequence[Record]) -> None:
        def change() -> None:
            for row in found:
                self._rows[row.namespace, row.key] = replace(row, expires=expiry(self._now, row.ttl))

        self._changes.append(change)

    def set_vectors(self, namespace: Namespace, key: str, data: bytes) -> None:
        def change() -> None:
            self._vectors[namespace, key] = data

        self._changes.append(change)

    def vectors(self, prefix: Namespace) -> Iterator[tuple[Namespace, str, bytes]]:
        for row in self.rows(prefix):
            data = self._vectors.get((row.namespace, row.key))
            if data is not None:
                yield row.namespace, row.key, data


def _lives(row: Record, now: float) -> bool:
    return row.expires is None or row.expires > now
