"""`SQLiteStore`: the store in one SQLite file, with nothing but the standard library."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar
from weakref import WeakSet
from zlib import crc32

from lawful.core.clock import SYSTEM, Clock
from lawful.core.errors import StoreError
from lawful.stores.sqlite_errors import translating
from lawful.stores.sqlite_rekeying import DIALECT, rewritten
from lawful.stores.sqlite_store_schema import after, packed, prepare, stored_version, unpacked
from lawful.stores.store_checks import closed, corrupt
from lawful.stores.store_port import Store, StoreTx
from lawful.stores.store_records import IndexConfig, Namespace, Record, TTLConfig, expiry

T = TypeVar("T")

_SPARE = 4
"""So many connections for reading are kept open while nobody reads."""
_FIELDS = "ns, key, value, crc, created, updated, ttl, expires"
_LIVE = "(expires IS NULL OR expires > ?)"


class SQLiteStore(Store):
    """A store in a file (WAL mode), for any number of threads and processes of one machine.

    A put outlives the process once it returns. ``busy_timeout`` is how many seconds to wait for another process's lock
    before StoreLocked. The file is the store's own: a journal's is refused. ":memory:" keeps everything in memory.
    A fork is safe: parent and child both open the file anew. Raises: NewerSchema, CorruptRecord, StoreError.
    """

    blocking = True
    supports_index = True

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        scope: str = "local",
        ttl: TTLConfig | None = None,
        index: IndexConfig | None = None,
        busy_timeout: float = 5.0,
        clock: Clock = SYSTEM,
    ) -> None:
        super().__init__(scope=scope, ttl=ttl, index=index, clock=clock)
        name = os.fspath(path)
        self._file = _File(name if name in (":memory:", "") else os.path.abspath(name), busy_timeout)

    @property
    def path(self) -> str:
        """The file."""
        return self._file.path

    def run(self, scope: str, work: Callable[[StoreTx], T], *, writing: bool) -> T:
        if not writing:
            with self._file.reading() as con:
                tx = _Tx(con, scope, self.clock.now())
                done = work(tx)
            if not tx.touched:
                return done
            with self._file.writing() as con:
                tx.moved_to(con).settle()
            return done
        with self._file.writing() as con:
            tx = _Tx(con, scope, self.clock.now())
            done = work(tx)
            tx.settle()
            return done

    def sweep_ttl(self) -> int:
        with self._file.writing() as con:
            return con.execute("DELETE FROM item WHERE expires <= ?", (self.clock.now(),)).rowcount

    # Sealed bytes.

    dialect = DIALECT

    def fetch_raw(self, statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """As `lawful.stores.rekeying.Rewritable`; for that alone."""
        with self._file.reading() as con:
            return con.execute(statement.replace("@", ""), values).fetchall()

    def rewrite_raw(self, table: str, changes: Sequence[tuple[str, Sequence[Any]]]) -> int:
        """As `lawful.stores.rekeying.Rewritable`; for that alone."""
        with self._file.writing() as con:
            return rewritten(con, table, changes)

    def close(self) -> None:
        self._file.close()


class _File:
    """The connections to one file, shared by the handles of all scopes: one that writes, and those that read."""

    def __init__(self, path: str, busy_timeout: float) -> None:
        self.path = path
        self._busy_timeout = busy_timeout
        self._private = path in (":memory:", "")
        self._closed = False
        self._abandoned: list[sqlite3.Connection] = []
        self._renew()
        with self._gate, translating(path, "open", "store"):
            self._writer = self._open()
            self._identity = self._seen()
        _files.add(self)

    def _renew(self) -> None:
        self._gate = threading.Lock()
        self._writer: sqlite3.Connection | None = None
        self._idle: list[sqlite3.Connection] = []

    def forked(self) -> None:
        """In a forked child: leave the parent's connections alone, unclosed, since closing would drop the parent's locks."""
        if self._private:
            self._gate = threading.Lock()
            return
        self._abandoned += self._idle if self._writer is None else [self._writer, *self._idle]
        self._renew()

    def _open(self) -> sqlite3.Connection:
        con = sqlite3.connect(
            self.path, timeout=self._busy_timeout, isolation_level=None, check_same_thread=False, cached_statements=64
        )
        try:
            prepare(con, self.path, self._busy_timeout)
        except BaseException:
            con.close()
            raise
        return con

    def _seen(self) -> tuple[int, int] | None:
        """What tells the file from any other that may come to lie at its path."""
        if self._private:
            return None
        try:
            told = os.stat(self.path)
        except OSError:
            return None
        return told.st_dev, told.st_ino

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """A write transaction, one at a time; whatever is raised within rolls it back."""
        with self._gate, translating(self.path, "write", "store"):
            self._check()
            if self._writer is None:
                self._writer = self._open()
            con = self._writer
            try:
                con.execute("BEGIN IMMEDIATE")
                stored_version(con, self.path)
                yield con
                con.execute("COMMIT")
            except BaseException:
                if con.in_transaction:
                    con.execute("ROLLBACK")
                raise

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """A consistent view; beside a writer, but for a database without a file."""
        if self._private:
            with self._gate, translating(self.path, "read", "store"):
                if self._closed or self._writer is None:
                    raise closed()
                yield self._writer
            return
        with translating(self.path, "read", "store"):
            with self._gate:
                self._check()
                con = self._idle.pop() if self._idle else None
            con = con or self._open()
            try:
                con.execute("BEGIN")
                stored_version(con, self.path)
                yield con
            finally:
                self._give_back(con)

    def _check(self) -> None:
        """Refuse to go on with a file that its path no longer names: what is written there nobody could read again."""
        if self._closed:
            raise closed()
        if self._identity != self._seen():
            raise StoreError(
                f"{self.path} was removed or replaced while this store had it open",
                component="store",
                operation="open",
                details={"path": self.path},
            )

    def _give_back(self, con: sqlite3.Connection) -> None:
        if con.in_transaction:
            con.execute("ROLLBACK")
        with self._gate:
            if not self._closed and len(self._idle) < _SPARE:
                self._idle.append(con)
                return
        con.close()

    def close(self) -> None:
        with self._gate:
            self._closed = True
            for con in (*self._idle, *([self._writer] if self._writer is not None else [])):
                con.close()
            self._idle.clear()
            self._writer = None


_files: WeakSet[_File] = WeakSet()


def _after_fork() -> None:
    for file in list(_files):
        file.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class _Tx:
    def __init__(self, con: sqlite3.Connection, scope: str, now: float) -> None:
        self._con = con
        self._scope = scope
        self._now = now
        self.touched: list[Record] = []

    def moved_to(self, con: sqlite3.Connection) -> _Tx:
        """The same, in another transaction."""
        self._con = con
        return self

    def read(self, namespace: Namespace, key: str) -> Record | None:
        row = self._con.execute(
            f"SELECT {_FIELDS} FROM item WHERE scope=? AND ns=? AND key=? AND {_LIVE}",
            (self._scope, packed(namespace), key, self._now),
        ).fetchone()
        return None if row is None else _record(row)

    def rows(self, prefix: Namespace) -> Iterator[Record]:
        within, bounds = _within(prefix)
        found = self._con.execute(
            f"SELECT {_FIELDS} FROM item WHERE scope=? AND {_LIVE}{within} ORDER BY written DESC",
            (self._scope, self._now, *bounds),
        )
        return map(_record, found)

    def namespaces(self, prefix: Namespace) -> Iterator[Namespace]:
        within, bounds = _within(prefix)
        found = self._con.execute(
            f"SELECT DISTINCT ns FROM item WHERE scope=? AND {_LIVE}{within} ORDER BY ns",
            (self._scope, self._now, *bounds),
        )
        return (_namespace(ns) for (ns,) in found)

    def write(self, namespace: Namespace, key: str, value: bytes, ttl: float | None) -> None:
        # What was touched before this write must not outlive it.
        self.settle()
        ns, now = packed(namespace), self._now
        self._con.execute(
            "DELETE FROM item WHERE scope=? AND ns=? AND key=? AND expires <= ?", (self._scope, ns, key, now)
        )
        self._con.execute(
            "INSERT INTO item(scope, ns, key, written, created, updated, ttl, expires, crc, value)"
            " VALUES (?1, ?2, ?3, (SELECT coalesce(max(written), 0) + 1 FROM item WHERE scope=?1), ?4, ?4, ?5, ?6, ?7, ?8)"
            " ON CONFLICT(scope, ns, key) DO UPDATE SET written=excluded.written, updated=excluded.updated,"
            " ttl=excluded.ttl, expires=excluded.expires, crc=excluded.crc, value=excluded.value",
            (self._scope, ns, key, now, ttl, expiry(now, ttl), crc32(value), value),
        )

    def remove(self, namespace: Namespace, key: str) -> None:
        self.settle()
        self._con.execute("DELETE FROM item WHERE scope=? AND ns=? AND key=?", (self._scope, packed(namespace), key))

    def set_vectors(self, namespace: Namespace, key: str, data: bytes) -> None:
        self._con.execute(
            "INSERT OR REPLACE INTO vector(item, crc, body) SELECT row, ?, ? FROM item WHERE scope=? AND ns=? AND key=?",
            (crc32(data), data, self._scope, packed(namespace), key),
        )

    def vectors(self, prefix: Namespace) -> Iterator[tuple[Namespace, str, bytes]]:
        within, bounds = _within(prefix)
        found = self._con.execute(
            "SELECT ns, key, body, v.crc FROM item i JOIN vector v ON v.item=i.row"
            f" WHERE scope=? AND {_LIVE}{within} ORDER BY written DESC",
            (self._scope, self._now, *bounds),
        )
        return (_vectors(row) for row in found)

    def touch(self, found: Sequence[Record]) -> None:
        self.touched += found

    def settle(self) -> None:
        """Write down what was touched; what has been written or has gone meanwhile stays as it is."""
        self._con.executemany(
            "UPDATE item SET expires=? WHERE scope=? AND ns=? AND key=? AND updated=? AND ttl=?",
            [
                (expiry(self._now, row.ttl), self._scope, packed(row.namespace), row.key, row.updated, row.ttl)
                for row in self.touched
            ],
        )
        self.touched.clear()


def _within(prefix: Namespace) -> tuple[str, tuple[bytes, ...]]:
    """What a row's namespace must be to begin with ``prefix``, and the values that this text is bound to."""
    if not prefix:
        return "", ()
    first = packed(prefix)
    return " AND ns >= ? AND ns < ?", (first, after(first))


def _namespace(data: Any) -> Namespace:
    try:
        return unpacked(data)
    except (ValueError, TypeError, AttributeError) as error:
        raise corrupt(data, "", data if isinstance(data, bytes) else b"") from error


def _vectors(row: tuple[Any, ...]) -> tuple[Namespace, str, bytes]:
    ns, key, body, crc = row
    namespace = _namespace(ns)
    if not isinstance(body, bytes) or crc32(body) != crc or not isinstance(key, str):
        raise corrupt(namespace, key, body if isinstance(body, bytes) else b"")
    return namespace, key, body


def _record(row: tuple[Any, ...]) -> Record:
    ns, key, value, crc, created, updated, ttl, expires = row
    namespace = _namespace(ns)
    if not isinstance(value, bytes) or crc32(value) != crc or not isinstance(key, str):
        raise corrupt(namespace, key, value if isinstance(value, bytes) else b"")
    for time, empty in ((created, False), (updated, False), (ttl, True), (expires, True)):
        if not isinstance(time, float) and not (empty and time is None):
            raise corrupt(namespace, key, value)
    return Record(namespace, key, value, created, updated, ttl, expires)
