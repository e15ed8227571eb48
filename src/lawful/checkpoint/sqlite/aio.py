"""The same journal under the name of LangGraph's async saver: one journal serves sync and async runs."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Self

from lawful.checkpoint.sqlite import SqliteSaver


class AsyncSqliteSaver(SqliteSaver):
    """A `SqliteSaver` for ``async with``."""

    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, conn_string: str) -> AsyncGenerator[Self, None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """A journal for the time of an ``async with`` block."""
        made = cls(conn_string)
        try:
            yield made
        finally:
            made.close()

    async def setup(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Nothing is left to do: the tables are made when the file is opened."""
