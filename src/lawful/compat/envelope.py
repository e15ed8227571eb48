"""LangGraph's stored values as data: its msgpack and JSON envelopes, read by a closed table; nothing is imported by a name."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias, cast
from uuid import UUID

import msgspec

from lawful.core.codec import Registry
from lawful.core.codec_kinds import Misfit, is_pydantic
from lawful.core.errors import UnknownType
from lawful.core.lazy import late
from lawful.graph.command import Overwrite, Send
from lawful.graph.policies import TimeoutPolicy

SINGLE, POSITIONAL, KEYWORDS, METHOD, PYDANTIC_1, PYDANTIC_2, ARRAY, DELTA = range(8)
"""Its extension codes."""

BASE: Final = ("content", "additional_kwargs", "response_metadata", "type", "name", "id")
FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "HumanMessage": BASE,
    "HumanMessageChunk": BASE,
    "SystemMessage": BASE,
    "SystemMessageChunk": BASE,
    "AIMessage": (*BASE, "tool_calls", "invalid_tool_calls", "usage_metadata"),
    "AIMessageChunk": (
        *BASE,
        "tool_calls",
        "invalid_tool_calls",
        "usage_metadata",
        "tool_call_chunks",
        "chunk_position",
    ),
    "ToolMessage": (*BASE, "tool_call_id", "artifact", "status"),
    "ToolMessageChunk": (*BASE, "tool_call_id", "artifact", "status"),
    "ChatMessage": (*BASE, "role"),
    "ChatMessageChunk": (*BASE, "role"),
    "FunctionMessage": BASE,
    "FunctionMessageChunk": BASE,
    "RemoveMessage": BASE,
    "Document": ("id", "metadata", "page_content", "type"),
}
"""langchain's classes that are read, each with its own fields; anything else on a message is an extra of a provider's."""


class Delta(NamedTuple):
    """A whole value of a channel that is kept as deltas otherwise."""

    value: Any


class Asked(NamedTuple):
    """An interrupt of LangGraph's."""

    value: Any
    id: str


class Kept:
    """An object of langchain's as it is stored: read without that package, built where a thread is gone on with."""

    __slots__ = ("body",)

    def __init__(self, body: dict[str, Any]) -> None:
        self.body = body

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.body == cast("Kept", other).body

    __hash__ = None  # type: ignore[assignment]


KEPT: Final[Mapping[str, type[Kept]]] = {name: type(name, (Kept,), {"__slots__": ()}) for name in FIELDS}


def register_kept(registry: Registry) -> Registry:
    """Let these be written in the form in which the real objects are."""
    for name, cls in KEPT.items():
        registry.register(cls, id=f"langchain:{name}", encode=_body, decode=cls)
    for cls in (Overwrite, Send, TimeoutPolicy):
        if registry.codec_of(cls) is None:
            registry.register(cls, id=f"lawful:{cls.__name__}")
    return registry


def _body(kept: Kept) -> dict[str, Any]:
    return kept.body


class Unknown(Exception):
    """Inside this module: a class that the table does not have."""


_REFUSED = (Unknown, Misfit, msgspec.MsgspecError, ValueError, TypeError, KeyError)


class _Later:
    """An extension whose bytes are read once it is known whose value it is."""

    __slots__ = ("code", "data")

    def __init__(self, code: int, data: memoryview) -> None:
        self.code = code
        self.data = bytes(data)


Maker: TypeAlias = Callable[[int, Any], Any]


def _send(args: Sequence[Any]) -> Send:
    return Send(*args)


def _instant(arg: Any) -> datetime:
    return datetime.fromisoformat(arg)


_TABLE: Final[Mapping[tuple[str, str], Callable[[Any], Any]]] = {
    ("builtins", "set"): set,
    ("builtins", "frozenset"): frozenset,
    ("collections", "deque"): deque,
    ("uuid", "UUID"): UUID,
    ("decimal", "Decimal"): Decimal,
    ("datetime", "datetime"): _instant,
    ("datetime", "date"): lambda args: date(*args),
    ("datetime", "time"): lambda kwargs: time(**kwargs),
    ("datetime", "timedelta"): lambda args: timedelta(*args),
    ("datetime", "timezone"): lambda args: timezone(*args),
    ("zoneinfo", "ZoneInfo"): lambda key: late("zoneinfo", "ZoneInfo")(key),
    ("langgraph.types", "Send"): _send,
    ("langgraph.types", "Interrupt"): lambda kwargs: Asked(kwargs["value"], str(kwargs.get("id", ""))),
    ("langgraph.types", "Overwrite"): lambda kwargs: Overwrite(kwargs["value"]),
    ("langgraph.types", "TimeoutPolicy"): lambda kwargs: TimeoutPolicy(**kwargs),
}
"""Module and name to the function that makes a value of what is stored beside them."""


