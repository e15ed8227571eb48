"""The cache in memory, at the place where LangGraph has it."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.stores.memory_cache import MemoryCache

    InMemoryCache = MemoryCache
else:
    _TABLE = {
        "InMemoryCache": "lawful.stores.memory_cache:MemoryCache",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
