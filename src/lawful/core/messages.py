"""Messages and their typed parts; the JSON of a part equals the ``content_blocks`` convention of LangChain 1.x.

A tool call and what came of it are one record with a state. What only one provider understands travels beside the parts
as bytes under that provider's name, and goes back to no other. Nothing here opens a file or a connection.
"""

from __future__ import annotations

import binascii
import uuid
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from lawful.core.errors import ParsingError, ValidationError
from lawful.core.lazy import late

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool", "function"]

ROLES: Final[dict[str, Role]] = {
    "system": "system",
    "developer": "developer",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "tool": "tool",
    "function": "function",
}
"""Every role by the names that are accepted for it."""

CallState: TypeAlias = Literal["pending", "ok", "error", "denied", "cancelled", "unknown"]
"""What came of a tool call; "unknown": nobody knows whether it happened, and only the ledger may say."""


class Private(Struct, frozen=True, omit_defaults=True):
    """What one provider put beside a part (a signature, encrypted reasoning), kept byte for byte for that provider."""

    provider: str
    data: bytes


class Part(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="type"):
    """What every content block may carry."""

    id: str | None = None
    index: int | str | None = None
    """The block's place in a stream."""
    extras: dict[str, Any] | None = None
    """Fields of a provider that are plain JSON."""
    private: tuple[Private, ...] = ()

    def private_for(self, provider: str) -> bytes | None:
        """What ``provider`` put here, or None; nobody else's."""
        return next((held.data for held in self.private if held.provider == provider), None)


class Text(Part, frozen=True, tag="text"):
    """A piece of text."""

    text: str
    annotations: list[dict[str, Any]] | None = None
    """Citations, as the convention writes them."""


class Reasoning(Part, frozen=True, tag="reasoning"):
    """What a model thought aloud."""

    reasoning: str = ""


class ToolCall(Part, frozen=True, tag="tool_call"):
    """A model's call of a tool, and what came of it.

    While it is pending its JSON is the convention's ``tool_call``; ``state`` and ``output`` are added when it is settled.
    """

    name: str
    args: dict[str, Any]
    state: CallState = "pending"
    output: Any = None
    """JSON: what the tool gave, or the text of the error."""

    def settled(self, state: CallState, output: Any = None) -> ToolCall:
        """The call with its outcome.

        Raises: ValidationError, if it has another outcome already; an unknown one may still be found out.
        """
        if self.state not in ("pending", "unknown") and (self.state, self.output) != (state, output):
            raise ValidationError(
                f"tool call {self.id!r} of {self.name!r} is {self.state!r} already, not {state!r}",
                component="messages",
                operation="settled",
                details={"call": self.id or "", "tool": self.name, "state": self.state},
            )
        return msgspec.structs.replace(self, state=state, output=output)


class InvalidToolCall(Part, frozen=True, tag="invalid_tool_call"):
    """A call that could not be read: its arguments are not JSON."""

    name: str | None = None
    args: str | None = None
    error: str | None = None


class _Media(Part, frozen=True):
    """Bytes by address, by a provider's file id, or as base64; exactly one of the three."""

    url: str | None = None
    base64: str | None = None
    file_id: str | None = None
    mime_type: str | None = None

    _kind: ClassVar[str] = "media"

    def __post_init__(self) -> None:
        given = [name for name in ("url", "base64", "file_id") if getattr(self, name) is not None]
        if len(given) != 1:
            raise _unfit(self._kind, f"needs exactly one of url, base64 and file_id, not {given or 'none'}")
        if self.base64 is not None:
            if not self.mime_type:
                raise _unfit(self._kind, "needs mime_type beside base64")
            try:
                binascii.a2b_base64(self.base64, strict_mode=True)
            except (binascii.Error, ValueError) as error:
                raise _unfit(self._kind, f"its base64 is not valid: {error}") from error


class Image(_Media, frozen=True, tag="image"):
    """A picture."""

    _kind: ClassVar[str] = "image"


class Audio(_Media, frozen=True, tag="audio"):
    """A recording."""

    _kind: ClassVar[str] = "audio"


class Video(_Media, frozen=True, tag="video"):
    """A film."""

    _kind: ClassVar[str] = "video"


class File(_Media, frozen=True, tag="file"):
    """Any other document, such as a PDF."""

    _kind: ClassVar[str] = "file"


class NonStandard(Part, frozen=True, tag="non_standard"):
    """A provider's own block for which the convention has no name."""

    value: dict[str, Any]


Block: TypeAlias = Text | Reasoning | ToolCall | InvalidToolCall | Image | Audio | Video | File | NonStandard
"""The closed union of content blocks."""

BLOCKS: Final[dict[str, type[Part]]] = {
    "text": Text,
    "reasoning": Reasoning,
    "tool_call": ToolCall,
    "invalid_tool_call": InvalidToolCall,
    "image": Image,
    "audio": Audio,
    "video": Video,
    "file": File,
    "non_standard": NonStandard,
}
"""The same by the ``type`` of their JSON."""


