"""The long-term store in SQLite by the name of LangGraph's."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from typing import Self

from lawful.core.clock import SYSTEM, Clock
from lawful.core.lazy import face
from lawful.stores.sqlite_connections import path_of
from lawful.stores.sqlite_store import SQLiteStore
from lawful.stores.store_records import IndexConfig, TTLConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.store.sqlite.aio import AsyncSqliteStore as AsyncSqliteStore
else:
    _TABLE = {"AsyncSqliteStore": "lawful.store.sqlite.aio"}
    __getattr__, __dir__ = face(globals(), _TABLE)


class SqliteStore(SQLiteStore):
    """A `SQLiteStore` that also takes an open connection, of which it uses the file and nothing else.

    Raises: ConfigurationError, for a connection of another library, which does not tell its file.
    """

    def __init__(
        self,
        conn: sqlite3.Connection | str | os.PathLike[str],
        *,
        scope: str = "local",
        ttl: TTLConfig | None = None,
        index: IndexConfig | None = None,
        busy_timeout: float = 5.0,
        clock: Clock = SYSTEM,
    ) -> None:
        super().__init__(path_of(conn), scope=scope, ttl=ttl, index=index, busy_timeout=busy_timeout, clock=clock)

    @classmethod
    @contextmanager
    def from_conn_string(
        cls, conn_string: str, *, index: IndexConfig | None = None, ttl: TTLConfig | None = None
    ) -> Generator[Self, None, None]:
        """A store for the time of a ``with`` block."""
        made = cls(conn_string, index=index, ttl=ttl)
        try:
            yield made
        finally:
            made.close()

    def setup(self) -> None:
        """Nothing is left to do: the tables are made when the file is opened."""
