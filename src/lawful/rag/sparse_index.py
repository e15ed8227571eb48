"""`SparseIndex`: retrieval by words, BM25 on SQLite's FTS5, in a file and with nothing but the standard library."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from typing import Final

from lawful.core.errors import ConfigurationError
from lawful.rag.documents import Hit, Passage
from lawful.rag.file_items import FileItems
from lawful.rag.filter_sql import columns, condition
from lawful.rag.filters import Filter
from lawful.rag.ports import SparseStore
from lawful.rag.sparse_words import Words, checked_words, different, told
from lawful.rag.sqlite_file import IndexFile, packed, some, unpacked

TOKENIZERS: Final = {
    "english": "porter unicode61 remove_diacritics 2",
    "plain": "unicode61 remove_diacritics 2",
    "trigram": "trigram",
}
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS sparse_item (
    n INTEGER PRIMARY KEY, scope INTEGER NOT NULL, id TEXT NOT NULL, digest TEXT NOT NULL, body BLOB NOT NULL,
    UNIQUE (scope, id));
CREATE TABLE IF NOT EXISTS sparse_field (
    item INTEGER NOT NULL, name TEXT NOT NULL, txt TEXT, num REAL, flag INTEGER,
    PRIMARY KEY (item, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sparse_words (one INTEGER PRIMARY KEY CHECK (one = 1), kind TEXT NOT NULL)
"""


class SparseIndex(FileItems, SparseStore):
    """BM25 (k1 = 1.2, b = 0.75) over passages and their headings; each scope has word counts of its own.

    ``words``: "english" takes endings off (Porter), "plain" takes words as they are, "trigram" finds any part of three
    letters, for scripts without blanks. Raises: ConfigurationError, if the file was made with other ``words``.
    """

    table = "sparse_item"
    schema = _SCHEMA

    def __init__(
        self, path: IndexFile | str | os.PathLike[str] = ":memory:", *, scope: str = "local", words: Words = "english"
    ) -> None:
        self.words: Words = checked_words(words)
        super().__init__(path, scope)
        with self._file.writing() as con:
            con.execute("INSERT OR IGNORE INTO sparse_words VALUES (1, ?)", (words,))
            made: str = con.execute("SELECT kind FROM sparse_words").fetchone()[0]
        if made != words:
            self._file.close()
            raise ConfigurationError(
                f"{self._file.path} was made with words={made!r}, not {words!r}", component="rag", operation="sparse"
            )

    def scoped(self, scope: str) -> SparseIndex:
        return SparseIndex(self._file, scope=scope, words=self.words)

    def _upsert(self, passages: Sequence[Passage]) -> None:
        with self._file.writing() as con:
            n = self._file.number(con, self.scope, make=True)
            con.execute(
                f"CREATE VIRTUAL TABLE IF NOT EXISTS sparse_fts_{n} USING fts5"
                f"(told, content='', tokenize='{TOKENIZERS[self.words]}')"
            )
            self._remove(con, n, [passage.id for passage in passages])
            for passage in passages:
                row = con.execute(
                    "INSERT INTO sparse_item (scope, id, digest, body) VALUES (?, ?, ?, ?) RETURNING n",
                    (n, passage.id, passage.digest, packed(passage)),
                ).fetchone()[0]
                con.execute(f"INSERT INTO sparse_fts_{n} (rowid, told) VALUES (?, ?)", (row, told(passage)))
                fields = [(row, name, *columns(value)) for name, value in passage.metadata.items()]
                con.executemany("INSERT INTO sparse_field VALUES (?, ?, ?, ?, ?)", fields)

    def _remove(self, con: sqlite3.Connection, n: int, ids: Sequence[str]) -> int:
        gone: list[tuple[int, bytes]] = []
        for part, marks in some(ids) if n else []:
            gone += con.execute(
                f"SELECT n, body FROM sparse_item WHERE scope = ? AND id IN ({marks})", (n, *part)
            ).fetchall()
        for row, body in gone:
            # A table without content forgets a row only when it is told what stood there.
            con.execute(
                f"INSERT INTO sparse_fts_{n} (sparse_fts_{n}, rowid, told) VALUES ('delete', ?, ?)",
                (row, told(unpacked(body, self._file.path))),
            )
            con.execute("DELETE FROM sparse_item WHERE n = ?", (row,))
            con.execute("DELETE FROM sparse_field WHERE item = ?", (row,))
        return len(gone)

    def _search(self, text: str, k: int, filter: Filter | None) -> list[Hit]:
        words = query(text)
        if not words:
            return []
        with self._file.reading() as con:
            n = self._file.number(con, self.scope)
            table = f"sparse_fts_{n}"
            if con.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone() is None:
                return []
            more, values = ("", []) if filter is None else condition(filter, "i.n", "sparse_field")
            rows: list[tuple[bytes, float]] = con.execute(
                f"SELECT i.body, bm25({table}) FROM {table} JOIN sparse_item i ON i.n = {table}.rowid"
                f" WHERE {table} MATCH ? AND i.scope = ?{' AND ' + more if more else ''} ORDER BY 2, i.id LIMIT ?",
                (words, n, *values, k),
            ).fetchall()
        return [Hit(unpacked(body, self._file.path), -score) for body, score in rows]


def query(text: str) -> str:
    """The words of a text as a query for any of them; nothing in it is an operator of FTS5."""
    return " OR ".join(f'"{word}"' for word in different(text))
