"""The port of caches, at the place where LangGraph has it."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.journal.cache_port import Cache

    BaseCache = Cache
else:
    _TABLE = {
        "BaseCache": "lawful.journal.cache_port:Cache",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
