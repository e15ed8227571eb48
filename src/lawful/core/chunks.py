"""Pieces of a message that is still being made, as a model's stream gives them."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from lawful.core.messages import Block, Reasoning, Role, Text


class ToolCallChunk(Struct, frozen=True, omit_defaults=True):
    """A piece of a tool call: ``args`` is a further piece of the arguments' JSON text."""

    args: str = ""
    id: str | None = None
    name: str | None = None
    """Told once, with the first piece."""
    index: int | str | None = None
    """Which of the message's calls this is a piece of."""


class MessageChunk(Struct, frozen=True, omit_defaults=True):
    """A piece of the message ``id``; pieces of one message are joined by ``+``."""

    id: str
    content: tuple[Block, ...] = ()
    tool_call_chunks: tuple[ToolCallChunk, ...] = ()
    role: Role = "assistant"
    last: bool = False
    """Nothing of this message follows."""

    @property
    def text(self) -> str:
        """Its text, without a break between blocks."""
        return "".join(block.text for block in self.content if isinstance(block, Text))

    @property
    def reasoning(self) -> str:
        return "".join(block.reasoning for block in self.content if isinstance(block, Reasoning))

    def __add__(self, other: MessageChunk) -> MessageChunk:
        """Both as one piece: neighbouring text is joined, pieces of tool calls stay in order."""
        content = [*self.content]
        for block in other.content:
            content[-1:] = _joined(content[-1], block) if content else (block,)
        return msgspec.structs.replace(
            self,
            content=tuple(content),
            tool_call_chunks=(*self.tool_call_chunks, *other.tool_call_chunks),
            last=self.last or other.last,
        )


def _joined(left: Block, right: Block) -> tuple[Block, ...]:
    if left.index != right.index:
        return (left, right)
    if isinstance(left, Text) and isinstance(right, Text):
        return (msgspec.structs.replace(left, text=left.text + right.text),)
    if isinstance(left, Reasoning) and isinstance(right, Reasoning):
        return (msgspec.structs.replace(left, reasoning=left.reasoning + right.reasoning),)
    return (left, right)
