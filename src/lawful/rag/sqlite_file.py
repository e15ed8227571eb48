"""How the stores of this floor share one SQLite file: its connection, transactions, scopes and errors."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from lawful.core.errors import VectorStoreError
from lawful.rag.documents import Passage, checked_id

APPLICATION: Final = 0x4C_52_41_47
"""SQLite's mark of whose file it is: "LRAG"."""
_MANY: Final = 500
"""Values of one IN list: older SQLite takes 999 in a statement."""


class IndexFile:
    """A SQLite file in WAL mode, for the threads of this process; other processes may use it at the same time.

    ``dsn`` is a path or ":memory:". Raises: VectorStoreError, also for a file that belongs to something else.
    """

    def __init__(self, path: str | os.PathLike[str], *, busy_timeout: float = 10.0) -> None:
        name = os.fspath(path)
        self.path = name if name in (":memory:", "") else os.path.abspath(name)
        self._busy = busy_timeout
        self._schemas: list[str] = []
        self._gate = threading.RLock()
        self._con: sqlite3.Connection | None = None
        self._pid = os.getpid()
        self.users = 1
        with self._translating():
            self._con = self._open()

    def prepare(self, schema: str) -> None:
        """Make these tables, where they are missing."""
        self._schemas.append(schema)
        with self.writing() as con:
            _script(con, schema)

    def _open(self) -> sqlite3.Connection:
        con = sqlite3.connect(self.path, timeout=self._busy, isolation_level=None, check_same_thread=False)
        try:
            mark = con.execute("PRAGMA application_id").fetchone()[0]
            filled = con.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if mark != APPLICATION and filled:
                raise VectorStoreError(
                    f"{self.path} is a database of something else", component="rag", operation="open", retryable=False
                )
            if mark != APPLICATION:
                con.execute(f"PRAGMA application_id = {APPLICATION}")
            con.execute("PRAGMA journal_mode = WAL")
            con.execute("PRAGMA synchronous = NORMAL")
            con.execute("CREATE TABLE IF NOT EXISTS scope (n INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)")
        except BaseException:
            con.close()
            raise
        return con

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """A write transaction, one at a time; what is raised within rolls it back."""
        with self._gate, self._translating():
            con = self._connection()
            con.execute("BEGIN IMMEDIATE")
            try:
                yield con
                con.execute("COMMIT")
            except BaseException:
                if con.in_transaction:
                    con.execute("ROLLBACK")
                raise

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """One view of the file."""
        with self._gate, self._translating():
            con = self._connection()
            con.execute("BEGIN")
            try:
                yield con
            finally:
                if con.in_transaction:
                    con.execute("ROLLBACK")

    def number(self, con: sqlite3.Connection, scope: str, *, make: bool = False) -> int:
        """The scope's number, which names it in tables; 0 where it has none yet."""
        row = con.execute("SELECT n FROM scope WHERE name = ?", (scope,)).fetchone()
        if row is None and make:
            return int(
                con.execute("INSERT INTO scope (name) VALUES (?) RETURNING n", (checked_id(scope),)).fetchone()[0]
            )
        return int(row[0]) if row is not None else 0

    def close(self) -> None:
        """Close the connection once every store that shares it has closed."""
        with self._gate:
            self.users -= 1
            if self.users <= 0 and self._con is not None:
                con, self._con = self._con, None
                con.close()

    def _connection(self) -> sqlite3.Connection:
        if self._con is None:
            raise VectorStoreError(f"{self.path} is closed", component="rag", operation="open", retryable=False)
        if self._pid != os.getpid():
            # In a forked child: the parent's connection is left alone, since closing it would drop the parent's locks.
            self._pid, self._con = os.getpid(), self._open()
        return self._con

    @contextmanager
    def _translating(self) -> Generator[None]:
        try:
            yield
        except sqlite3.Error as error:
            busy = isinstance(error, sqlite3.OperationalError) and "locked" in str(error)
            raise VectorStoreError(
                f"{self.path}: {error}", component="rag", operation="sqlite", retryable=busy, cause=error
            ) from error


def opened(file: IndexFile | str | os.PathLike[str]) -> IndexFile:
    """The file itself, with one user more, or a path opened."""
    if isinstance(file, IndexFile):
        file.users += 1
        return file
    return IndexFile(file)


def some(values: Sequence[Any]) -> list[tuple[Sequence[Any], str]]:
    """The values in parts that fit a statement, each with its question marks."""
    parts = [values[start : start + _MANY] for start in range(0, len(values), _MANY)]
    return [(part, ", ".join("?" * len(part))) for part in parts]


def _script(con: sqlite3.Connection, schema: str) -> None:
    for statement in schema.split(";"):
        if statement.strip():
            con.execute(statement)


packed: Callable[[Passage], bytes] = msgspec.json.encode
"""A passage as the bytes of its JSON."""
_decoder: Final = msgspec.json.Decoder(Passage)


def unpacked(data: bytes | str, where: str) -> Passage:
    """The passage of those bytes. Raises: VectorStoreError, if they are none."""
    try:
        return _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise VectorStoreError(
            f"{where} holds a passage that cannot be read: {error}", component="rag", operation="read", retryable=False
        ) from error
