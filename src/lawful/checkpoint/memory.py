"""The journal in memory by the names of LangGraph's saver."""

from __future__ import annotations

from lawful.journal.memory import MemoryJournal


class InMemorySaver(MemoryJournal):
    """A `MemoryJournal`: threads live as long as the process."""


MemorySaver = InMemorySaver
