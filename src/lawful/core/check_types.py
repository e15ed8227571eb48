"""What each form of type annotation asks of a value, as a function that says where and why a value does not fit."""

from __future__ import annotations

import typing
from collections import abc
from collections.abc import Callable
from enum import Enum
from types import GenericAlias, UnionType
from typing import Any, TypeAlias, cast

import typing_extensions as tx

from lawful.core.check_parts import (
    Miss,
    Part,
    Test,
    fixed_test,
    items_test,
    literal_test,
    mapping_test,
    record_test,
    typeddict_test,
    union_test,
)
from lawful.core.check_pydantic import constrained, is_constraint, pydantic_test
from lawful.core.check_told import got, told
from lawful.core.codec_kinds import is_pydantic
from lawful.core.codec_scan import hints
from lawful.core.lazy import late

_QUALIFIERS = (
    typing.Final,
    typing.ClassVar,
    typing.Required,
    typing.NotRequired,
    tx.Required,
    tx.NotRequired,
    tx.ReadOnly,
)
_ANYTHING = (Any, object, tx.Any)
_NUMBERS: dict[type, tuple[type, ...]] = {float: (float, int), complex: (complex, float, int)}
_CALLABLE: Any = abc.Callable
_NOTHING: frozenset[type] = frozenset()

Compiled: TypeAlias = tuple[Test | None, frozenset[type]]
"""The test (None: every value passes) and the exact types that need no test."""


