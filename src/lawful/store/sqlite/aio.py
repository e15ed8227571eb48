"""The same store under the name of LangGraph's async one: one store serves sync and async programs."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Self

from lawful.store.sqlite import SqliteStore
from lawful.stores.store_records import IndexConfig, TTLConfig


class AsyncSqliteStore(SqliteStore):
    """A `SqliteStore` for ``async with``."""

    @classmethod
    @asynccontextmanager
    async def from_conn_string(  # pyright: ignore[reportIncompatibleMethodOverride]
        cls, conn_string: str, *, index: IndexConfig | None = None, ttl: TTLConfig | None = None
    ) -> AsyncGenerator[Self, None]:
        """A store for the time of an ``async with`` block."""
        made = cls(conn_string, index=index, ttl=ttl)
        try:
            yield made
        finally:
            made.close()

    async def setup(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Nothing is left to do: the tables are made when the file is opened."""
