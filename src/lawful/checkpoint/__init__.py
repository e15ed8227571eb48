"""Journals by the names of LangGraph's savers."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.checkpoint.memory import InMemorySaver as InMemorySaver
    from lawful.journal.port import Journal

    BaseCheckpointSaver = Journal
else:
    _TABLE = {
        "BaseCheckpointSaver": "lawful.journal.port:Journal",
        "InMemorySaver": "lawful.checkpoint.memory",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
