"""`SQLiteCache`: results of nodes in one SQLite file, shared by the processes of a machine; standard library only."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from zlib import crc32

from lawful.core.clock import SYSTEM, Clock
from lawful.core.errors import CorruptRecord, NewerSchema, StoreError
from lawful.journal.cache_port import FullKey, Namespace
from lawful.stores.memory_cache import bounded
from lawful.stores.sqlite_errors import translating
from lawful.stores.sqlite_schema import facts, write_ahead

APPLICATION = 0x4C415743
"""SQLite's application id of our cache files: the letters LAWC."""
VERSION = 1

_TABLE = (
    "CREATE TABLE IF NOT EXISTS entry(ns TEXT NOT NULL, key TEXT NOT NULL, expires REAL, crc INTEGER NOT NULL,"
    " value BLOB NOT NULL, PRIMARY KEY(ns, key))"
)
_PUT = "INSERT OR REPLACE INTO entry(ns, key, expires, crc, value) VALUES(?, ?, ?, ?, ?)"
_OLDEST = (
    "DELETE FROM entry WHERE rowid IN"
    " (SELECT rowid FROM entry ORDER BY rowid LIMIT max(0, (SELECT count(*) FROM entry) - ?))"
)
_SWEEP = 32
"""Writes between two sweeps of what has expired or is too much."""


class SQLiteCache:
    """A cache in a file (WAL mode) for any number of threads and processes; it is lost without harm.

    The oldest results beyond ``max_entries`` are forgotten. What the file holds is decoded by the graph's codec alone.
    A fork is safe: the child opens the file anew. Raises: NewerSchema, StoreError, StoreLocked, CorruptRecord.
    """

    blocking = True

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        max_entries: int = 100_000,
        busy_timeout: float = 5.0,
        clock: Clock = SYSTEM,
    ) -> None:
        name = os.fspath(path)
        self.path = name if name == ":memory:" else os.path.abspath(name)
        self.max_entries = bounded(max_entries)
        self._patience = busy_timeout
        self._clock = clock
        self._lock = threading.Lock()
        self._closed = False
        self._writes = 0
        self._abandoned: list[sqlite3.Connection] = []
        with translating(self.path, "open", "cache"):
            self._open()

    def _open(self) -> None:
        self._pid = os.getpid()
        self._con = sqlite3.connect(self.path, timeout=self._patience, isolation_level=None, check_same_thread=False)
        con = self._con
        version, application, made = facts(con)
        if (made or version) and application != APPLICATION:
            con.close()
            raise StoreError(
                f"{self.path} is a SQLite database, but not a cache of this library: nothing was written to it",
                component="cache",
                operation="open",
                details={"path": self.path},
            )
        if version > VERSION:
            con.close()
            raise NewerSchema(
                f"{self.path} has schema version {version}, this library knows up to {VERSION}",
                component="cache",
                operation="open",
                details={"path": self.path, "found": str(version), "known": str(VERSION)},
            )
        write_ahead(con, self._patience)
        con.execute("PRAGMA synchronous=OFF")  # a cache that a power cut spoils is found out by its checksums, or lost
        con.execute("PRAGMA trusted_schema=OFF")
        if version < VERSION:
            con.execute("BEGIN IMMEDIATE")
            con.execute(_TABLE)
            con.execute(f"PRAGMA application_id={APPLICATION}")
            con.execute(f"PRAGMA user_version={VERSION}")
            con.execute("COMMIT")

    def _here(self) -> sqlite3.Connection:
        """This process's connection; the caller holds the lock. Raises: StoreError once closed."""
        if self._closed:
            raise StoreError(f"the cache {self.path} is closed", component="cache", operation="use")
        if self._pid != os.getpid():
            self._abandoned.append(self._con)  # the parent's; closing it here would drop the parent's locks
            self._open()
        return self._con

    def get(self, keys: Sequence[FullKey]) -> Mapping[FullKey, bytes]:
        now, found = self._clock.now(), dict[FullKey, bytes]()
        with self._lock, translating(self.path, "read", "cache"):
            con = self._here()
            for ns, key in keys:
                row = con.execute(
                    "SELECT value, crc FROM entry WHERE ns=? AND key=? AND (expires IS NULL OR expires > ?)",
                    (_told(ns), key, now),
                ).fetchone()
                if row is not None:
                    found[ns, key] = _whole(row[0], row[1], self.path)
        return found

    def set(self, pairs: Mapping[FullKey, tuple[bytes, float | None]]) -> None:
        now = self._clock.now()
        rows = [
            (_told(ns), key, None if ttl is None else now + ttl, crc32(value), value)
            for (ns, key), (value, ttl) in pairs.items()
        ]
        with self._lock, translating(self.path, "write", "cache"):
            con = self._here()
            con.execute("BEGIN IMMEDIATE")
            try:
                con.executemany(_PUT, rows)
                if self._writes % _SWEEP == 0:
                    con.execute("DELETE FROM entry WHERE expires <= ?", (now,))
                    con.execute(_OLDEST, (self.max_entries,))
                self._writes += 1
                con.execute("COMMIT")
            except BaseException:
                if con.in_transaction:
                    con.execute("ROLLBACK")
                raise

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        with self._lock, translating(self.path, "clear", "cache"):
            con = self._here()
            if namespaces is None:
                con.execute("DELETE FROM entry")
            for ns in namespaces or ():
                con.execute("DELETE FROM entry WHERE ns=?", (_told(ns),))

    def close(self) -> None:
        """Let go of the file; further calls raise StoreError."""
        with self._lock:
            if not self._closed and self._pid == os.getpid():
                self._con.close()
            self._closed = True


def _told(ns: Namespace) -> str:
    return json.dumps(list(ns), ensure_ascii=True)


def _whole(value: object, crc: object, path: str) -> bytes:
    if not isinstance(value, bytes) or crc32(value) != crc:
        error = CorruptRecord(
            f"An entry of the cache {path} is damaged: clear_cache() forgets it", component="cache", operation="read"
        )
        error.raw = value if isinstance(value, bytes) else b""
        raise error
    return value
