"""What a provider's translator makes of one chunk of its wire; the assembler makes messages of these."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct

from lawful.core.events import Usage
from lawful.core.messages import Block
from lawful.models.values import FinishReason

Key: TypeAlias = str | int | None
"""The block that a piece belongs to, in the provider's terms. None: the last block if it is of that kind, else a new one."""


class TextPiece(Struct, frozen=True):
    text: str
    key: Key = None


class ReasoningPiece(Struct, frozen=True):
    text: str
    key: Key = None


class CallPiece(Struct, frozen=True):
    """A piece of a tool call, as raw as it came: index and id may be missing, placeholders, or shared with another call."""

    index: int | str | None = None
    id: str | None = None
    name: str | None = None
    text: str = ""
    """A piece of the arguments' JSON."""


class PrivatePiece(Struct, frozen=True):
    """Bytes that only this provider understands: those of a block, or with ``whole`` those of the message."""

    provider: str
    data: bytes
    key: Key = None
    """A text or reasoning block's key, or a call's index. None: the last block."""
    call: bool = False
    """Whether ``key`` is a call's index."""
    whole: bool = False


class AnnotationPiece(Struct, frozen=True):
    """A citation within a text, as its provider writes it."""

    annotation: dict[str, Any]
    key: Key = None


class BlockPiece(Struct, frozen=True):
    """A block that came whole."""

    block: Block


class UsagePiece(Struct, frozen=True):
    """The tokens so far: each of these replaces the one before it."""

    usage: Usage


class AboutPiece(Struct, frozen=True):
    """Who answers, under which id."""

    response_id: str | None = None
    model: str | None = None


class FinishPiece(Struct, frozen=True):
    """The model ended."""

    reason: FinishReason


Piece: TypeAlias = (
    TextPiece
    | ReasoningPiece
    | CallPiece
    | PrivatePiece
    | AnnotationPiece
    | BlockPiece
    | UsagePiece
    | AboutPiece
    | FinishPiece
)
"""The closed union."""
