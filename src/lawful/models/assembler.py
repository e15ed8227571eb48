"""Pieces in, deltas and at last one answer out: the only place where a model's message is put together; pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, assert_never

import msgspec

from lawful.core.llm_errors import StreamBroken
from lawful.core.messages import Block, Message, Private, Reasoning, Text
from lawful.models.calls import CallTable, OpenCall
from lawful.models.deltas import BlockDelta, CallDelta, Completed, Delta, ReasoningDelta, TextDelta
from lawful.models.pieces import (
    AboutPiece,
    AnnotationPiece,
    BlockPiece,
    CallPiece,
    FinishPiece,
    Key,
    Piece,
    PrivatePiece,
    ReasoningPiece,
    TextPiece,
    UsagePiece,
)
from lawful.models.values import FinishReason, Reply, Usage


@dataclass
class _OpenText:
    reasoning: bool
    pieces: list[str] = field(default_factory=lambda: [])
    private: list[Private] = field(default_factory=lambda: [])
    annotations: list[dict[str, Any]] = field(default_factory=lambda: [])

    def block(self) -> Block:
        text, private = "".join(self.pieces), tuple(self.private)
        if self.reasoning:
            return Reasoning(text, private=private)
        return Text(text, self.annotations or None, private=private)


class Assembler:
    """One answer in the making. Feed it every piece, then ask for the `Completed`."""

    def __init__(self, message_id: str, provider: str, model: str) -> None:
        self.message_id = message_id
        self._provider = provider
        self._model = model
        self._blocks: list[_OpenText | OpenCall | Block] = []
        self._texts: dict[tuple[bool, str | int], int] = {}
        self._calls = CallTable()
        self._private: list[Private] = []
        self._usage = Usage()
        self._finish: FinishReason | None = None
        self._response_id: str | None = None

    def feed(self, piece: Piece) -> Delta | None:  # noqa: C901 - one flat match over a closed union
        """What a reader of the stream sees of ``piece``, if anything."""
        match piece:
            case TextPiece(text, key):
                return TextDelta(text, self._said(False, text, key)) if text else None
            case ReasoningPiece(text, key):
                return ReasoningDelta(text, self._said(True, text, key)) if text else None
            case CallPiece():
                return self._called(piece)
            case BlockPiece(block):
                self._blocks.append(block)
                return BlockDelta(block, len(self._blocks) - 1)
            case PrivatePiece():
                self._keep(piece)
            case AnnotationPiece(annotation, key):
                block = self._blocks[self._said(False, "", key)]
                if isinstance(block, _OpenText):
                    block.annotations.append(annotation)
            case UsagePiece(usage):
                self._usage = usage
            case AboutPiece(response_id, model):
                self._response_id = response_id or self._response_id
                self._model = model or self._model
            case FinishPiece(reason):
                self._finish = reason
            case _:
                assert_never(piece)
        return None

    def end(self) -> Completed:
        """The whole answer.

        Raises: StreamBroken, if the stream gave no reason for its end: then something is missing.
        """
        blocks = [self._closed(block) for block in self._blocks]
        finish = self._finish
        if finish is None:
            where = f"{self._provider}:{self._model}"
            said = "\n".join(block.text for block in blocks if isinstance(block, Text))
            raise StreamBroken(
                f"{where}: the stream ended before the answer did",
                component="models",
                operation=where,
                details={"text": said},
            )
        if self._calls.calls and finish in ("stop", "other"):
            finish = "tool_calls"
        message = Message("assistant", tuple(blocks) or (Text(""),), id=self.message_id, private=tuple(self._private))
        return Completed(Reply(message, self._provider, self._model, self._usage, finish, self._response_id))

    def _said(self, reasoning: bool, text: str, key: Key) -> int:
        place = self._place(reasoning, key)
        if place is None:
            place = len(self._blocks)
            self._blocks.append(_OpenText(reasoning))
            if key is not None:
                self._texts[reasoning, key] = place
        block = self._blocks[place]
        if isinstance(block, _OpenText) and text:
            block.pieces.append(text)
        return place

    def _place(self, reasoning: bool, key: Key) -> int | None:
        if key is not None:
            return self._texts.get((reasoning, key))
        last = self._blocks[-1] if self._blocks else None
        return len(self._blocks) - 1 if isinstance(last, _OpenText) and last.reasoning == reasoning else None

    def _called(self, piece: CallPiece) -> Delta:
        call, text = self._calls.feed(piece, len(self._blocks))
        if call.place == len(self._blocks):
            self._blocks.append(call)
        return CallDelta(call.place, text, call.name, call.id)

    def _keep(self, piece: PrivatePiece) -> None:
        held = Private(piece.provider, piece.data)
        if piece.whole:
            self._private.append(held)
            return
        if piece.call:
            call = self._calls.at(piece.key)
            if call is not None:
                call.private.append(held)
            return
        if piece.key is None:
            place = len(self._blocks) - 1
        else:
            place = self._texts.get((True, piece.key), self._texts.get((False, piece.key), -1))
        if place < 0:
            place = self._said(True, "", piece.key)
        block = self._blocks[place]
        if isinstance(block, _OpenText | OpenCall):
            block.private.append(held)
        else:
            self._blocks[place] = msgspec.structs.replace(block, private=(*block.private, held))

    def _closed(self, block: _OpenText | OpenCall | Block) -> Block:
        if isinstance(block, OpenCall):
            return block.block(f"call_{self.message_id[:24]}_{block.place}")
        return block.block() if isinstance(block, _OpenText) else block
