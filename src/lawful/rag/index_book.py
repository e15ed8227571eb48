"""What an index remembers of its documents: what was meant to be stored, and whether it then was."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec
from msgspec import Struct

from lawful.core.errors import ConfigurationError, VectorStoreError
from lawful.rag.documents import Document
from lawful.rag.sqlite_file import IndexFile

State = Literal["writing", "stored", "removing"]

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS index_setting (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS index_document (
    scope INTEGER NOT NULL, id TEXT NOT NULL, recipe TEXT NOT NULL, state TEXT NOT NULL, passages BLOB NOT NULL,
    document BLOB NOT NULL, PRIMARY KEY (scope, id)) WITHOUT ROWID
"""
_documents: Final = msgspec.json.Decoder(Document)
_passages: Final = msgspec.json.Decoder(dict[str, str])


class Record(Struct, frozen=True):
    """A document as the index knows it."""

    document: Document
    recipe: str
    """Of its text, its metadata, the splitter and the embedder: what its passages depend on."""
    state: State
    passages: Mapping[str, str]
    """Digests by id; while it is being written, the old ones and the new."""


class Book:
    """The records of one scope in an index's file."""

    def __init__(self, file: IndexFile, scope: str) -> None:
        self._file, self._scope = file, scope
        file.prepare(_SCHEMA)

    def settle(self, name: str, value: str | None) -> str | None:
        """A setting of the file: set if it was not, then the same for ever.

        Raises: ConfigurationError, if another value is asked for.
        """
        with self._file.writing() as con:
            if value is not None:
                con.execute("INSERT OR IGNORE INTO index_setting VALUES (?, ?)", (name, value))
            row = con.execute("SELECT value FROM index_setting WHERE name = ?", (name,)).fetchone()
        found = None if row is None else str(row[0])
        if value is not None and found != value:
            raise ConfigurationError(
                f"{self._file.path} was made with {name} {found}, not {value}: make a new index for that",
                component="rag",
                operation="index",
                details={"setting": name, "made with": str(found), "asked for": value},
            )
        return found

    def keep(self, name: str, value: str) -> None:
        """A setting of the file that may change."""
        with self._file.writing() as con:
            con.execute("INSERT OR REPLACE INTO index_setting VALUES (?, ?)", (name, value))

    def all(self) -> dict[str, Record]:
        """Every record, by the document's id."""
        with self._file.reading() as con:
            rows = con.execute(
                "SELECT id, recipe, state, passages, document FROM index_document WHERE scope = ? ORDER BY id",
                (self._file.number(con, self._scope),),
            ).fetchall()
        return {row[0]: self._record(row) for row in rows}

    def get(self, ids: Sequence[str]) -> dict[str, Record]:
        """The records of these documents."""
        found: dict[str, Record] = {}
        with self._file.reading() as con:
            n = self._file.number(con, self._scope)
            for id in ids:
                row = con.execute(
                    "SELECT id, recipe, state, passages, document FROM index_document WHERE scope = ? AND id = ?",
                    (n, id),
                ).fetchone()
                if row is not None:
                    found[id] = self._record(row)
        return found

    def put(self, records: Sequence[Record]) -> None:
        """Keep them, all or none."""
        with self._file.writing() as con:
            n = self._file.number(con, self._scope, make=True)
            con.executemany(
                "INSERT OR REPLACE INTO index_document VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (
                        n,
                        one.document.id,
                        one.recipe,
                        one.state,
                        msgspec.json.encode(dict(one.passages)),
                        msgspec.json.encode(one.document),
                    )
                    for one in records
                ],
            )

    def drop(self, ids: Sequence[str]) -> None:
        """Forget these documents."""
        with self._file.writing() as con:
            n = self._file.number(con, self._scope)
            con.executemany("DELETE FROM index_document WHERE scope = ? AND id = ?", [(n, id) for id in ids])

    def _record(self, row: sqlite3.Row) -> Record:
        _, recipe, state, passages, document = row
        try:
            return Record(_documents.decode(document), recipe, state, _passages.decode(passages))
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise VectorStoreError(
                f"{self._file.path} holds a record that cannot be read: {error}",
                component="rag",
                operation="read",
                retryable=False,
            ) from error
