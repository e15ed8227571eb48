"""`FileVectors`: vectors in a SQLite file with nothing but the standard library, searched in memory."""

from __future__ import annotations

import os
import sqlite3
import threading
from array import array
from collections.abc import Sequence
from typing import Final

from lawful.rag.documents import Hit
from lawful.rag.file_items import FileItems
from lawful.rag.filters import Filter
from lawful.rag.ports import Entry, VectorStore
from lawful.rag.rows import Rows
from lawful.rag.sqlite_file import IndexFile, packed, unpacked

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS vector_item (
    scope INTEGER NOT NULL, id TEXT NOT NULL, digest TEXT NOT NULL, body BLOB NOT NULL, vector BLOB NOT NULL,
    PRIMARY KEY (scope, id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS vector_state (one INTEGER PRIMARY KEY CHECK (one = 1), size INTEGER, version INTEGER NOT NULL);
INSERT OR IGNORE INTO vector_state VALUES (1, NULL, 0)
"""


class FileVectors(FileItems, VectorStore):
    """Vectors in a file, read into memory when first searched and again after another process has written.

    Exact, and fit for some hundred thousand passages; numpy (extra ``dense``) makes its searches fast.
    """

    table = "vector_item"
    schema = _SCHEMA

    def __init__(
        self,
        path: IndexFile | str | os.PathLike[str] = ":memory:",
        *,
        scope: str = "local",
        dimensions: int | None = None,
    ) -> None:
        super().__init__(path, scope)
        self._gate = threading.Lock()
        self._rows: Rows | None = None
        self._version = -1
        if dimensions is not None:
            with self._file.writing() as con:
                con.execute("UPDATE vector_state SET size = coalesce(size, ?)", (dimensions,))
            self._fit({dimensions})

    @property
    def dimensions(self) -> int | None:
        with self._file.reading() as con:
            return _state(con)[0]

    def scoped(self, scope: str) -> FileVectors:
        return FileVectors(self._file, scope=scope)

    def _upsert(self, entries: Sequence[Entry]) -> None:
        with self._file.writing() as con:
            n = self._file.number(con, self.scope, make=True)
            con.execute("UPDATE vector_state SET size = coalesce(size, ?)", (len(entries[0].vector),))
            self._version_after(con)
            con.executemany(
                "INSERT OR REPLACE INTO vector_item VALUES (?, ?, ?, ?, ?)",
                [
                    (n, one.passage.id, one.passage.digest, packed(one.passage), array("f", one.vector).tobytes())
                    for one in entries
                ],
            )

    def _remove(self, con: sqlite3.Connection, n: int, ids: Sequence[str]) -> int:
        gone = super()._remove(con, n, ids)
        if gone:
            self._version_after(con)
        return gone

    def _version_after(self, con: sqlite3.Connection) -> None:
        con.execute("UPDATE vector_state SET version = version + 1")

    def _search(self, vector: tuple[float, ...], k: int, filter: Filter | None) -> list[Hit]:
        with self._gate:
            return self._loaded(len(vector)).nearest(vector, k, filter)

    def _loaded(self, size: int) -> Rows:
        with self._file.reading() as con:
            _, version = _state(con)
            if self._rows is None or version != self._version:
                rows = Rows(size)
                n = self._file.number(con, self.scope)
                for digest, body, blob in con.execute(
                    "SELECT digest, body, vector FROM vector_item WHERE scope = ?", (n,)
                ):
                    made = array("f")
                    made.frombytes(blob)
                    rows.put(unpacked(body, self._file.path), made, digest)
                self._rows, self._version = rows, version
            return self._rows


def _state(con: sqlite3.Connection) -> tuple[int | None, int]:
    size, version = con.execute("SELECT size, version FROM vector_state").fetchone()
    return size, version
