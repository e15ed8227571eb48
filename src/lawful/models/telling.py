"""How a model's call inside a node is told to whoever listens to the run; outside one, or unheard, it costs nothing."""

from __future__ import annotations

from lawful.core.clock import SYSTEM, Clock
from lawful.core.context import Slot, current_task
from lawful.core.messages import ToolCall
from lawful.core.replay import IntendedCall, gap, recorded_in
from lawful.core.telling import ModelCall, model_call
from lawful.models.deltas import BlockDelta, CallDelta, Completed, Delta, ReasoningDelta, TextDelta


def here() -> Slot | None:
    """The running attempt, if there is one and it is not over."""
    slot = current_task.get()
    return None if slot is None or slot.closed else slot


def clock_of(slot: Slot | None) -> Clock:
    return SYSTEM if slot is None else slot.run.clock


def answers_nobody(slot: Slot | None, model: str) -> None:
    """In a replay from the record no model is asked. Raises: ReplayGap."""
    if slot is not None and recorded_in(slot.run) is not None:
        why = f"the record has no answer of {model} here: an agent records its models, a node does with recorded(model)"
        raise gap(slot, why, IntendedCall("model", model, node=slot.node, why=why))


class Teller:
    """One attempt's bracket of events: a start, its chunks, and exactly one end or error."""

    __slots__ = ("_begun", "_call", "_waiting")

    def __init__(
        self, slot: Slot | None, span: str, model: str, tags: tuple[str, ...] = (), *, quiet: bool = False
    ) -> None:
        quietly = ModelCall(None, model, span, (), None, at=slot) if quiet else None
        self._call = quietly or model_call(model, id=span, tags=tags, slot=slot)
        self._waiting: dict[int, CallDelta] = {}
        """By place, what came of a tool call whose id is not known yet."""
        self._begun: set[int] = set()
        """Places of the tool calls whose start was told."""
        self._call.__enter__()

    def delta(self, delta: Delta) -> None:
        if not self._call.heard:
            self._call.alive()
            return
        match delta:
            case TextDelta(text):
                self._call.text(text)
            case ReasoningDelta(text):
                self._call.reasoning(text)
            case CallDelta():
                self._tool(delta)
            case BlockDelta(block):
                self._call.block(block)
            case Completed(reply):
                for place, block in enumerate(reply.message.content):
                    if isinstance(block, ToolCall) and block.id is not None:
                        if place in self._waiting:
                            self._tool(CallDelta(place, "", block.name, block.id))
                        self._call.called(block.id)
                self._call.end(reply.message, reply.usage)

    def _tool(self, delta: CallDelta) -> None:
        before = self._waiting.pop(delta.index, None)
        if before is not None:
            delta = CallDelta(delta.index, before.text + delta.text, delta.name or before.name, delta.id)
        if delta.id is None:
            self._waiting[delta.index] = delta
            return
        name = (delta.name or None) if delta.index not in self._begun else None
        self._begun.add(delta.index)
        self._call.tool(delta.id, name=name, args=delta.text, index=delta.index)

    async def room(self) -> None:
        """Wait while the run's reader is far behind."""
        await self._call.room()

    def failed(self, error: BaseException) -> None:
        self._call.__exit__(type(error), error, None)
