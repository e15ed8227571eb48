"""Digests of effect records: what binds evidence, approvals and the event chain, over core's canonical JSON."""

from __future__ import annotations

import hashlib
from typing import Any, cast

import msgspec

from lawful.core.canonical import canonical
from lawful.core.canonical import digest as core_digest
from lawful.core.errors import ValidationError


def digest(kind: str, value: Any) -> str:
    """64 hex digits over the effects' domain, ``kind`` and the canonical JSON of ``value``."""
    return core_digest(f"effect.v1/{kind}", value).hex()


def chained(previous: bytes, seq: int, blob: bytes) -> bytes:
    """The digest of one event of an operation: over the digest before it, its number and its bytes."""
    return hashlib.sha256(f"effect.v1/event\0{seq}\0".encode() + previous + blob).digest()


def builtins(value: Any, *, what: str) -> Any:
    """``value`` (dataclass, Struct, pydantic model, TypedDict or plain JSON) as JSON types.

    Raises: ValidationError, naming ``what`` and the piece that JSON cannot say.
    """
    dump: Any = getattr(cast("Any", type(value)), "model_dump", None)
    try:
        told: Any = dump(value, mode="json") if dump is not None else msgspec.to_builtins(value, str_keys=True)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise ValidationError(
            f"{what} cannot be written down as JSON: {error}", component="effects", operation=what
        ) from error
    told = lists(told)
    canonical(told, where=what)
    return told


def rebuilt(told: Any, kind: Any, *, what: str) -> Any:
    """The value of type ``kind`` that ``told`` describes. Raises: ValidationError."""
    if kind is None or kind is Any:
        return told
    load = getattr(kind, "model_validate", None)
    try:
        return load(told) if load is not None else msgspec.convert(told, kind)
    except (TypeError, ValueError, NameError, msgspec.MsgspecError) as error:
        raise ValidationError(
            f"{what} does not read back as {getattr(kind, '__qualname__', kind)}: {error}",
            component="effects",
            operation=what,
        ) from error


def lists(value: Any) -> Any:
    """The same with tuples as lists, as they will read back."""
    match value:
        case dict():
            return {key: lists(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
        case list() | tuple():
            return [lists(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
        case _:
            return value
