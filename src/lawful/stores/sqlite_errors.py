"""What SQLite's errors mean to the caller of a journal or a store."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

from lawful.core.errors import CorruptRecord, StoreError, StoreFull, StoreLocked

_FULL = 13
_LOCKED = (5, 6)
_DAMAGED = (11, 26)


def translated(error: sqlite3.Error, path: str, operation: str, component: str = "journal") -> StoreError:
    """The error of ours that stands for ``error``."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    told = str(error)
    if code == _FULL:
        kind, message = StoreFull, f"no space left for {path}"
    elif code in _LOCKED:
        kind, message = StoreLocked, f"{path} is locked by another process"
    elif code in _DAMAGED or "decode to UTF-8" in told:
        kind, message = CorruptRecord, f"{path} is damaged, or not a SQLite database"
    else:
        kind, message = StoreError, f"SQLite refused to {operation} in {path}{_place(path, told)}"
    return kind(f"{message} ({told})", component=component, operation=operation, details={"path": path}, cause=error)


def _place(path: str, told: str) -> str:
    """What is wrong with the place of a file that cannot be opened."""
    if "unable to open" not in told:
        return ""
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        return ": it is a folder"
    if not os.path.isdir(folder):
        return f": there is no folder {folder}"
    return "" if os.access(path if os.path.exists(path) else folder, os.W_OK) else ": it may not be written there"


@contextmanager
def translating(path: str, operation: str, component: str = "journal") -> Generator[None]:
    """Raise errors of SQLite as ours."""
    try:
        yield
    except sqlite3.Error as error:
        raise translated(error, path, operation, component) from error
