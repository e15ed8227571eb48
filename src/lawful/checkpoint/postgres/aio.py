"""The same journal under the name of LangGraph's async saver: one journal serves sync and async runs."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Self

from lawful.checkpoint.postgres import PostgresSaver
from lawful.core.lazy import face, late


class AsyncPostgresSaver(PostgresSaver):
    """A `PostgresSaver` for ``async with``."""

    @classmethod
    @asynccontextmanager
    async def from_conn_string(  # pyright: ignore[reportIncompatibleMethodOverride]
        cls, conn_string: str, *, pipeline: bool = False, schema: str = "lawful"
    ) -> AsyncGenerator[Self, None]:
        """A journal for the time of an ``async with`` block."""
        made = cls(conn_string, schema=schema)
        try:
            yield made
        finally:
            made.close()

    async def setup(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Make or migrate the tables; safe to call each time."""
        await late("asyncio").to_thread(super().setup)


__getattr__, __dir__ = face(globals(), {})