class Message(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What one side said: a role and at least one block."""

    role: Role
    content: tuple[Block, ...]
    id: str | None = None
    name: str | None = None
    """Who speaks, where several share a role; of a tool message the tool."""
    tool_call_id: str | None = None
    """Of a tool message: the call that it answers."""
    private: tuple[Private, ...] = ()

    def __post_init__(self) -> None:
        if not self.content:
            raise _unfit(f"{self.role} message", "its content is empty; an empty text is Text('')")

    @property
    def text(self) -> str:
        """Its text blocks, joined by newlines."""
        return "\n".join(block.text for block in self.content if isinstance(block, Text))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Its tool calls, with their outcomes."""
        return tuple(block for block in self.content if isinstance(block, ToolCall))

    @property
    def content_blocks(self) -> list[dict[str, Any]]:
        """The blocks as the convention writes them: without private bytes and without the outcomes of calls."""
        return [_conventional(block) for block in self.content]

    def named(self, id: str) -> Message:
        """The same message under ``id``."""
        return msgspec.structs.replace(self, id=id)

    def with_outcome(self, call_id: str, state: CallState, output: Any = None) -> Message:
        """The message with the outcome of its call ``call_id`` in it.

        Raises: ValidationError, if it holds no such call or the call has another outcome.
        """
        if not any(call.id == call_id for call in self.calls):
            raise ValidationError(
                f"message {self.id!r} holds no tool call {call_id!r}", component="messages", operation="with_outcome"
            )
        return msgspec.structs.replace(
            self,
            content=tuple(
                block.settled(state, output) if isinstance(block, ToolCall) and block.id == call_id else block
                for block in self.content
            ),
        )


class RemoveMessage(Struct, frozen=True, tag_field="role", tag="remove", forbid_unknown_fields=True):
    """In an update of add_messages: delete the message of this id."""

    id: str


def fresh_id() -> str:
    """32 hex digits that no other message has."""
    return uuid.uuid4().hex


def system(text: str) -> Message:
    return Message("system", (Text(text),))


def user(*said: str | Block) -> Message:
    return Message("user", tuple(Text(part) if isinstance(part, str) else part for part in said))


def assistant(*said: str | Block) -> Message:
    return Message("assistant", tuple(Text(part) if isinstance(part, str) else part for part in said))


def tool_result(call_id: str, text: str, *, name: str | None = None) -> Message:
    return Message("tool", (Text(text),), name=name, tool_call_id=call_id)


LABELS: Final[dict[Role, str]] = {
    "system": "System",
    "developer": "Developer",
    "user": "User",
    "assistant": "Assistant",
    "tool": "Tool",
    "function": "Function",
}


def transcript(messages: Iterable[Message]) -> str:
    """The conversation for reading: a line ``Role: text`` for each message, calls as ``name(args) -> state``."""
    lines: list[str] = []
    for message in messages:
        label = LABELS[message.role] + (f" ({message.name})" if message.name else "")
        said = [message.text] if message.text else []
        said += [f"{call.name}({_arguments(call.args)}) -> {call.state}" for call in message.calls]
        shown = [type(part).__name__.lower() for part in message.content if isinstance(part, _Media)]
        said += [f"[{kind}]" for kind in shown]
        lines.append(f"{label}: {' '.join(said)}".rstrip())
    return "\n".join(lines)


def open_calls(messages: Sequence[Message]) -> list[ToolCall]:
    """The calls that are still pending and that no tool message answers, in order."""
    answered = {message.tool_call_id for message in messages if message.tool_call_id is not None}
    return [
        call for message in messages for call in message.calls if call.state == "pending" and call.id not in answered
    ]


def message_json(message: Message | RemoveMessage) -> dict[str, Any]:
    """The message as plain JSON; bytes as base64, absent fields left out."""
    told: dict[str, Any] = msgspec.to_builtins(message)
    if isinstance(message, Message):
        told["content"] = [_with_lists(block) for block in told["content"]]
    return _with_lists(told)


def message_from_json(told: object) -> Message | RemoveMessage:
    """What ``message_json`` gave, exactly; `coerce` reads the looser forms.

    Raises: ParsingError, naming the place, for an unknown block type, field or role.
    """
    kind = RemoveMessage if isinstance(told, dict) and told.get("role") == "remove" else Message  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    try:
        return msgspec.convert(told, kind)
    except msgspec.ValidationError as error:
        raise ParsingError(f"this is no message: {error}", component="messages", operation="from_json") from error


def coerce(given: Any) -> Message | RemoveMessage:
    """A message from any of the forms that are accepted at the edge.

    A Message or RemoveMessage as it is; a str is the user's; (role, content); a dict with "role" (or "type") and
    "content", the forms of the OpenAI and LangChain wires included. Content is a str, a block, or a list of these.

    Raises: ParsingError, which says what is wrong and names the nearest valid role or block type.
    """
    if isinstance(given, Message | RemoveMessage):
        return given
    return late("lawful.core.message_forms").read_message(given)


def _with_lists(told: dict[str, Any]) -> dict[str, Any]:
    """JSON has no tuples; the only ones that are ours hold private bytes."""
    if "private" in told:
        told["private"] = list(told["private"])
    return told


def _conventional(block: Block) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(block)
    told.pop("private", None)
    if isinstance(block, ToolCall):
        told.pop("state", None)
        told.pop("output", None)
        told.setdefault("id", None)
    elif isinstance(block, InvalidToolCall):
        for key in ("id", "name", "args", "error"):
            told.setdefault(key, None)
    return told


def _arguments(args: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in args.items())


def _unfit(what: str, why: str) -> ValidationError:
    return ValidationError(f"{what}: {why}", component="messages", operation=what)
