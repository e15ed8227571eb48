"""The long-term store in SQLite by the name of LangGraph's."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Self

from lawful.core.lazy import face
from lawful.stores.sqlite_store import SQLiteStore
from lawful.stores.store_records import IndexConfig, TTLConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.store.sqlite.aio import AsyncSqliteStore as AsyncSqliteStore
else:
    _TABLE = {"AsyncSqliteStore": "lawful.store.sqlite.aio"}
    __getattr__, __dir__ = face(globals(), _TABLE)


class SqliteStore(SQLiteStore):
    """A `SQLiteStore`."""

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
