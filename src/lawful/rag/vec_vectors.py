"""`SQLiteVecVectors`: vectors in a SQLite file through the extension sqlite-vec (extra ``vec``), searched in the file."""

from __future__ import annotations

import os
import threading
from array import array
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from lawful.core.errors import VectorStoreError
from lawful.core.lazy import late
from lawful.rag.documents import Hit, checked_id
from lawful.rag.filter_sql import columns, condition
from lawful.rag.filters import Filter
from lawful.rag.ports import Entry, VectorStore, settled
from lawful.rag.sqlite_file import packed, some, unpacked

_SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS scope (n INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    """CREATE TABLE IF NOT EXISTS item (
        n INTEGER PRIMARY KEY, scope INTEGER NOT NULL, id TEXT NOT NULL, digest TEXT NOT NULL, body BLOB NOT NULL,
        UNIQUE (scope, id))""",
    """CREATE TABLE IF NOT EXISTS field (
        item INTEGER NOT NULL, name TEXT NOT NULL, txt TEXT, num REAL, flag INTEGER,
        PRIMARY KEY (item, name)) WITHOUT ROWID""",
    "CREATE TABLE IF NOT EXISTS size (one INTEGER PRIMARY KEY CHECK (one = 1), dimensions INTEGER NOT NULL)",
)


class _Link:
    """The connection that the handles of all scopes share."""

    def __init__(self, path: str, busy_timeout: float) -> None:
        apsw = late("apsw", extra="vec")
        vec = late("sqlite_vec", extra="vec")
        self.path = path
        self.errors: type[Exception] = apsw.Error
        self.gate = threading.RLock()
        self.users = 1
        with self.translating():
            self.con: Any = apsw.Connection(path)
            self.con.set_busy_timeout(int(busy_timeout * 1000))
            self.con.enable_load_extension(True)
            self.con.load_extension(vec.loadable_path())
            self.con.enable_load_extension(False)
            self.con.execute("PRAGMA journal_mode = WAL")
            self.con.execute("PRAGMA synchronous = NORMAL")
            for statement in _SCHEMA:
                self.con.execute(statement)

    @contextmanager
    def translating(self) -> Generator[None]:
        try:
            yield
        except self.errors as error:
            raise VectorStoreError(
                f"{self.path}: {error}",
                component="rag",
                operation="sqlite-vec",
                retryable="BusyError" in type(error).__name__,
                cause=error,
            ) from error

    @contextmanager
    def session(self, *, writing: bool) -> Generator[Any]:
        with self.gate, self.translating():
            self.con.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
            try:
                yield self.con
                self.con.execute("COMMIT")
            except BaseException:
                if self.con.in_transaction:
                    self.con.execute("ROLLBACK")
                raise

    def size(self) -> int | None:
        row = self.con.execute("SELECT dimensions FROM size").fetchone()
        return None if row is None else row[0]

    def number(self, scope: str) -> int:
        row = self.con.execute("SELECT n FROM scope WHERE name = ?", (scope,)).fetchone()
        return 0 if row is None else row[0]


