"""The inbox of a graph: the open questions of all its threads."""

from __future__ import annotations

from collections.abc import Iterator

from lawful.core.questions import Question
from lawful.graph.views import Views
from lawful.journal.port import Journal

_PAGE = 500


def inbox(graph: Views, name: str) -> Iterator[Question]:
    """The open questions of every thread whose root graph is called ``name``, threads in the order of their ids."""
    for thread in _threads(graph.journal_of(), name):
        yield from graph.get_state(thread).interrupts


def _threads(journal: Journal, name: str) -> Iterator[str]:
    after: str | None = None
    while True:
        page = journal.threads(limit=_PAGE, after=after)
        for info in page:
            if info.graph == name:
                yield info.thread
        if len(page) < _PAGE:
            return
        after = page[-1].thread
