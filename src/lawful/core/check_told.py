"""How a type and a wrong value are named in a message: short, and readable by who wrote them."""

from __future__ import annotations

import reprlib
import typing
from types import UnionType
from typing import Any

_short = reprlib.Repr()
_short.maxstring = _short.maxother = 40
_short.maxlist = _short.maxtuple = _short.maxset = _short.maxfrozenset = _short.maxdict = 3
_short.maxlevel = 2


def got(value: Any) -> str:
    """The value's type and the beginning of what it looks like: ``str 'x'``."""
    if value is None:
        return "None"
    try:
        shown = _short.repr(value)
    except (TypeError, ValueError, AttributeError, LookupError, RecursionError):
        shown = ""
    return f"{type(value).__qualname__} {shown}".rstrip()


def told(note: Any) -> str:
    """An annotation as it is written: ``list[int] | None``."""
    if note is None or note is type(None):
        return "None"
    if note is Ellipsis:
        return "..."
    origin = typing.get_origin(note)
    args = typing.get_args(note)
    if origin is typing.Annotated:
        return told(args[0])
    if origin is typing.Literal:
        return " | ".join(repr(arg) for arg in args)
    if origin is typing.Union or origin is UnionType:
        return " | ".join(told(arg) for arg in args)
    if origin is not None:
        return _generic(origin, args)
    if isinstance(note, typing.TypeVar):
        return " | ".join(map(told, note.__constraints__)) or note.__name__
    return str(getattr(note, "__qualname__", note))


def _generic(origin: Any, args: tuple[Any, ...]) -> str:
    name = getattr(origin, "__name__", str(origin))
    if not args:
        return "tuple[()]" if origin is tuple else name
    return f"{name}[{', '.join('...' if isinstance(arg, list) else told(arg) for arg in args)}]"
