"""The journal in memory by the names of LangGraph's saver."""

from __future__ import annotations

from lawful.checkpoint.names import SaverNames
from lawful.core.lazy import face
from lawful.journal.memory import MemoryJournal


class InMemorySaver(SaverNames, MemoryJournal):
    """A `MemoryJournal`: threads live as long as the process."""


MemorySaver = InMemorySaver


__getattr__, __dir__ = face(globals(), {})
