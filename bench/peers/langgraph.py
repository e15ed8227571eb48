"""LangGraph, newest: no callbacks, no tracing; with a store `durability="sync"`, WAL and synchronous=NORMAL as ours has them.

Its default durability is "async", which promises less than ours; "sync" is the like-for-like setting. Sync nodes run
under `invoke`, async ones under `ainvoke`. `SqliteSaver` serves the sync driver, `AsyncSqliteSaver` the async one. Lists
are merged by `operator.add`, as its documentation does; its beta `DeltaChannel` is the contestant `langgraph_delta`.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import version as installed
from pathlib import Path
from types import MappingProxyType
from typing import Any

os.environ.setdefault("LANGSMITH_TRACING", "false")

import aiosqlite
from langchain_core.messages import AIMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Send

from bench import shapes
from bench.peers._graphs import GraphPeer


class LangGraph(GraphPeer):
    """The peer that the aims are set against."""

    NAME = "langgraph"
    face = shapes.Face(StateGraph, START, END, Send)
    stored_options: Mapping[str, Any] = MappingProxyType({"durability": "sync"})

    def version(self) -> str:
        return installed("langgraph")

    def open(self, path: Path) -> tuple[Any, Callable[[], None]]:
        link = sqlite3.connect(path, check_same_thread=False)
        saver = SqliteSaver(link)
        saver.setup()
        link.execute("PRAGMA synchronous=NORMAL")
        return saver, link.close

    async def aopen(self, path: Path) -> tuple[Any, Callable[[], Awaitable[None]]]:
        link = await aiosqlite.connect(path)
        saver = AsyncSqliteSaver(link)
        await saver.setup()
        await link.execute("PRAGMA synchronous=NORMAL")
        return saver, link.close

    def writer(self) -> Callable[[Any], None]:
        return get_stream_writer()

    def message(self, number: int) -> Any:
        return AIMessage(f"text {number}", id=f"m{number}")

    @property
    def add_messages(self) -> Any:
        return add_messages


peer = LangGraph()
