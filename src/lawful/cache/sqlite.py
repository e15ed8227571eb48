"""The cache in SQLite, at the place where LangGraph has it."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.stores.sqlite_cache import SQLiteCache

    SqliteCache = SQLiteCache
else:
    _TABLE = {
        "SqliteCache": "lawful.stores.sqlite_cache:SQLiteCache",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
