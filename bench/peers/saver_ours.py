"""LangGraph over a journal of ours."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

from bench.peers._names import OURS as NAME
from bench.peers._saver_talk import talk
from lawful.compat import JournalSaver
from lawful.stores.sqlite import SQLiteJournal

__all__ = ["NAME", "open", "talk", "version"]


def version() -> str:
    return installed("lawful")


def open(path: Path) -> tuple[Any, Callable[[], None]]:
    """A saver on a new file, and how to close it."""
    journal = SQLiteJournal(path)
    return JournalSaver(journal), journal.close
