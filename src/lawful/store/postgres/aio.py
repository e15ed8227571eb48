"""The same store under the name of LangGraph's async one: one store serves sync and async programs."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Self

from lawful.core.lazy import late
from lawful.store.postgres import PostgresStore
from lawful.stores.store_records import IndexConfig, TTLConfig


class AsyncPostgresStore(PostgresStore):
    """A `PostgresStore` for ``async with``."""

    @classmethod
    @asynccontextmanager
    async def from_conn_string(  # pyright: ignore[reportIncompatibleMethodOverride]
        cls,
        conn_string: str,
        *,
        pipeline: bool = False,
        schema: str = "lawful",
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> AsyncGenerator[Self, None]:
        """A store for the time of an ``async with`` block."""
        made = cls(conn_string, schema=schema, index=index, ttl=ttl)
        try:
            yield made
        finally:
            made.close()

    async def setup(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Make or migrate the tables; safe to call each time."""
        await late("asyncio").to_thread(super().setup)
