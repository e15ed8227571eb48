"""Which classes a type annotation says that a value may hold, and which of them can never be stored."""

from __future__ import annotations

import sys
import types
import typing
from collections import abc
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum
from typing import Any

import typing_extensions as tx
from msgspec import Struct, UnsetType

from lawful.core.codec_kinds import is_pydantic
from lawful.core.codec_types import LEAVES
from lawful.core.secret import Secret

_SIMPLE: frozenset[Any] = frozenset(
    {None, type(None), bool, int, float, str, bytes, list, dict, tuple, set, frozenset, object, Any, UnsetType, *LEAVES}
)
_CALLABLE: Any = abc.Callable
_PASSING: tuple[Any, ...] = (abc.Iterator, abc.Awaitable, abc.AsyncIterator)
_NEVER: frozenset[Any] = frozenset({type, range, slice, memoryview, property, BaseException, Secret})


class Unfit(Exception):
    """Inside this package: the annotation names what cannot be stored; becomes a ConfigurationError."""


def classes_in(annotation: Any) -> Iterator[type]:
    """Every class with a codec of its own that a value of ``annotation`` may hold, each once; their fields included.

    Raises: Unfit, for what no codec could store: functions, classes, modules, generators, locks.
    """
    seen: set[int] = set()
    # Kept alive while their ids are in ``seen``.
    kept: list[Any] = []
    todo: list[Any] = [annotation]
    while todo:
        note = todo.pop()
        if id(note) in seen:
            continue
        seen.add(id(note))
        kept.append(note)
        found = _look(note, todo)
        if found is not None:
            yield found


def _look(note: Any, todo: list[Any]) -> type | None:
    """The class to register for this one annotation, if any; what is inside it is added to ``todo``."""
    if isinstance(note, (str, typing.ForwardRef, typing.TypeVar)) or note in _SIMPLE:
        if isinstance(note, typing.TypeVar):
            todo += [note.__bound__, *note.__constraints__]
        return None
    origin = typing.get_origin(note)
    if origin is not None:
        _arguments(note, origin, todo)
        return None
    if (inner := getattr(note, "__supertype__", None) or _alias(note)) is not None:
        todo.append(inner)
        return None
    if tx.is_typeddict(note):
        todo += hints(note).values()
        return None
    return _class(note, todo) if isinstance(note, type) else None


def _alias(note: Any) -> Any:
    return note.__value__ if isinstance(note, tx.TypeAliasType) else None


def _arguments(note: Any, origin: Any, todo: list[Any]) -> None:
    if origin is typing.Literal:
        todo += [type(value) for value in typing.get_args(note) if isinstance(value, Enum)]
        return
    if origin is typing.Annotated:
        todo.append(typing.get_args(note)[0])
        return
    if origin is type or origin is _CALLABLE:
        raise Unfit(f"{note!r} cannot be stored")
    todo += [arg for arg in typing.get_args(note) if arg is not Ellipsis]
    if isinstance(origin, type) and origin is not types.UnionType:
        todo.append(origin)


def _class(cls: Any, todo: list[Any]) -> Any:
    if cls in _NEVER or cls.__module__ in (
        "types",
        "_thread",
        "threading",
        "_io",
        "io",
        "asyncio.locks",
        "asyncio.queues",
    ):
        raise Unfit(f"a {cls.__qualname__} cannot be stored")
    if cls is _CALLABLE or issubclass(cls, (types.FunctionType, types.ModuleType)):
        raise Unfit(f"a {cls.__qualname__} cannot be stored")
    if cls.__module__ in ("collections.abc", "typing", "types") or getattr(cls, "_is_protocol", False):
        if issubclass(cls, _PASSING):
            raise Unfit(f"a {cls.__qualname__} cannot be stored")
        return None
    if issubclass(cls, Enum):
        return cls
    told: Any = cls
    if is_pydantic(cls):
        todo += [field.annotation for field in getattr(told, "__pydantic_fields__", {}).values()]
    elif issubclass(cls, (Struct, tuple)) or hasattr(cls, "__dataclass_fields__"):
        todo += hints(told).values()
    return told


def hints(cls: Any) -> dict[str, Any]:
    """The annotations of ``cls``, those of its bases included; without those in which a name cannot be found."""
    try:
        return tx.get_type_hints(cls, include_extras=True)
    except (NameError, TypeError, AttributeError):
        return _one_by_one(cls)


def _one_by_one(cls: Any) -> dict[str, Any]:
    """As a class within a function needs it, whose annotations name what only that function sees."""
    out: dict[str, Any] = {}
    line: tuple[type, ...] = cls.__mro__
    for base in reversed(line):
        scope = vars(sys.modules[base.__module__]) if base.__module__ in sys.modules else {}
        own = {base.__name__: base, cls.__name__: cls}
        notes: dict[str, Any] = vars(base).get("__annotations__", {})
        for name, note in notes.items():
            holder: Any = types.SimpleNamespace(__annotations__={name: note})
            with suppress(NameError, TypeError, AttributeError):
                out |= tx.get_type_hints(holder, scope, own, include_extras=True)
    return out
