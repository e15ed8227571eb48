"""How a model's call inside a node is told to whoever listens to the run; outside one, or unheard, it costs nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lawful.core.clock import SYSTEM, Clock
from lawful.core.context import Slot, current_task
from lawful.core.events import LLMChunk, LLMEnded, LLMFailed, LLMReasoning, LLMStarted
from lawful.core.failure import Failure
from lawful.models.deltas import Completed, Delta, ReasoningDelta, TextDelta


def here() -> Slot | None:
    """The running attempt, if there is one and it is not over."""
    slot = current_task.get()
    return None if slot is None or slot.closed else slot


def clock_of(slot: Slot | None) -> Clock:
    return SYSTEM if slot is None else slot.run.clock


class Teller:
    """One attempt's bracket of events: a start, its chunks, and exactly one end or error."""

    __slots__ = ("_emit", "_slot", "_span")

    def __init__(self, slot: Slot | None, span: str, model: str) -> None:
        self._slot = slot
        self._span = span
        self._emit: Callable[[Any], None] | None = None if slot is None else slot.emit
        self._say(LLMStarted(model=model, span=span))

    def delta(self, delta: Delta) -> None:
        if self._emit is None:
            return
        match delta:
            case TextDelta(text):
                self._say(LLMChunk(span=self._span, text=text))
            case ReasoningDelta(text):
                self._say(LLMReasoning(span=self._span, text=text))
            case Completed(reply):
                self._say(LLMEnded(span=self._span, usage=reply.usage))
            case _:
                pass

    def failed(self, error: BaseException) -> None:
        code = error.code if isinstance(error, Failure) else type(error).__name__
        self._say(LLMFailed(span=self._span, code=code, message=str(error)))

    def _say(self, event: Any) -> None:
        if self._emit is not None and self._slot is not None and not self._slot.closed:
            self._emit(event)