class Envelope:
    """Reads stored values; ``registry`` holds the program's own classes, which its graph names."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._decode = msgspec.msgpack.Decoder(ext_hook=self._ext).decode

    def read(self, kind: str | None, data: bytes | None, where: str) -> Any:
        """The value of a stored pair of type and bytes.

        Raises: UnknownType, which names ``where`` and the class, with the bytes in ``raw``; nothing of it is built then.
        """
        blob = data if data is not None else b""
        try:
            match kind:
                case "null" | None | "empty":
                    return None
                case "bytes":
                    return bytes(blob)
                case "bytearray":
                    return bytearray(blob)
                case "msgpack":
                    return self._decode(blob)
                case "json":
                    return self._revived(json.loads(blob))
                case _:
                    raise Unknown(f"the form {kind!r}, which is not read (a pickle may run anything)")
        except _REFUSED as error:
            return self._refused(error, where, blob)

    def checkpoint(self, kind: str | None, data: bytes, where: str) -> Any:
        """A whole checkpoint; an error names the key whose value it is about."""
        if kind != "msgpack":
            return self.read(kind, data, where)
        try:
            told: dict[str, Any] = msgspec.msgpack.decode(data, ext_hook=_Later)
            values = told.get("channel_values", {})
        except (msgspec.MsgspecError, AttributeError, TypeError) as error:
            return self._refused(error, where, data)
        made = {k: self._settled(v, f"{where}, key {k!r}", data) for k, v in values.items()}
        rest = {k: v for k, v in told.items() if k != "channel_values"}
        return {**self._settled(rest, where, data), "channel_values": made}

    def _settled(self, value: Any, where: str, data: bytes) -> Any:
        try:
            return self._walked(value)
        except _REFUSED as error:
            return self._refused(error, where, data)

    def _walked(self, value: Any) -> Any:
        if isinstance(value, _Later):
            return self._ext(value.code, memoryview(value.data))
        if isinstance(value, list):
            return [self._walked(each) for each in cast("list[Any]", value)]
        if isinstance(value, dict):
            return {k: self._walked(v) for k, v in cast("dict[Any, Any]", value).items()}
        return value

    def _refused(self, error: Exception, where: str, data: bytes) -> NoReturn:
        said = str(error) or type(error).__name__
        failed = UnknownType(f"{where} holds {said}", component="compat", operation="import", details={"where": where})
        failed.raw = bytes(data)
        raise failed from error

    def _ext(self, code: int, data: memoryview) -> Any:
        body = self._decode(data)
        if code == DELTA:
            return Delta(body)
        if code == ARRAY or not isinstance(body, list) or len(cast("list[Any]", body)) < 3:
            raise Unknown("a numpy array" if code == ARRAY else "an envelope of another form")
        module, name, arg = cast("list[Any]", body)[:3]
        return self._made(code, str(module), str(name), arg)

    def _made(self, code: int, module: str, name: str, arg: Any) -> Any:
        made = _TABLE.get((module, name))
        if made is not None:
            return made(arg)
        if module.startswith("langchain_core.") and name in KEPT:
            return kept(name, arg)
        # It keeps a class's short name, we the whole one.
        ids = [each for each in self._registry.ids() if each.startswith(f"{module}:") and _short(each) == name]
        codec = self._registry.by_id(ids[0]) if len(ids) == 1 else None
        cls: Any = None if codec is None else codec.cls
        if codec is None or cls is None:
            raise Unknown(f"a value of {module}:{name}: give the graph whose state has it, --graph module:name")
        if is_pydantic(cls):
            return cls.model_validate(arg)  # what is nested in it was stored as plain dicts
        if code == SINGLE and issubclass(cls, Enum):
            return cls(arg)
        return codec.make(arg)

    def _revived(self, told: Any) -> Any:
        """The older form: JSON with the constructor's name beside its arguments."""
        if isinstance(told, list):
            return [self._revived(each) for each in cast("list[Any]", told)]
        if not isinstance(told, dict):
            return told
        given = {k: self._revived(v) for k, v in cast("dict[str, Any]", told).items()}
        if given.get("lc") not in (1, 2) or given.get("type") != "constructor":
            return given
        *module, name = given["id"]
        args: Sequence[Any] = given.get("args") or ()
        kwargs: dict[str, Any] = given.get("kwargs") or {}
        if name in KEPT and str(module[0]).startswith("langchain"):
            return kept(name, kwargs)
        if name == "Send" or (module == ["datetime"] and name in ("date", "timedelta", "timezone")):
            return self._made(POSITIONAL, ".".join(module), name, args)
        return self._made(SINGLE, ".".join(module), name, kwargs or (args[0] if args else None))


def _short(type_id: str) -> str:
    return type_id.partition(":")[2].rpartition(".")[2]


def kept(name: str, fields: Mapping[str, Any]) -> Kept:
    """An object of langchain's from its fields, in the form that its codec writes."""
    known = FIELDS[name]
    body: dict[str, Any] = {
        "fields": {k: v for k, v in fields.items() if k in known},
        "set": sorted(k for k in fields if k in known),
    }
    if extra := {k: v for k, v in fields.items() if k not in known}:
        body["extra"] = extra
    return KEPT[name](body)