class Compiler:
    """Compiles one annotation; a class that refers to itself is compiled once."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[Any, Compiled] = {}

    def compile(self, note: Any) -> Compiled:
        """Raises: TypeError, for what is no type."""
        note = _bare(note)
        if any(note is anything for anything in _ANYTHING):
            return None, _NOTHING
        if note is None or note is type(None):
            return _none, frozenset({type(None)})
        if isinstance(note, (str, typing.ForwardRef)):
            raise TypeError(f"the name {note!r} is not resolved")
        if isinstance(note, (typing.TypeVar, tx.TypeVar)):
            return self._typevar(note)
        if note in (typing.NoReturn, typing.Never, tx.Never):
            return (lambda value: ("", f"expected no value at all, got {got(value)}")), _NOTHING
        if note is typing.LiteralString or note is tx.LiteralString:
            return self.compile(str)
        origin = typing.get_origin(note)
        if origin is not None:
            return self._generic(note, origin)
        if tx.is_typeddict(note):
            return self._memo(note, self._typeddict)
        if not isinstance(note, type):
            raise TypeError("it is no type")
        return self._memo(note, self._class)

    def _part(self, note: Any) -> Part:
        test, fast = self.compile(note)
        return Part(test, fast, note)

    def _memo(self, note: Any, build: Callable[[Any], Compiled]) -> Compiled:
        known = self._known.get(note)
        if known is not None:
            return known
        made: list[Test | None] = []

        def later(value: Any) -> Miss | None:
            test = made[0]
            return None if test is None else test(value)

        self._known[note] = later, _NOTHING
        compiled = build(note)
        made.append(compiled[0])
        self._known[note] = compiled
        return compiled

    def _typevar(self, note: Any) -> Compiled:
        if note.__constraints__:
            return self._union(note.__constraints__, note)
        return (None, _NOTHING) if note.__bound__ is None else self.compile(note.__bound__)

    def _union(self, members: tuple[Any, ...], note: Any) -> Compiled:
        parts = [self._part(member) for member in members]
        if any(part.test is None for part in parts):
            return None, _NOTHING
        fast = frozenset[type]().union(*(part.fast for part in parts))
        return union_test(parts, fast, note), fast

    def _generic(self, note: Any, origin: Any) -> Compiled:
        args = typing.get_args(note)
        if origin is typing.Annotated:
            return self._constrained(note, args[0])
        if origin is typing.Union or origin is UnionType:
            return self._union(args, note)
        if origin is typing.Literal:
            return literal_test(args, note), _NOTHING
        if origin is tuple:
            # The bare typing.Tuple has no arguments either, and means any tuple.
            return self._class(tuple) if note is vars(typing)["Tuple"] else self._tuple(args, note)
        if tx.is_typeddict(origin):
            return self._memo(origin, self._typeddict)
        if not isinstance(origin, type):
            raise TypeError("it is no type")
        return self._container(note, cast("Any", origin), args)

    def _container(self, note: Any, origin: Any, args: tuple[Any, ...]) -> Compiled:
        if origin is type or origin is _CALLABLE:
            return self._class(origin)
        if issubclass(origin, abc.Mapping) and args:
            # A Counter has one argument: what it counts.
            key, item = args if len(args) == 2 else (args[0], int)
            return self._mapping(cast("Any", origin), key, item, note)
        if issubclass(origin, abc.Collection) and len(args) == 1:
            return self._items(cast("Any", origin), args[0], note)
        return self._memo(origin, self._class)

    def _constrained(self, note: Any, base: Any) -> Compiled:
        test, _ = self.compile(base)
        return constrained(note, test), _NOTHING

    def _items(self, origin: type, arg: Any, note: Any) -> Compiled:
        part = self._part(arg)
        fast = frozenset({origin}) if part.test is None else _NOTHING
        return items_test((origin,), part, note), fast

    def _tuple(self, args: tuple[Any, ...], note: Any) -> Compiled:
        if len(args) == 2 and args[1] is Ellipsis:
            part = self._part(args[0])
            fast: frozenset[type] = frozenset({tuple, list}) if part.test is None else _NOTHING
            return items_test((tuple, list), part, note), fast
        return fixed_test([self._part(arg) for arg in args if arg != ()], note), _NOTHING

    def _mapping(self, origin: type, key: Any, item: Any, note: Any) -> Compiled:
        keys, items = self._part(key), self._part(item)
        fast = frozenset({origin}) if keys.test is None and items.test is None else _NOTHING
        return mapping_test(origin, keys, items, note), fast

    def _typeddict(self, note: Any) -> Compiled:
        fields = hints(note)
        required = set(note.__required_keys__)
        for name, hint in fields.items():
            # With postponed annotations the class itself could not see these.
            needed = _required(hint)
            if needed is not None:
                (required.add if needed else required.discard)(name)
        # A field whose annotation names what cannot be found may be there, and hold anything.
        required.intersection_update(fields)
        parts = {name: self._part(fields.get(name, Any)) for name in note.__annotations__}
        return typeddict_test(parts, frozenset(required), note), _NOTHING

    def _class(self, cls: Any) -> Compiled:
        if cls is bool or cls is str or cls is bytes:
            return _instance(cls, cls), frozenset({cls})
        if cls is int:
            return _number((int,), cls), frozenset({int})
        if cls in _NUMBERS:
            return _number(_NUMBERS[cls], cls), frozenset(_NUMBERS[cls])
        if cls is tuple:
            return _instance((tuple, list), cls), frozenset({tuple, list})
        if cls is _CALLABLE:
            return (lambda value: None if callable(value) else ("", f"expected a callable, got {got(value)}")), _NOTHING
        if getattr(cls, "_is_protocol", False) and not getattr(cls, "_is_runtime_protocol", False):
            return None, _NOTHING
        return self._user_class(cls)

    def _user_class(self, cls: Any) -> Compiled:
        plain = _instance(cls, cls), frozenset({cls})
        if is_pydantic(cls) or issubclass(cls, Enum):
            return plain
        names = _fields(cls)
        if names:
            found = hints(cls)
            parts = {name: self._part(found[name]) for name in names if name in found}
            checked = {name: part for name, part in parts.items() if part.test is not None}
            return (record_test(cls, checked), _NOTHING) if checked else plain
        if hasattr(cls, "__get_pydantic_core_schema__"):
            return pydantic_test(cls), _NOTHING
        return plain


def _fields(cls: Any) -> tuple[str, ...]:
    """The field names of a dataclass or NamedTuple; () for any other class."""
    if hasattr(cls, "__dataclass_fields__"):
        # Not those that are only class variables or arguments of the constructor.
        return tuple(field.name for field in late("dataclasses").fields(cls))
    names: tuple[str, ...] = getattr(cls, "_fields", ())
    return names if issubclass(cls, tuple) else ()


def _bare(note: Any) -> Any:
    """``note`` without what does not change which values it has: names, qualifiers, metadata that is no constraint."""
    while True:
        origin = typing.get_origin(note)
        if origin in _QUALIFIERS or (origin is typing.Annotated and not any(map(is_constraint, note.__metadata__))):
            note = typing.get_args(note)[0]
        elif isinstance(note, tx.TypeAliasType):
            note = note.__value__
        elif hasattr(note, "__supertype__") and not isinstance(note, (type, GenericAlias)):
            note = note.__supertype__
        else:
            return note


def _required(hint: Any) -> bool | None:
    """What ``Required`` or ``NotRequired`` says, under any other qualifier; None if neither is there."""
    while (origin := typing.get_origin(hint)) is not None:
        if origin in (typing.Required, tx.Required):
            return True
        if origin in (typing.NotRequired, tx.NotRequired):
            return False
        if origin is not typing.Annotated and origin is not tx.ReadOnly:
            return None
        hint = typing.get_args(hint)[0]
    return None


def _none(value: Any) -> Miss | None:
    return None if value is None else ("", f"expected None, got {got(value)}")


def _instance(cls: Any, note: Any) -> Test:
    name = told(note)

    def test(value: Any) -> Miss | None:
        return None if isinstance(value, cls) else ("", f"expected {name}, got {got(value)}")

    return test


def _number(classes: tuple[type, ...], note: Any) -> Test:
    name = told(note)

    def test(value: Any) -> Miss | None:
        fits = isinstance(value, classes) and not isinstance(value, bool)
        return None if fits else ("", f"expected {name}, got {got(value)}")

    return test


__all__ = ["Compiled", "Compiler", "Miss", "Test", "told"]
