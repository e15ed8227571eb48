"""The long-term store in SQLite by the name of LangGraph's."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Self

from lawful.stores.sqlite_store import SQLiteStore


class SqliteStore(SQLiteStore):
    """A `SQLiteStore`."""

    @classmethod
    @contextmanager
    def from_conn_string(cls, conn_string: str) -> Generator[Self, None, None]:
        """A store for the time of a ``with`` block."""
        made = cls(conn_string)
        try:
            yield made
        finally:
            made.close()

    def setup(self) -> None:
        """Nothing is left to do: the tables are made when the file is opened."""
