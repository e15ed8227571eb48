"""LangGraph over its own saver, in WAL mode as it sets it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

from langgraph.checkpoint.sqlite import SqliteSaver

from bench.peers._names import LANGGRAPH as NAME
from bench.peers._saver_talk import talk

__all__ = ["NAME", "open", "talk", "version"]


def version() -> str:
    return installed("langgraph")


def open(path: Path) -> tuple[Any, Callable[[], None]]:
    """A saver on a new file, and how to close it."""
    connection = sqlite3.connect(path, check_same_thread=False)
    return SqliteSaver(connection), connection.close
