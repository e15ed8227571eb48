"""The connection inside a journal, for tests that limit or watch it."""

from __future__ import annotations

import sqlite3
from typing import Any


def connection_of(journal: Any) -> sqlite3.Connection:
    """The one connection by which the journal writes: max_page_count belongs to a connection, not to the file."""
    todo: list[Any] = [journal]
    seen: set[int] = set()
    while todo:
        one = todo.pop()
        if isinstance(one, sqlite3.Connection):
            return one
        if id(one) in seen or not type(one).__module__.startswith("lawful"):
            continue
        seen.add(id(one))
        held = dict(getattr(one, "__dict__", {}))
        for cls in type(one).__mro__:
            for name in getattr(cls, "__slots__", ()):
                held[name] = getattr(one, name, None)
        todo += held.values()
    raise AssertionError("the journal has no connection")
