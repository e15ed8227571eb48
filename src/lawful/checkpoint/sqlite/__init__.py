"""The journal in SQLite by the names of LangGraph's saver."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from typing import Self

from lawful.checkpoint.names import SaverNames
from lawful.core.clock import SYSTEM, Clock
from lawful.core.lazy import face
from lawful.stores.sqlite import SQLiteJournal
from lawful.stores.sqlite_connections import path_of


class SqliteSaver(SaverNames, SQLiteJournal):
    """A `SQLiteJournal` that also takes an open connection, of which it uses the file and nothing else.

    Over a connection to ":memory:" it keeps everything in a memory of its own.

    Raises: ConfigurationError, for a connection of another library, which does not tell its file.
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
        super().__init__(path_of(conn), scope=scope, power_safe=power_safe, busy_timeout=busy_timeout, clock=clock)

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


__getattr__, __dir__ = face(globals(), {})
