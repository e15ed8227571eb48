"""Pure: paths into a JSON value, and the texts that stand at their ends; LangGraph's notation for what an index reads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn, TypeAlias, assert_never, cast

from msgspec import Struct

from lawful.core.errors import ValidationError

WHOLE: Final = "$"
"""The path of the value itself."""


class Field(Struct, frozen=True):
    """One key of an object."""

    name: str


class Place(Struct, frozen=True):
    """One element of a list; below 0 from its end."""

    n: int


class Every(Struct, frozen=True):
    """Each element of a list; with ``keys`` each value of an object too."""

    keys: bool


class Group(Struct, frozen=True):
    """Several paths from here, in their order."""

    paths: tuple[Path, ...]


Step: TypeAlias = "Field | Place | Every | Group"
Path: TypeAlias = tuple[Step, ...]

_TOKEN = re.compile(r"(?P<dot>\.)|\[(?P<at>\*|-?[0-9]{1,9})\]|\{(?P<group>[^{}]*)\}|(?P<name>[^.\[\]{}]+)")


def path_of(text: Any) -> Path:
    """The steps of ``a.b``, ``a[0]``, ``a[*].b``, ``a.*`` or ``a.{b,c}``; none for ``$``. Raises: ValidationError."""
    if not isinstance(text, str) or not text:
        refuse_path(text, "is empty" if text == "" else f"is a {type(text).__name__}, not a str")
    if text == WHOLE:
        return ()
    steps: list[Step] = []
    at, between = 0, True
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            refuse_path(text, f"cannot be read from {text[at:]!a} on")
        kind, at = found.lastgroup, found.end()
        if kind == "dot":
            if between or at == len(text):
                refuse_path(text, "has a dot with nothing beside it")
            between = True
            continue
        if kind != "at" and not between:
            refuse_path(text, f"lacks a dot before {found.group()!a}")
        steps.append(_step(text, kind, found.group(cast("str", kind))))
        between = False
    return tuple(steps)


def _step(text: str, kind: str | None, told: str) -> Step:
    if kind == "at":
        return Every(keys=False) if told == "*" else Place(int(told))
    if kind == "group":
        return Group(tuple(path_of(part.strip()) for part in told.split(",")))
    return Every(keys=True) if told == "*" else Field(told)


def refuse_path(text: object, why: str) -> NoReturn:
    raise ValidationError(
        f"the path {text!a} {why}; a path is '$', 'field', 'a.b', 'a[0]', 'a[*].b' or 'a.{{b,c}}'",
        component="store",
        operation="index",
        details={"path": ascii(text)},
    )


def texts_at(value: Any, path: Path) -> Iterator[str]:
    """What stands where ``path`` leads, as texts: objects and lists as JSON; nothing for None, blanks and what is missing."""
    if not path:
        text = _text(value)
        if text.strip():
            yield text
        return
    step, rest = path[0], path[1:]
    if isinstance(step, Group):
        for part in step.paths:
            yield from texts_at(value, (*part, *rest))
        return
    for inner in _below(value, step):
        yield from texts_at(inner, rest)


def _below(value: Any, step: Field | Place | Every) -> Sequence[Any]:
    if isinstance(value, list):
        return _elements(cast("list[Any]", value), step)
    if not isinstance(value, Mapping):
        return ()
    told = cast("Mapping[str, Any]", value)
    match step:
        case Field():
            return (told[step.name],) if step.name in told else ()
        case Every():
            return tuple(told.values()) if step.keys else ()
        case Place():
            return ()
        case _:
            assert_never(step)


def _elements(value: list[Any], step: Field | Place | Every) -> Sequence[Any]:
    match step:
        case Field():
            return ()
        case Every():
            return value
        case Place():
            return (value[step.n],) if -len(value) <= step.n < len(value) else ()
        case _:
            assert_never(step)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, ensure_ascii=False) if isinstance(value, Mapping | list) else str(value)
