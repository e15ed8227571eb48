"""What stores of vectors and of words in one SQLite file do alike: passages by id in a table, in the file's scopes."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from typing import ClassVar

from lawful.rag.documents import checked_id
from lawful.rag.ports import PassageStore
from lawful.rag.sqlite_file import IndexFile, opened, some


class FileItems(PassageStore):
    """Passages in a table with the columns ``scope``, ``id``, ``digest`` and ``body``. For adapters."""

    table: ClassVar[str]
    """A literal of the code, never given from outside."""
    schema: ClassVar[str]

    def __init__(self, path: IndexFile | str | os.PathLike[str], scope: str) -> None:
        self.scope = checked_id(scope)
        self._file = opened(path)
        self._file.prepare(self.schema)

    def close(self) -> None:
        self._file.close()

    def ids(self) -> list[str]:
        with self._file.reading() as con:
            n = self._file.number(con, self.scope)
            found = con.execute(f"SELECT id FROM {self.table} WHERE scope = ?", (n,)).fetchall()
        return sorted(id for (id,) in found)

    def count(self) -> int:
        with self._file.reading() as con:
            n = self._file.number(con, self.scope)
            return int(con.execute(f"SELECT count(*) FROM {self.table} WHERE scope = ?", (n,)).fetchone()[0])

    def _delete(self, ids: Sequence[str]) -> int:
        with self._file.writing() as con:
            return self._remove(con, self._file.number(con, self.scope), ids)

    def _remove(self, con: sqlite3.Connection, n: int, ids: Sequence[str]) -> int:
        """Delete them in this transaction; says how many there were."""
        gone = 0
        for part, marks in some(ids) if n else []:
            told = (n, *part)
            gone += con.execute(f"DELETE FROM {self.table} WHERE scope = ? AND id IN ({marks})", told).rowcount
        return gone

    def _present(self, ids: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        with self._file.reading() as con:
            n = self._file.number(con, self.scope)
            for part, marks in some(ids):
                rows = con.execute(
                    f"SELECT id, digest FROM {self.table} WHERE scope = ? AND id IN ({marks})", (n, *part)
                )
                found.update(rows.fetchall())
        return found
