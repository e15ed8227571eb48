"""A conversation as providers want it: each call beside its one result, nothing left open; pure.

A request can only be made of a closed conversation, so that no provider ever sees a call without a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from lawful.core.errors import ValidationError
from lawful.core.messages import Block, CallState, InvalidToolCall, Message, Text, ToolCall


class Result(Struct, frozen=True):
    """What came of one call, as the model is told it."""

    call_id: str
    name: str
    content: tuple[Block, ...]
    failed: bool = False

    @property
    def text(self) -> str:
        return "\n".join(block.text for block in self.content if isinstance(block, Text))


class Said(Struct, frozen=True):
    """A message without calls."""

    message: Message


class Called(Struct, frozen=True):
    """The assistant's message with calls, and their results in the calls' order."""

    message: Message
    results: tuple[Result, ...]


Turn: TypeAlias = Said | Called


def closed(messages: Sequence[Message]) -> list[Turn]:
    """The conversation as turns.

    A call's outcome stands in the call itself or in a tool message after it; where both are, the tool message is told.

    Raises: ValidationError, naming the call, for a call without a result or without an id, a second call of the same id
    that is still open, and a tool message that answers no call.
    """
    answers: dict[int, dict[str, Message]] = {}
    open_at: dict[str, int] = {}
    for at, message in enumerate(messages):
        if message.role in ("tool", "function"):
            asked = open_at.pop(message.tool_call_id or "", None)
            if asked is None:
                raise _refuse(
                    f"the tool message at {at} answers call {message.tool_call_id!r}, which no message before it makes"
                    " or which has its answer",
                    message.tool_call_id,
                )
            answers.setdefault(asked, {})[message.tool_call_id or ""] = message
            continue
        for call in _calls(message):
            if not call.id:
                raise _refuse(f"the call of {call.name!r} at {at} has no id", None)
            open_at[call.id] = at
    return [
        _turn(message, answers.get(at, {}), at)
        for at, message in enumerate(messages)
        if message.role not in ("tool", "function")
    ]


_KNOWN: Final[dict[int, tuple[Message, ...]]] = {}
"""Conversations that were found closed, by their first message: an agent asks with the same one and a little more."""
_MOST = 8


def must_be_closed(messages: tuple[Message, ...]) -> None:
    """The check of `closed` alone, for every request; of a conversation that grows only what is new is looked at.

    Raises: ValidationError, as `closed` does.
    """
    key = id(messages[0]) if messages else 0
    known = _KNOWN.get(key, ())
    begin = len(known)
    # Tuples compare by identity first, so that this costs some nanoseconds a message.
    if begin > len(messages) or messages[:begin] != known:
        begin = 0
    if not _is_closed(messages[begin:]):
        closed(messages)
    _KNOWN.pop(key, None)
    while len(_KNOWN) >= _MOST:
        _KNOWN.pop(next(iter(_KNOWN), 0), None)
    _KNOWN[key] = messages


def _is_closed(messages: Sequence[Message]) -> bool:
    """Whether that is plain; where not, `closed` says what it is."""
    pending: dict[str | None, bool] = {}
    for message in messages:
        if message.role in ("tool", "function"):
            if pending.pop(message.tool_call_id, None) is None:
                return False
            continue
        for call in _calls(message):
            if not call.id or pending.get(call.id):
                return False
            pending[call.id] = isinstance(call, ToolCall) and call.state == "pending"
    return not any(pending.values())


def _calls(message: Message) -> list[ToolCall | InvalidToolCall]:
    return [block for block in message.content if isinstance(block, ToolCall | InvalidToolCall)]


def _turn(message: Message, answers: dict[str, Message], at: int) -> Turn:
    calls = _calls(message)
    if not calls:
        return Said(message)
    return Called(message, tuple(_result(call, answers.get(call.id or ""), at) for call in calls))


def _result(call: ToolCall | InvalidToolCall, answer: Message | None, at: int) -> Result:
    own, name = call.id or "", call.name or ""
    state: CallState = call.state if isinstance(call, ToolCall) else "error"
    if answer is not None:
        return Result(own, name, answer.content, state not in ("ok", "pending") or isinstance(call, InvalidToolCall))
    if isinstance(call, InvalidToolCall):
        return Result(own, name, (Text(f"not run: {call.error or 'the arguments are not JSON'}"),), True)
    match call.state:
        case "pending":
            raise _refuse(f"the call {own!r} of {name!r} at {at} has no result yet", own)
        case "ok":
            return Result(own, name, (Text(as_text(call.output)),))
        case "denied" | "cancelled" | "unknown" | "error":
            told = as_text(call.output) if call.output is not None else _NO_WORDS[call.state]
            return Result(own, name, (Text(told),), True)


_NO_WORDS: dict[CallState, str] = {
    "error": "the tool failed",
    "denied": "not allowed; it was not run",
    "cancelled": "cancelled",
    "unknown": "it is not known whether this happened; do not call it again",
}


def as_text(output: object) -> str:
    """What a tool gave, as text: a str as it is, all else as JSON."""
    return output if isinstance(output, str) else msgspec.json.encode(output).decode()


def _refuse(why: str, call: str | None) -> ValidationError:
    return ValidationError(
        f"this conversation cannot be sent: {why}",
        component="models",
        operation="request",
        details={"call": call or ""},
    )
