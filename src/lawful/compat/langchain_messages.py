"""Messages of langchain_core and ours, each as the other; what only langchain has travels along as private bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from lawful.core.errors import ParsingError
from lawful.core.lazy import late
from lawful.core.messages import (
    BLOCKS,
    ROLES,
    Block,
    InvalidToolCall,
    Message,
    NonStandard,
    Private,
    RemoveMessage,
    Text,
    ToolCall,
    coerce,
)

PROVIDER: Final = "langchain"
"""Under this name stands what langchain put beside a message."""
BESIDE: Final = ("additional_kwargs", "response_metadata", "usage_metadata", "status", "artifact")
EXTRA: Final = "langchain"


def from_langchain(message: Any) -> Message | RemoveMessage:
    """A message of langchain's as one of ours. Raises: ParsingError, for what is none, or of a role that we have not."""
    kind = getattr(message, "type", None)
    if kind == "remove":
        return RemoveMessage(message.id)
    if not isinstance(kind, str) or not hasattr(message, "content_blocks"):
        raise ParsingError(
            f"a {type(message).__name__} is no message of langchain's", component="compat", operation="from_langchain"
        )
    role = ROLES.get(kind.removesuffix("MessageChunk").lower(), None) if kind != "chat" else ROLES.get(message.role)
    if role is None:
        raise ParsingError(f"there is no role {kind!r}", component="compat", operation="from_langchain")
    blocks = tuple(_block(block) for block in cast("Iterable[Mapping[str, Any]]", message.content_blocks))
    said = {block.id for block in blocks if isinstance(block, InvalidToolCall)}
    invalid = [_block({**call, "type": "invalid_tool_call"}) for call in getattr(message, "invalid_tool_calls", ())]
    return Message(
        role,
        (*blocks, *(call for call in invalid if call.id not in said)) or (Text(""),),
        id=message.id,
        name=message.name,
        tool_call_id=getattr(message, "tool_call_id", None),
        private=_beside(message),
    )


def to_langchain(message: Any) -> Any:
    """One of our messages, in any form that `coerce` reads, as langchain's. Raises: ConfigurationError without langchain."""
    given = coerce(message)
    kinds = late("langchain_core.messages", extra=EXTRA)
    if isinstance(given, RemoveMessage):
        return kinds.RemoveMessage(id=given.id)
    more: dict[str, Any] = {"id": given.id, "name": given.name, **_told(given)}
    content = _content(given)
    match given.role:
        case "assistant":
            calls = [{"name": c.name, "args": c.args, "id": c.id, "type": "tool_call"} for c in given.calls]
            bad = [b for b in given.content if isinstance(b, InvalidToolCall)]
            invalid = [{"name": b.name, "args": b.args, "id": b.id, "error": b.error} for b in bad]
            return kinds.AIMessage(content, tool_calls=calls, invalid_tool_calls=invalid, **more)
        case "tool":
            return kinds.ToolMessage(content, tool_call_id=given.tool_call_id or "", **more)
        case "function":
            return kinds.FunctionMessage(content, **{**more, "name": given.name or ""})
        case "user":
            return kinds.HumanMessage(content, **more)
        case "developer":
            kwargs = {**more.pop("additional_kwargs", {}), "__openai_role__": "developer"}
            return kinds.SystemMessage(content, additional_kwargs=kwargs, **more)
        case "system":
            return kinds.SystemMessage(content, **more)


def conversation(messages: Iterable[Any]) -> list[Any]:
    """A conversation as langchain's messages: a call that bears its outcome is followed by a ToolMessage with it."""
    given = [coerce(message) for message in messages]
    answered = {message.tool_call_id for message in given if isinstance(message, Message)}
    out: list[Any] = []
    for message in given:
        out.append(to_langchain(message))
        for call in message.calls if isinstance(message, Message) else ():
            if call.state != "pending" and call.id not in answered:
                status = "success" if call.state == "ok" else "error"
                text = call.output if isinstance(call.output, str) else msgspec.json.encode(call.output).decode()
                kind = late("langchain_core.messages", "ToolMessage")
                out.append(kind(text, tool_call_id=call.id or "", name=call.name, status=status))
    return out


def _block(told: Mapping[str, Any]) -> Block:
    kind = BLOCKS.get(str(told.get("type")))
    if kind is not None:
        try:
            return cast("Block", msgspec.convert({k: v for k, v in told.items() if v is not None or k == "id"}, kind))
        except (msgspec.ValidationError, TypeError):
            pass  # a field more than the convention has: kept whole, below
    return NonStandard(value=dict(told))


def _content(message: Message) -> Any:
    """The text alone where there is nothing else; tool calls have a place of their own."""
    shown = [b for b in message.content if not isinstance(b, ToolCall | InvalidToolCall)]
    if not shown:
        return ""
    if len(shown) == 1 and type(shown[0]) is Text and shown[0] == Text(shown[0].text):
        return shown[0].text
    blocks = msgspec.structs.replace(message, content=tuple(shown)).content_blocks
    return [block["value"] if block["type"] == "non_standard" else block for block in blocks]


def _beside(message: Any) -> tuple[Private, ...]:
    told = {name: value for name in BESIDE if (value := getattr(message, name, None))}
    if told.get("status") == "success":
        del told["status"]
    if not told:
        return ()
    try:
        return (Private(PROVIDER, msgspec.json.encode(told)),)
    except (TypeError, ValueError):
        plain = {k: v for k, v in told.items() if _is_json(v)}
        return (Private(PROVIDER, msgspec.json.encode(plain)),) if plain else ()


def _is_json(value: Any) -> bool:
    try:
        msgspec.json.encode(value)
    except (TypeError, ValueError):
        return False
    return True


def _told(message: Message) -> dict[str, Any]:
    data: Sequence[bytes] = [held.data for held in message.private if held.provider == PROVIDER]
    return dict(msgspec.json.decode(data[0])) if data else {}
