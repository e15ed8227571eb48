"""The journal in SQLite by the names of LangGraph's saver."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from typing import Self

from lawful.checkpoint.names import SaverNames
from lawful.core.clock import SYSTEM, Clock
from lawful.core.errors import ConfigurationError
from lawful.core.lazy import face
from lawful.stores.sqlite import SQLiteJournal


class SqliteSaver(SaverNames, SQLiteJournal):
    """A `SQLiteJournal` that also takes an open connection, of which it uses the file and nothing else.

    Raises: ConfigurationError, for a connection that has no file.
    """

    def __init__(
        self,
        conn: sqlite3.Connection | str | os.PathLike[str],
        *,
        scope: str = "local",
        power_safe: bool = False,
        busy_timeout: float = 5.0,
        clock: Clock = SYSTEM,
    ) -> None:
        path = _file_of(conn) if isinstance(conn, sqlite3.Connection) else conn
        super().__init__(path, scope=scope, power_safe=power_safe, busy_timeout=busy_timeout, clock=clock)

    @classmethod
    @contextmanager
    def from_conn_string(cls, conn_string: str) -> Generator[Self, None, None]:
        """A journal for the time of a ``with`` block; ":memory:" keeps everything in memory."""
        made = cls(conn_string)
        try:
            yield made
        finally:
            made.close()

    def setup(self) -> None:
        """Nothing is left to do: the tables are made when the file is opened."""


def _file_of(conn: sqlite3.Connection) -> str:
    for _, name, path in conn.execute("PRAGMA database_list"):
        if name == "main" and path:
            return str(path)
    raise ConfigurationError(
        'The connection has no file: give SqliteSaver a path, or ":memory:", instead of the connection',
        component="journal",
        operation="open",
    )


__getattr__, __dir__ = face(globals(), {})
