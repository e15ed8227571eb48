"""Tests of values that are made of parts: containers, records, unions, literals; each names the part that does not fit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

from lawful.core.check_told import got, told
from lawful.core.codec_types import class_of
from lawful.core.failure import nearest

Miss: TypeAlias = tuple[str, str]
"""The path inside the value, and what is wrong there."""
Test: TypeAlias = Callable[[Any], Miss | None]


class Part(NamedTuple):
    """The compiled test of an element, key or field."""

    test: Test | None
    fast: frozenset[type]
    note: Any


def _passes(part: Part, values: Any) -> bool:
    """Whether all of ``values`` pass by their exact types alone."""
    return part.test is None or part.fast.issuperset(map(type, values))


def _first_miss(part: Part, values: Any) -> tuple[int, Any, Miss] | None:
    """The index, the value and the miss of the first that does not pass."""
    test = part.test
    if test is None:
        return None
    for index, value in enumerate(values):
        miss = test(value)
        if miss is not None:
            return index, value, miss
    return None


def items_test(kinds: tuple[type, ...], part: Part, note: Any) -> Test:
    """Lists, sets, variadic tuples and their abstract kin: all elements alike."""
    name = told(note)

    def test(value: Any) -> Miss | None:
        if not isinstance(value, kinds):
            return "", f"expected {name}, got {got(value)}"
        if _passes(part, value):
            return None
        found = _first_miss(part, value)
        if found is None:
            return None
        index, item, (path, why) = found
        place = f"[{index}]" if isinstance(value, Sequence) else f"{{{got(item)}}}"
        return place + path, why

    return test


def fixed_test(parts: Sequence[Part], note: Any) -> Test:
    """``tuple[A, B]``: so many elements, each of its own type; a list passes."""
    name = told(note)

    def test(value: Any) -> Miss | None:
        if not isinstance(value, (tuple, list)):
            return "", f"expected {name}, got {got(value)}"
        items = cast("Sequence[Any]", value)
        if len(items) != len(parts):
            return "", f"expected {name}, got {len(items)} elements: {got(value)}"
        for index, (part, item) in enumerate(zip(parts, items, strict=True)):
            miss = None if part.test is None else part.test(item)
            if miss is not None:
                return f"[{index}]{miss[0]}", miss[1]
        return None

    return test


def mapping_test(kind: type, keys: Part, items: Part, note: Any) -> Test:
    """Dicts and other mappings: all keys alike, all values alike."""
    name = told(note)

    def test(value: Any) -> Miss | None:
        if not isinstance(value, kind):
            return "", f"expected {name}, got {got(value)}"
        mapping = cast("Mapping[Any, Any]", value)
        if not _passes(keys, mapping):
            found = _first_miss(keys, mapping)
            if found is not None:
                return f".key({found[1]!r:.40}){found[2][0]}", found[2][1]
        if not _passes(items, mapping.values()):
            found = _first_miss(items, mapping.values())
            if found is not None:
                key = list(mapping)[found[0]]
                return f"[{key!r:.40}]{found[2][0]}", found[2][1]
        return None

    return test


def typeddict_test(parts: Mapping[str, Part], required: frozenset[str], note: Any) -> Test:
    """A dict with these keys, all that are required and no others."""
    name = told(note)

    def test(value: Any) -> Miss | None:
        if not isinstance(value, dict):
            return "", f"expected {name}, got {got(value)}"
        fields = cast("dict[Any, Any]", value)
        for key, item in fields.items():
            part = parts.get(key)
            if part is None:
                return "", f"unknown key {key!r} for {name}.{nearest(str(key), parts)}"
            miss = None if part.test is None or type(item) in part.fast else part.test(item)
            if miss is not None:
                return f".{key}{miss[0]}", miss[1]
        if not required <= fields.keys():
            missing = ", ".join(repr(key) for key in parts if key in required and key not in fields)
            return "", f"expected {name}, missing {missing}"
        return None

    return test


def record_test(cls: type, parts: Mapping[str, Part]) -> Test:
    """An instance of a dataclass or NamedTuple whose fields fit."""
    name = told(cls)

    def test(value: Any) -> Miss | None:
        if not isinstance(value, cls):
            return "", f"expected {name}, got {got(value)}"
        for field, part in parts.items():
            try:
                item = getattr(value, field)
            except AttributeError:
                return f".{field}", "is not set"
            miss = None if part.test is None or type(item) in part.fast else part.test(item)
            if miss is not None:
                return f".{field}{miss[0]}", miss[1]
        return None

    return test


def literal_test(values: tuple[Any, ...], note: Any) -> Test:
    """One of these values, in value and type."""
    allowed = frozenset((class_of(value), value) for value in _flat(values))
    name = told(note)

    def test(value: Any) -> Miss | None:
        try:
            fits = (type(value), value) in allowed
        except TypeError:
            fits = False
        return None if fits else ("", f"expected {name}, got {got(value)}")

    return test


def _flat(values: tuple[Any, ...]) -> Iterator[Any]:
    for value in values:
        inner: Collection[Any] | None = getattr(value, "__args__", None)
        if inner is None:
            yield value
        else:
            yield from _flat(tuple(inner))


def union_test(parts: Sequence[Part], fast: frozenset[type], note: Any) -> Test:
    """Any one of the members; of several misses the one that got furthest into the value is told."""
    name = told(note)

    def test(value: Any) -> Miss | None:
        if type(value) in fast:
            return None
        deepest: Miss = "", ""
        for part in parts:
            miss = None if part.test is None else part.test(value)
            if miss is None:
                return None
            if len(miss[0]) > len(deepest[0]):
                deepest = miss
        return deepest if deepest[0] else ("", f"expected {name}, got {got(value)}")

    return test
