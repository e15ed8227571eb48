"""`JsonLog`: a run's events as lines of JSON for a log, without what was said in it unless that is asked for."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from lawful.core import events as ev
from lawful.core.secret import redact

_CONTENT: Final = {
    "llm_chunk": ("text",),
    "llm_reasoning": ("text",),
    "tool_arguments": ("text",),
    "tool_ended": ("output",),
    "state_updated": ("values",),
    "custom": ("value",),
    "run_failed": ("message",),
    "node_failed": ("message",),
    "task_failed": ("message",),
    "llm_failed": ("message",),
    "tool_failed": ("message",),
}
"""By kind of event, its fields that hold what somebody said."""
_PIECES: Final = (ev.LLMChunk, ev.LLMReasoning, ev.ToolArguments)
LONGEST: Final = 8000


class Spans(Protocol):
    """What knows the span around an event: a `Tracing`."""

    def span_of(self, event: ev.Event) -> tuple[str, str] | None: ...


class JsonLog:
    """A listener that logs each event as one line of JSON, by the standard library's logging.

    A line has ``time`` (UTC), ``event``, ``run_id``, ``seq`` and the event's own fields. Failures are warnings, what the
    ledger does not know an error. Give it the run's `Tracing`, attached before it, and its lines bear ``trace_id`` and
    ``span_id`` too.

    Args:
        logger: A logger or its name.
        content: Whether texts, results and the messages of errors are told, and pieces of texts get lines of their own.
        redact: What every line goes through beside the library's own redaction; it gets and gives text that is JSON.
    """

    def __init__(
        self,
        logger: logging.Logger | str = "lawful.run",
        *,
        content: bool = False,
        redact: Callable[[str], str] = str,
        spans: Spans | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._logger = logging.getLogger(logger) if isinstance(logger, str) else logger
        self._content = content
        self._redact = redact
        self._spans = spans
        self._clock = clock

    def __call__(self, event: ev.Event) -> None:
        """Log one event."""
        if not self._content and isinstance(event, _PIECES):
            return
        level = _level(event)
        if self._logger.isEnabledFor(level):
            self._logger.log(level, "%s", self.line(event))

    def line(self, event: ev.Event) -> str:
        """The event's line, without a line break in it."""
        told = ev.event_json(event)
        if not self._content:
            for field in _CONTENT.get(told["event"], ()):
                told.pop(field, None)
        found = self._spans.span_of(event) if self._spans is not None else None
        spans = {"trace_id": found[0], "span_id": found[1]} if found is not None else {}
        moment = datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="milliseconds")
        facts: dict[str, Any] = {"time": moment, **told, **spans}
        return self._redact(redact(json.dumps({key: _short(value) for key, value in facts.items()}, default=repr)))


def _short(value: Any) -> Any:
    return f"{value[:LONGEST]}..." if isinstance(value, str) and len(value) > LONGEST else value


def _level(event: ev.Event) -> int:
    match event:
        case ev.EffectMoved(state="Unknown"):
            return logging.ERROR
        case ev.NodeFailed() | ev.TaskFailed() | ev.RunFailed() | ev.LLMFailed() | ev.ToolFailed():
            return logging.INFO if event.code in ("interrupt", "drained") else logging.WARNING
        case ev.RetryScheduled() | ev.SignalSwallowed() | ev.JoinSkipped() | ev.LeaseLost():
            return logging.WARNING
        case _:
            return logging.INFO
