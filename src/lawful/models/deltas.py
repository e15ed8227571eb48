"""What a reader of a model's stream sees, piece by piece, and the fold that makes the whole answer of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from msgspec import Struct

from lawful.core.errors import LLMError
from lawful.core.messages import Block
from lawful.models.values import Reply


class TextDelta(Struct, frozen=True):
    """More text of the answer."""

    text: str
    index: int = 0
    """The place, in the message, of the block that it belongs to."""


class ReasoningDelta(Struct, frozen=True):
    """More of what the model thinks aloud."""

    text: str
    index: int = 0


class CallDelta(Struct, frozen=True):
    """More of a tool call. Which call it is, ``index`` tells; the id may come late."""

    index: int
    text: str = ""
    """A further piece of the arguments' JSON."""
    name: str = ""
    """The tool, as soon as it is known."""
    id: str | None = None


class BlockDelta(Struct, frozen=True):
    """A block that came whole: a picture, a recording, what only this provider makes."""

    block: Block
    index: int = 0


class Completed(Struct, frozen=True):
    """The end: all that came before, as one answer."""

    reply: Reply


Delta: TypeAlias = TextDelta | ReasoningDelta | CallDelta | BlockDelta | Completed
"""The closed union; a stream that ends without an error ends with `Completed`, and has exactly one."""


def fold(deltas: Iterable[Delta]) -> Reply:
    """The answer that a stream gave.

    Raises: LLMError, if the stream has no end.
    """
    for delta in deltas:
        if isinstance(delta, Completed):
            return delta.reply
    raise LLMError("the model's stream ended before its answer was complete", component="models", operation="fold")
