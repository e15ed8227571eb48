"""Caches of node results by LangGraph's names."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.journal.cache_port import Cache
    from lawful.stores.memory_cache import MemoryCache
    from lawful.stores.sqlite_cache import SQLiteCache

    BaseCache = Cache
    InMemoryCache = MemoryCache
    SqliteCache = SQLiteCache
else:
    _TABLE = {
        "BaseCache": "lawful.journal.cache_port:Cache",
        "InMemoryCache": "lawful.stores.memory_cache:MemoryCache",
        "SqliteCache": "lawful.stores.sqlite_cache:SQLiteCache",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
