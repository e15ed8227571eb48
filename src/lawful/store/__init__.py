"""Long-term stores: items by namespace and key, beside the threads."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.stores.memory_store import MemoryStore
    from lawful.stores.store_port import Store

    BaseStore = Store
    InMemoryStore = MemoryStore
else:
    _TABLE = {
        "BaseStore": "lawful.stores.store_port:Store",
        "InMemoryStore": "lawful.stores.memory_store:MemoryStore",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
