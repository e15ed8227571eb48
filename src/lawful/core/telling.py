"""How work inside a running node tells what it does: a model call piece by piece, a tool call, a message, any event.

Everything here costs a look at one variable, and does nothing, where nobody listens or outside a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self

from lawful.core import events as ev
from lawful.core.chunks import MessageChunk, ToolCallChunk
from lawful.core.context import Slot, current_task, here
from lawful.core.messages import Block, Message, Reasoning, Text, fresh_id
from lawful.core.teller import code_of

NOSTREAM = "nostream"
"""A tag that keeps a model call out of the ``messages`` mode."""


class Stream(Protocol):
    """Where a run's stream takes what nodes say; the graph's streams are one."""

    def say(
        self,
        slot: Slot,
        message: Any,
        *,
        piece: bool = False,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Put a message, or a piece of one, into the ``messages`` mode; ``tags`` if a model's call made it."""
        ...

    def seen(self, slot: Slot, id: str) -> None:
        """The message of this id has been told by ``slot``: leave it out where it comes again."""
        ...

    def press(self) -> None:
        """Wait, in a thread of a node's own, while the reader is far behind; never in an event loop."""
        ...

    async def room(self) -> None:
        """Wait while the reader is far behind."""
        ...


def tell(event: ev.Event) -> None:
    """Tell the listeners of the running attempt's run."""
    slot = current_task.get()
    if slot is None or slot.closed:
        return
    slot.touch()
    if slot.run.teller is None:
        return
    slot.run.teller.tell(slot.run, event)
    if slot.run.hub is not None:
        slot.run.hub.press()


def listened() -> bool:
    """Whether anybody hears of the running attempt's run: what only they would hear need not be made."""
    slot = current_task.get()
    return slot is not None and not slot.closed and slot.run.teller is not None


def say(message: Any, *, tags: Sequence[str] | None = None, metadata: Mapping[str, Any] | None = None) -> None:
    """Put a whole message into the ``messages`` mode, unless one of its id was there already."""
    slot = current_task.get()
    if slot is None or slot.closed:
        return
    slot.touch()
    if slot.run.hub is None:
        return
    slot.run.hub.say(slot, message, tags=tags, metadata=metadata)
    slot.run.hub.press()


async def room() -> None:
    """Wait while the run's reader is far behind; at once where nobody reads."""
    slot = current_task.get()
    if slot is not None and slot.run.hub is not None:
        await slot.run.hub.room()


def model_call(
    model: str,
    *,
    id: str | None = None,
    tags: Sequence[str] = (),
    metadata: Mapping[str, Any] | None = None,
    slot: Slot | None = None,
) -> ModelCall:
    """One call of ``model``, for ``with``: its pieces are streamed as they come, and it ends once, whatever happens.

    ``id`` is the id of the message that is being made (32 hex digits if none is given). Give it to the message that the
    node returns, so that it is not streamed a second time. ``metadata`` joins the metadata of its chunks. ``slot`` is the
    attempt that it belongs to, where the call is made from another thread or loop than the node's.
    """
    slot = slot or current_task.get()
    if slot is None or slot.closed or (slot.run.hub is None and slot.run.teller is None):
        return ModelCall(None, model, id or fresh_id(), (), None, at=slot)
    return ModelCall(slot, model, id or fresh_id(), tuple(tags), metadata, at=slot)


