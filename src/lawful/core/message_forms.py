"""The looser forms in which a message may arrive: str, (role, content), and dicts of the common wires."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec

from lawful.core.errors import ParsingError
from lawful.core.failure import nearest
from lawful.core.messages import (
    BLOCKS,
    ROLES,
    Block,
    Image,
    InvalidToolCall,
    Message,
    Part,
    Private,
    RemoveMessage,
    Role,
    Text,
    ToolCall,
    user,
)


def read_message(given: object) -> Message | RemoveMessage:
    """See `lawful.core.messages.coerce`."""
    if isinstance(given, Message | RemoveMessage):
        return given
    if isinstance(given, str):
        return user(given)
    if isinstance(given, tuple | list):
        pair = cast("tuple[object, ...]", given)
        if len(pair) == 2 and isinstance(pair[0], str):
            return Message(_role(pair[0]), _content(pair[1]))
    if isinstance(given, Mapping):
        return _from_dict(cast("Mapping[str, Any]", given))
    # A model's reply has its message under this name.
    inner = getattr(cast("object", given), "message", None)
    if isinstance(inner, Message):
        return inner
    what = type(cast("object", given)).__name__
    raise _refuse(f"a message is a Message, a str, (role, content) or a dict with role and content, not {what}")


def conversation(given: Any) -> list[Message | RemoveMessage]:
    """The messages of a text, a message, a sequence of them, or ``{"messages": [...]}``. Raises: ParsingError."""
    if isinstance(given, str | Message):
        return [read_message(given)]
    if isinstance(given, Mapping):
        told = cast("Mapping[str, Any]", given)
        if set(told) == {"messages"}:
            return conversation(told["messages"])
        return [_from_dict(told)]
    if isinstance(given, tuple) and len(cast("tuple[Any, ...]", given)) == 2 and given[0] in ROLES:
        return [read_message(cast("tuple[Any, ...]", given))]
    if not isinstance(given, Iterable) or isinstance(given, bytes | bytearray):
        return [read_message(given)]
    return [read_message(one) for one in cast("Iterable[object]", given)]


def _from_dict(given: Mapping[str, Any]) -> Message | RemoveMessage:
    told = given.get("role", given.get("type"))
    if not isinstance(told, str):
        raise _refuse(f"a message's dict needs role and content; it has {sorted(map(str, given))}")
    if told == "remove":
        return RemoveMessage(str(given.get("id", "")))
    asked: object = given.get("tool_calls") or ()
    if not isinstance(asked, list | tuple):
        raise _refuse(f"tool_calls is a list, not {type(asked).__name__}")
    calls = tuple(_call(call) for call in cast("list[object]", asked))
    content = given.get("content")
    if content is None and not calls:
        raise _refuse(f"the {told} message has no content")
    # Beside calls an empty text says nothing.
    blocks = () if content is None or (calls and content == "") else _content(content)
    said = {call.id for call in blocks if isinstance(call, ToolCall)}
    return Message(
        _role(told),
        (*blocks, *(call for call in calls if not isinstance(call, ToolCall) or call.id not in said)),
        id=_text_or_none(given, "id"),
        name=_text_or_none(given, "name"),
        tool_call_id=_text_or_none(given, "tool_call_id"),
        private=_convert(given.get("private") or (), tuple[Private, ...]),
    )


def _role(told: str) -> Role:
    role = ROLES.get(told)
    if role is None:
        raise _refuse(f"there is no role {told!r}.{nearest(told, ROLES)}")
    return role


def _content(given: object) -> tuple[Block, ...]:
    if isinstance(given, str):
        return (Text(given),)
    if isinstance(given, Mapping | Part):
        return (_block(cast("object", given)),)
    if isinstance(given, list | tuple):
        blocks = tuple(_block(part) for part in cast("list[object]", given))
        return blocks or (Text(""),)
    raise _refuse(f"content is a str, a block or a list of blocks, not {type(given).__name__}")


def _block(given: object) -> Block:
    if isinstance(given, str):
        return Text(given)
    if isinstance(given, Part):
        return cast("Block", given)
    if not isinstance(given, Mapping):
        raise _refuse(f"a content block is a str or a dict with type, not {type(given).__name__}")
    facts = cast("Mapping[str, Any]", given)
    kind = facts.get("type")
    if kind == "image_url":
        return _image_url(facts.get("image_url"))
    known = BLOCKS.get(kind) if isinstance(kind, str) else None
    if known is None:
        hint = nearest(str(kind), BLOCKS)
        raise _refuse(f"there is no content block of type {kind!r}.{hint} A provider's own goes into non_standard.")
    return cast("Block", _convert(dict(facts), known))


def _image_url(told: object) -> Image:
    url = cast("Mapping[str, object]", told).get("url") if isinstance(told, Mapping) else told
    if not isinstance(url, str):
        raise _refuse("an image_url block needs a url")
    head, comma, data = url.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        return Image(base64=data, mime_type=head[len("data:") : -len(";base64")])
    return Image(url=url)


def _call(given: object) -> ToolCall | InvalidToolCall:
    if isinstance(given, ToolCall | InvalidToolCall):
        return given
    if not isinstance(given, Mapping):
        raise _refuse(f"a tool call is a dict with id, name and args, not {type(given).__name__}")
    facts = cast("Mapping[str, Any]", given)
    call_id = _text_or_none(facts, "id")
    function = facts.get("function")
    if isinstance(function, Mapping):
        # The chat wire: arguments are a text that ought to be JSON.
        inner = cast("Mapping[str, Any]", function)
        name, text = str(inner.get("name", "")), str(inner.get("arguments") or "{}")
        try:
            return ToolCall(name, msgspec.json.decode(text, type=dict[str, Any]), id=call_id)
        except (msgspec.DecodeError, RecursionError) as error:
            return InvalidToolCall(name=name, args=text, id=call_id, error=str(error))
    return _convert({**facts, "type": "tool_call"}, ToolCall)


def _convert(told: object, kind: Any) -> Any:
    try:
        return msgspec.convert(told, kind)
    except msgspec.ValidationError as error:
        what = getattr(kind, "__name__", "part").lower()
        raise _refuse(f"this is no {what} block: {error}") from error


def _text_or_none(given: Mapping[str, Any], key: str) -> str | None:
    value = given.get(key)
    if value is not None and not isinstance(value, str):
        raise _refuse(f"a message's {key} is a str, not {type(value).__name__}")
    return value


def _refuse(why: str) -> ParsingError:
    return ParsingError(why, component="messages", operation="coerce")
