"""The long-term store in memory, at the place where LangGraph has it."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.stores.memory_store import MemoryStore

    InMemoryStore = MemoryStore
else:
    _TABLE = {
        "InMemoryStore": "lawful.stores.memory_store:MemoryStore",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
