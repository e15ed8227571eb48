"""Filters of metadata as data: what they say, what they mean, and how they are written; no store's language is in them.

One meaning on every store: a field is compared with values of its own kind only (text, number, truth value); a comparison
with a field that is missing or of another kind does not hold. ``!=`` is the negation of ``==``, and so holds there.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, TypeAlias, assert_never

import msgspec
from msgspec import Struct

from lawful.core.errors import ValidationError, nearest
from lawful.rag.documents import Metadata, Scalar, checked_name, checked_scalar, is_number

Order = Literal["==", "<", "<=", ">", ">="]
DEEPEST: Final = 32
"""Levels of nesting that a filter may have."""
WIDEST: Final = 1000
"""Comparisons and values that a filter may have."""


class _Joins:
    __slots__ = ()

    def __and__(self, other: Filter) -> Filter:
        return checked(All((self, other)))  # pyright: ignore[reportArgumentType]

    def __or__(self, other: Filter) -> Filter:
        return checked(Either((self, other)))  # pyright: ignore[reportArgumentType]

    def __invert__(self) -> Filter:
        return checked(Not(self))  # pyright: ignore[reportArgumentType]

    def __bool__(self) -> bool:
        # `a and b` and `1 < field < 3` would drop a half of what was meant.
        raise ValidationError(
            "filters are joined by & and |, and have no truth value", component="rag", operation="filter"
        )


class Compare(_Joins, Struct, frozen=True, tag="compare"):
    """The field is, or comes before or after, the value; texts go by code points."""

    field: str
    order: Order
    value: Scalar


class OneOf(_Joins, Struct, frozen=True, tag="one_of"):
    """The field equals one of the values; of none, never."""

    field: str
    values: tuple[Scalar, ...]


class Has(_Joins, Struct, frozen=True, tag="has"):
    """The field is there, whatever its value."""

    field: str


class All(_Joins, Struct, frozen=True, tag="all"):
    """Every part holds; of none, always."""

    parts: tuple[Filter, ...]


class Either(_Joins, Struct, frozen=True, tag="either"):
    """Some part holds; of none, never."""

    parts: tuple[Filter, ...]


class Not(_Joins, Struct, frozen=True, tag="not"):
    """The part does not hold."""

    part: Filter


Filter: TypeAlias = Compare | OneOf | Has | All | Either | Not


class Field:
    """A field of the metadata, to write filters with: ``(field("year") >= 2020) & (field("lang") == "en")``."""

    __slots__ = ("name",)
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __init__(self, name: str) -> None:
        self.name = checked_name(name)

    def __eq__(self, value: Scalar) -> Filter:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._compare("==", value)

    def __ne__(self, value: Scalar) -> Filter:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        return Not(self._compare("==", value))

    def __lt__(self, value: Scalar) -> Filter:
        return self._compare("<", value)

    def __le__(self, value: Scalar) -> Filter:
        return self._compare("<=", value)

    def __gt__(self, value: Scalar) -> Filter:
        return self._compare(">", value)

    def __ge__(self, value: Scalar) -> Filter:
        return self._compare(">=", value)

    def one_of(self, *values: Scalar) -> Filter:
        """It equals one of them."""
        return checked(OneOf(self.name, values))

    def exists(self) -> Filter:
        """It is there."""
        return Has(self.name)

    def _compare(self, order: Order, value: Scalar) -> Filter:
        return checked(Compare(self.name, order, value))


def field(name: str) -> Field:
    """The field of that name.

    Raises: ValidationError, if it is no identifier.
    """
    return Field(name)


def where(filter: Filter | Mapping[str, Any] | None) -> Filter | None:
    """A filter from what a caller gives: one of ours, a mapping of fields to the values that they equal, or None.

    A mapping has no operators: ``{"year": {"$gt": 1}}`` is refused, since such may come from outside.

    Raises: ValidationError.
    """
    if filter is None:
        return None
    if isinstance(filter, Mapping):
        equal = [checked(Compare(checked_name(name), "==", value)) for name, value in filter.items()]
        return checked(All(tuple(equal)))
    return checked(filter)


def to_json(filter: Filter) -> bytes:
    """The filter as JSON, to store or send it."""
    return msgspec.json.encode(filter)


def from_json(data: bytes | str) -> Filter:
    """The filter that `to_json` wrote, checked: it may come from a model or a user.

    Raises: ValidationError.
    """
    try:
        return checked(msgspec.json.decode(data, type=Filter))
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValidationError(f"that is no filter: {error}", component="rag", operation="filter") from error


def checked(filter: Filter) -> Filter:
    """``filter``, if all its names and values may be used and it is not too large.

    Raises: ValidationError.
    """
    _check(filter, 1, [0])
    return filter


def _check(filter: Filter, depth: int, seen: list[int]) -> None:
    seen[0] += 1 + (len(filter.values) if isinstance(filter, OneOf) else 0)
    if depth > DEEPEST or seen[0] > WIDEST:
        raise ValidationError(
            f"a filter has at most {DEEPEST} levels and {WIDEST} parts", component="rag", operation="filter"
        )
    match filter:
        case Compare(name, order, value):
            checked_scalar(value, checked_name(name))
            _check_order(order, value)
        case OneOf(name, values):
            checked_name(name)
            for value in values:
                checked_scalar(value, name)
        case Has(name):
            checked_name(name)
        case All(parts) | Either(parts):
            for part in parts:
                _check(part, depth + 1, seen)
        case Not(part):
            _check(part, depth + 1, seen)
        case _:
            raise ValidationError(
                f"a filter is made with field(...), not of {type(filter).__name__}", component="rag", operation="filter"
            )


def _check_order(order: str, value: Scalar) -> None:
    if order not in COMPARE:
        raise ValidationError(
            f"{str(order)[:20]!r} is no comparison.{nearest(str(order), COMPARE)}", component="rag", operation="filter"
        )
    if order != "==" and isinstance(value, bool):
        raise ValidationError("truth values have no order", component="rag", operation="filter")


COMPARE: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def kind(value: object) -> Literal["b", "n", "s"]:
    """The kind of a value: truth value, number or text."""
    return "b" if isinstance(value, bool) else "n" if is_number(value) else "s"


def matches(filter: Filter | None, metadata: Metadata) -> bool:
    """What a filter means; every store gives what this gives."""
    match filter:
        case None:
            return True
        case Compare(name, order, value):
            found = metadata.get(name)
            return found is not None and kind(found) == kind(value) and COMPARE[order](found, value)
        case OneOf(name, values):
            found = metadata.get(name)
            return found is not None and any(kind(found) == kind(value) and found == value for value in values)
        case Has(name):
            return name in metadata
        case All(parts):
            return all(matches(part, metadata) for part in parts)
        case Either(parts):
            return any(matches(part, metadata) for part in parts)
        case Not(part):
            return not matches(part, metadata)
        case _:
            assert_never(filter)
