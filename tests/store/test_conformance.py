"""Every store keeps every promise of the port, one of a third party's making too."""

from __future__ import annotations

import itertools
import json
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from lawful.core.clock import Clock
from lawful.core.errors import StoreError
from lawful.stores.memory_store import MemoryStore
from lawful.stores.sqlite_store import SQLiteStore
from lawful.stores.store_port import Store, StoreTx
from lawful.stores.store_records import IndexConfig, Namespace, Record, TTLConfig, expiry
from lawful.testing.conformance_store import StoreConformance

pytestmark = pytest.mark.unit

T = TypeVar("T")


class TestMemoryStore(StoreConformance):
    """Rules: 209. Rows: S1-K12."""

    def make_store(self, clock: Clock, ttl: TTLConfig | None) -> Store:
        return MemoryStore(clock=clock, ttl=ttl)

    def make_indexed(self, clock: Clock, ttl: TTLConfig | None, index: IndexConfig) -> Store:
        return MemoryStore(clock=clock, ttl=ttl, index=index)


class TestSQLiteInMemory(StoreConformance):
    """Rows: S1-K12."""

    def make_store(self, clock: Clock, ttl: TTLConfig | None) -> Store:
        return SQLiteStore(":memory:", clock=clock, ttl=ttl)

    def make_indexed(self, clock: Clock, ttl: TTLConfig | None, index: IndexConfig) -> Store:
        return SQLiteStore(":memory:", clock=clock, ttl=ttl, index=index)


class TestSQLiteFile(StoreConformance):
    """Rules: 209. Rows: S1-K12."""

    @pytest.fixture(autouse=True)
    def _folder(self) -> Iterator[None]:
        with tempfile.TemporaryDirectory() as folder:
            TestSQLiteFile.folder = Path(folder)
            TestSQLiteFile.names = itertools.count()
            yield

    folder: Path
    names: Iterator[int]

    def make_store(self, clock: Clock, ttl: TTLConfig | None) -> Store:
        return SQLiteStore(self.folder / f"{next(self.names)}.db", clock=clock, ttl=ttl)

    def make_indexed(self, clock: Clock, ttl: TTLConfig | None, index: IndexConfig) -> Store:
        return SQLiteStore(self.folder / f"{next(self.names)}.db", clock=clock, ttl=ttl, index=index)


class TextStore(Store):
    """A third party's: each scope is one JSON text, read and written whole."""

    def __init__(self, *, clock: Clock, ttl: TTLConfig | None) -> None:
        super().__init__(clock=clock, ttl=ttl)
        self.texts: dict[str, str] = {}
        self.lock = threading.Lock()
        self.open = [True]

    def run(self, scope: str, work: Callable[[StoreTx], T], *, writing: bool) -> T:
        with self.lock:
            if not self.open[0]:
                raise StoreError("this store is closed")
            tx = _TextTx(self._read(scope), self.clock.now())
            done = work(tx)
            self._write(scope, [*tx.expired, *tx.kept])
            return done

    def sweep_ttl(self) -> int:
        with self.lock:
            txs = {scope: _TextTx(self._read(scope), self.clock.now()) for scope in self.texts}
            for scope, tx in txs.items():
                self._write(scope, tx.kept)
            return sum(len(tx.expired) for tx in txs.values())

    def _read(self, scope: str) -> list[Record]:
        return [_record(row) for row in json.loads(self.texts.get(scope, "[]"))]

    def _write(self, scope: str, records: list[Record]) -> None:
        self.texts[scope] = json.dumps([[*row[:2], row[2].decode(), *row[3:]] for row in map(_row, records)])

    def close(self) -> None:
        self.open[0] = False


def _row(record: Record) -> tuple[Any, ...]:
    r = record
    return r.namespace, r.key, r.value, r.created, r.updated, r.ttl, r.expires


def _record(row: list[Any]) -> Record:
    return Record(tuple(row[0]), row[1], row[2].encode(), *row[3:])


class _TextTx:
    def __init__(self, records: list[Record], now: float) -> None:
        self.kept = [record for record in records if record.expires is None or record.expires > now]
        self.expired = [record for record in records if record not in self.kept]
        self.now = now

    def read(self, namespace: Namespace, key: str) -> Record | None:
        return next((r for r in self.kept if (r.namespace, r.key) == (namespace, key)), None)

    def rows(self, prefix: Namespace) -> Iterator[Record]:
        return (r for r in self.kept[::-1] if r.namespace[: len(prefix)] == prefix)

    def namespaces(self, prefix: Namespace) -> Iterator[Namespace]:
        return iter(sorted({record.namespace for record in self.rows(prefix)}))

    def write(self, namespace: Namespace, key: str, value: bytes, ttl: float | None) -> None:
        old = self.read(namespace, key)
        self.remove(namespace, key)
        created = self.now if old is None else old.created
        self.kept.append(Record(namespace, key, value, created, self.now, ttl, expiry(self.now, ttl)))

    def remove(self, namespace: Namespace, key: str) -> None:
        self.kept = [r for r in self.kept if (r.namespace, r.key) != (namespace, key)]
        self.expired = [r for r in self.expired if (r.namespace, r.key) != (namespace, key)]

    def touch(self, found: Sequence[Record]) -> None:
        places = {(r.namespace, r.key) for r in found}
        self.kept = [
            replace(r, expires=expiry(self.now, r.ttl)) if (r.namespace, r.key) in places else r for r in self.kept
        ]


class TestThirdParty(StoreConformance):
    """Rows: S1-K12, S1-017."""

    def make_store(self, clock: Clock, ttl: TTLConfig | None) -> Store:
        return TextStore(clock=clock, ttl=ttl)
