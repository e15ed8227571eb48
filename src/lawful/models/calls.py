"""How streamed pieces of tool calls become calls, whatever a provider does with its indexes and ids; a pure state machine.

Seen in the wild and held by tests: calls interleaved by index; several calls under one index; continuations without an id or
with "" or "null" for one; ids that come late; the whole call sent twice.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from lawful.core.messages import InvalidToolCall, Private, ToolCall
from lawful.models.pieces import CallPiece

PLACEHOLDERS: Final = frozenset({"", "null", "none", "undefined"})


@dataclass
class OpenCall:
    """A call of which more may come."""

    place: int
    """Its block's place in the message."""
    id: str | None = None
    name: str = ""
    pieces: list[str] = field(default_factory=lambda: [])
    private: list[Private] = field(default_factory=lambda: [])

    @property
    def text(self) -> str:
        if len(self.pieces) > 1:
            self.pieces[:] = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""

    @property
    def complete(self) -> bool:
        """Whether its arguments are a JSON object already: more of them can only be another call's."""
        text = self.text.strip()
        return text.endswith("}") and not _arguments(text)[1]

    def block(self, fallback_id: str) -> ToolCall | InvalidToolCall:
        """The call as a block; ``fallback_id`` where the provider gave none."""
        args, why = _arguments(self.text)
        own, private = self.id or fallback_id, tuple(self.private)
        if why:
            return InvalidToolCall(name=self.name or None, args=self.text, error=why, id=own, private=private)
        return ToolCall(self.name, args, id=own, private=private)


class CallTable:
    """The calls of one answer, in the order in which they began."""

    __slots__ = ("_at", "_by_id", "_last", "calls")

    def __init__(self) -> None:
        self.calls: list[OpenCall] = []
        self._by_id: dict[str, OpenCall] = {}
        self._at: dict[int | str, OpenCall] = {}
        """The newest call of each index."""
        self._last: OpenCall | None = None

    def feed(self, piece: CallPiece, place: int) -> tuple[OpenCall, str]:
        """The call that ``piece`` belongs to, begun at ``place`` if it is new, and the text that was new in it."""
        own = _real(piece.id)
        call = self._known(piece, own)
        if call is None:
            call = OpenCall(place)
            self.calls.append(call)
        if own is not None and call.id is None:
            call.id = own
            self._by_id[own] = call
        if piece.index is not None:
            self._at[piece.index] = call
        self._last = call
        call.name = call.name or piece.name or ""
        text = piece.text
        if text and call.complete:
            # JSON that is complete goes on with blanks at most; what else comes is the same call sent again.
            text = ""
        if text:
            call.pieces.append(text)
        return call, text

    def at(self, index: int | str | None) -> OpenCall | None:
        """The newest call under ``index``, or the last one."""
        return self._last if index is None else self._at.get(index)

    def _known(self, piece: CallPiece, own: str | None) -> OpenCall | None:
        if own is not None and own in self._by_id:
            return self._by_id[own]
        here = self.at(piece.index)
        if here is None:
            # A continuation without an index, or one whose first piece had none.
            return self._last if own is None and not piece.name and piece.index is None else None
        if own is not None and here.id is not None:
            return None
        # A name that comes again after complete arguments begins another call, if it brings arguments of its own.
        begins = bool(piece.name) and bool(here.name) and here.complete and bool(piece.text.strip())
        return None if begins and piece.text.strip() != here.text.strip() else here


def _real(given: str | None) -> str | None:
    return None if given is None or given.strip().lower() in PLACEHOLDERS else given


def _arguments(text: str) -> tuple[dict[str, Any], str]:
    """The arguments, or why they are none."""
    if not text.strip():
        return {}, ""
    try:
        found: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        return {}, f"the arguments are not JSON: {error}"
    except UnicodeEncodeError:
        return {}, "the arguments are not Unicode text"
    if not isinstance(found, dict):
        return {}, f"the arguments must be a JSON object, not {json.dumps(found)[:80]}"
    return found, ""  # pyright: ignore[reportUnknownVariableType]
