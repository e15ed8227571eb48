"""Whether a run's thread has a journal to be kept in, and a run with a journal a thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lawful.core.errors import ConfigurationError
from lawful.graph.views import NoJournal
from lawful.journal.port import Journal


class ThreadMissing(ConfigurationError, ValueError):
    """A journaled run needs a thread."""


def housed(
    graph: str, journal: Journal | None, thread: str | None, named: Any, config: Mapping[str, Any], strict: bool
) -> None:
    """``named`` is what the call's own ``thread=`` says.

    Raises: ThreadMissing; strictly NoJournal too, where a thread was named and nothing of it would be kept.
    """
    if journal is not None and thread is None:
        raise ThreadMissing(
            "Checkpointer requires one or more of the following 'configurable' keys: thread_id. Name the thread by"
            f" thread='...' or {{'configurable': {{'thread_id': '...'}}}}.{_instead(config)}",
            component="graph",
            operation="config",
        )
    if journal is None and named is not None and strict:
        raise NoJournal(
            f"thread={named!r} was given, and {graph!r} has no journal to keep it in:"
            " compile(checkpointer=SQLiteJournal('...')), or of an agent Agent(..., journal='...')",
            component="graph",
            operation="config",
        )


def _instead(config: Mapping[str, Any]) -> str:
    """The key of ``configurable`` that was perhaps meant for the thread's."""
    for key in config.get("configurable") or ():
        if "thread" in str(key):
            return f" Is {key!r} meant for 'thread_id'?"
    return ""