class ModelCall:
    """A call under way; made by `model_call`."""

    __slots__ = ("_at", "_ended", "_metadata", "_slot", "_tags", "_told", "id", "model", "usage")

    def __init__(
        self,
        slot: Slot | None,
        model: str,
        id: str,
        tags: Sequence[str],
        metadata: Mapping[str, Any] | None,
        *,
        at: Slot | None = None,
    ) -> None:
        self._slot = slot
        self._at = at
        self.model = model
        self.id = id
        """The id of the message that is being made."""
        self.usage: ev.Usage | None = None
        """Told with the end; set it when it is known."""
        self._tags = tags
        self._metadata = metadata
        self._told = False
        self._ended = False

    def alive(self) -> None:
        """The model is at work, though nobody may listen: the idle limit of its node runs anew."""
        if self._at is not None and not self._at.closed:
            self._at.touch()

    @property
    def heard(self) -> bool:
        """Whether anybody listens: pieces need not be made where not."""
        return self._slot is not None

    def __enter__(self) -> Self:
        self._tell(ev.LLMStarted(self.model, self.id))
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._ended:
            return
        self._ended = True
        if error is None:
            self._tell(ev.LLMEnded(self.id, self.usage))
        else:
            self._tell(ev.LLMFailed(self.id, code_of(error), str(error)))

    def text(self, text: str) -> None:
        """A further piece of the answer."""
        self._tell(ev.LLMChunk(self.id, text))
        self._piece(MessageChunk(self.id, (Text(text),)))

    def reasoning(self, text: str) -> None:
        """A further piece of what the model thinks aloud."""
        self._tell(ev.LLMReasoning(self.id, text))
        self._piece(MessageChunk(self.id, (Reasoning(reasoning=text),)))

    def block(self, block: Block) -> None:
        """A block that came whole."""
        self._piece(MessageChunk(self.id, (block,)))

    def tool(self, call: str, *, name: str | None = None, args: str = "", index: int | str | None = None) -> None:
        """A further piece of the tool call of id ``call``; ``name`` with the first piece, ``args`` is JSON text."""
        if name is not None:
            self._tell(ev.ToolStarted(name, call))
        if args:
            self._tell(ev.ToolArguments(call, args))
        self._piece(MessageChunk(self.id, (), (ToolCallChunk(args, call, name, index),)))

    def called(self, call: str) -> None:
        """The arguments of the tool call are complete."""
        self._tell(ev.ToolCalled(call))

    def end(self, message: Message | None = None, usage: ev.Usage | None = None) -> None:
        """The answer is complete: ``message`` is streamed whole if no piece of it was."""
        self.usage = usage or self.usage
        if message is not None and self._slot is not None:
            if not self._told:
                self._tell(ev.LLMChunk(self.id, message.text))
                self._whole(message if message.id is not None else message.named(self.id))
            elif message.id is not None and self._slot.run.hub is not None and NOSTREAM not in self._tags:
                self._slot.run.hub.seen(self._slot, message.id)
        self.__exit__(None, None, None)

    async def room(self) -> None:
        """Wait while the reader is far behind: back-pressure for a model that streams in an event loop."""
        if self._slot is not None and self._slot.run.hub is not None:
            await self._slot.run.hub.room()

    def _tell(self, event: ev.Event) -> None:
        self.alive()
        if self._slot is not None and self._slot.run.teller is not None:
            self._slot.run.teller.tell(self._slot.run, event)

    def _piece(self, piece: MessageChunk) -> None:
        self._told = True
        slot = self._slot
        if slot is None:
            return
        if slot.closed:
            here("a model's stream")
        slot.touch()
        if slot.run.hub is None:
            return
        slot.run.hub.say(slot, piece, piece=True, tags=self._tags, metadata=self._metadata)
        slot.run.hub.press()

    def _whole(self, message: Message) -> None:
        slot = self._slot
        if slot is not None and slot.run.hub is not None:
            slot.run.hub.say(slot, message, tags=self._tags, metadata=self._metadata)


def tool_call(tool: str, id: str) -> ToolRun:
    """One run of a tool, for ``with``; ``id`` is the tool call's, which may have been told by the model already."""
    return ToolRun(tool, id)


class ToolRun:
    """A tool at work; made by `tool_call`."""

    __slots__ = ("_ended", "_slot", "id", "tool")

    def __init__(self, tool: str, id: str) -> None:
        self.tool = tool
        self.id = id
        self._slot: Slot | None = None
        self._ended = False

    def __enter__(self) -> Self:
        slot = self._slot = current_task.get()
        if slot is not None:
            slot.inside = (*slot.inside, ("tool", self.id))
            if slot.run.teller is None and not slot.closed:
                slot.touch()
                return self
        tell(ev.ToolStarted(self.tool, self.id))
        tell(ev.ToolCalled(self.id))
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        slot = self._slot
        if slot is not None:
            slot.inside = tuple(one for one in slot.inside if one != ("tool", self.id))
        if error is not None:
            self.failed(code_of(error), str(error))
        else:
            self.end()

    def end(self, output: Any = None) -> None:
        """The tool gave ``output``, as JSON."""
        if not self._ended:
            self._ended = True
            tell(ev.ToolEnded(self.id, output))

    def failed(self, code: str, message: str = "") -> None:
        """The tool failed, though its caller goes on."""
        if not self._ended:
            self._ended = True
            tell(ev.ToolFailed(self.id, code, message))