class SQLiteVecVectors(VectorStore):
    """Vectors in a file of their own; nothing is held in memory, a search reads the scope's vectors from the file.

    Raises: ConfigurationError, which says how to install it, if apsw or sqlite-vec is missing.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] = ":memory:",
        *,
        scope: str = "local",
        dimensions: int | None = None,
        busy_timeout: float = 10.0,
    ) -> None:
        self.scope = checked_id(scope)
        self._link = _Link(os.fspath(path), busy_timeout)
        if dimensions is not None:
            with self._link.session(writing=True):
                self._size(dimensions)
            self._fit({dimensions})

    @property
    def dimensions(self) -> int | None:
        with self._link.gate, self._link.translating():
            return self._link.size()

    def scoped(self, scope: str) -> SQLiteVecVectors:
        made = object.__new__(SQLiteVecVectors)
        made.scope, made._link = checked_id(scope), self._link
        self._link.users += 1
        return made

    def close(self) -> None:
        with self._link.gate:
            self._link.users -= 1
            if self._link.users <= 0:
                self._link.con.close()

    def ids(self) -> list[str]:
        with self._link.session(writing=False) as con:
            rows = con.execute("SELECT id FROM item WHERE scope = ?", (self._link.number(self.scope),)).fetchall()
        return sorted(id for (id,) in rows)

    def count(self) -> int:
        with self._link.session(writing=False) as con:
            return con.execute(
                "SELECT count(*) FROM item WHERE scope = ?", (self._link.number(self.scope),)
            ).fetchone()[0]

    def _size(self, dimensions: int) -> None:
        con = self._link.con
        con.execute("INSERT OR IGNORE INTO size VALUES (1, ?)", (dimensions,))
        con.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS vec USING vec0"
            f"(scope integer partition key, embedding float[{int(self._link.size() or dimensions)}] distance_metric=cosine)"
        )

    def _upsert(self, entries: Sequence[Entry]) -> None:
        with self._link.session(writing=True) as con:
            self._size(len(entries[0].vector))
            con.execute("INSERT OR IGNORE INTO scope (name) VALUES (?)", (self.scope,))
            n = self._link.number(self.scope)
            self._remove(con, n, [entry.passage.id for entry in entries])
            for entry in entries:
                one = entry.passage
                row = con.execute(
                    "INSERT INTO item (scope, id, digest, body) VALUES (?, ?, ?, ?) RETURNING n",
                    (n, one.id, one.digest, packed(one)),
                ).fetchone()[0]
                blob = array("f", entry.vector).tobytes()
                con.execute("INSERT INTO vec (rowid, scope, embedding) VALUES (?, ?, ?)", (row, n, blob))
                for name, value in one.metadata.items():
                    con.execute("INSERT INTO field VALUES (?, ?, ?, ?, ?)", (row, name, *columns(value)))

    def _delete(self, ids: Sequence[str]) -> int:
        with self._link.session(writing=True) as con:
            return self._remove(con, self._link.number(self.scope), ids)

    def _remove(self, con: Any, n: int, ids: Sequence[str]) -> int:
        gone: list[int] = []
        for part, marks in some(ids):
            rows = con.execute(f"SELECT n FROM item WHERE scope = ? AND id IN ({marks})", (n, *part)).fetchall()
            gone += [row for (row,) in rows]
        for row in gone:
            con.execute("DELETE FROM vec WHERE rowid = ?", (row,))
            con.execute("DELETE FROM item WHERE n = ?", (row,))
            con.execute("DELETE FROM field WHERE item = ?", (row,))
        return len(gone)

    def _present(self, ids: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        with self._link.session(writing=False) as con:
            n = self._link.number(self.scope)
            for part, marks in some(ids):
                found.update(
                    con.execute(
                        f"SELECT id, digest FROM item WHERE scope = ? AND id IN ({marks})", (n, *part)
                    ).fetchall()
                )
        return found

    def _search(self, vector: tuple[float, ...], k: int, filter: Filter | None) -> list[Hit]:
        with self._link.session(writing=False) as con:
            n = self._link.number(self.scope)
            more, values = ("", list[Any]())
            if filter is not None:
                told, values = condition(filter, "i.n", "field")
                more = f" AND rowid IN (SELECT i.n FROM item i WHERE i.scope = ? AND {told})"
                values = [n, *values]
            near = array("f", vector).tobytes()

            def fetch(many: int) -> list[Hit]:
                rows = con.execute(
                    f"SELECT i.body, near.distance FROM (SELECT rowid, distance FROM vec"
                    f" WHERE embedding MATCH ? AND k = ? AND scope = ?{more}) near JOIN item i ON i.n = near.rowid",
                    (near, many, n, *values),
                ).fetchall()
                return [Hit(unpacked(body, self._link.path), 1.0 - far) for body, far in rows]

            return settled(fetch, k)
