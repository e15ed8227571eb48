"""`lawful` with its defaults: strict=True, no listener, and no journal where the line names none.

Where it names one: `SQLiteJournal` as it comes (WAL, synchronous=NORMAL) and durability "sync".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bench import shapes
from bench.peers._graphs import GraphPeer
from lawful.core.messages import assistant
from lawful.graph import END, START, Send, StateGraph, add_messages, get_stream_writer
from lawful.stores.sqlite import SQLiteJournal


class Ours(GraphPeer):
    """One journal serves both drivers."""

    NAME = "lawful"
    face = shapes.Face(StateGraph, START, END, Send)
    stored_options: Mapping[str, Any] = MappingProxyType({"durability": "sync"})

    def version(self) -> str:
        try:
            return installed("lawful")
        except PackageNotFoundError:
            return "source tree"

    def open(self, path: Path) -> tuple[Any, Callable[[], None]]:
        journal = SQLiteJournal(path)
        return journal, journal.close

    async def aopen(self, path: Path) -> tuple[Any, Callable[[], Awaitable[None]]]:
        journal, close = self.open(path)

        async def aclose() -> None:
            close()

        return journal, aclose

    def writer(self) -> Callable[[Any], None]:
        return get_stream_writer()

    def message(self, number: int) -> Any:
        return assistant(f"text {number}").named(f"m{number}")

    @property
    def add_messages(self) -> Any:
        return add_messages


peer = Ours()
