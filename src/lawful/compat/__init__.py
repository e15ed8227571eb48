"""The neighbours' doors: a journal of ours as LangGraph's saver, and langchain's messages, models and tools both ways.

Every name is imported when it is first used, so that none of these packages is needed until then.
"""

from __future__ import annotations

from lawful.core.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lawful.compat.saver import JournalSaver as JournalSaver
else:
    _TABLE = {
        "JournalSaver": "lawful.compat.saver",
    }
    __all__ = list(_TABLE)
    __getattr__, __dir__ = face(globals(), _TABLE)
