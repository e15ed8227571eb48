"""The port of journals, at the place where LangGraph has that of its savers."""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.journal.port import Journal

    BaseCheckpointSaver = Journal
else:
    _TABLE = {
        "BaseCheckpointSaver": "lawful.journal.port:Journal",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
