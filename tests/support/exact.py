"""Equality that also holds types, the sign of zero and NaN apart from each other, as a codec must keep them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, cast


def exact(left: Any, right: Any) -> bool:
    """Whether both are the same value of the same type, through containers and fields."""
    if type(left) is not type(right):
        return False
    if isinstance(left, float):
        return (math.isnan(left) and math.isnan(right)) or (
            left == right and math.copysign(1, left) == math.copysign(1, right)
        )
    if isinstance(left, complex):
        return exact(left.real, right.real) and exact(left.imag, right.imag)
    if isinstance(left, dict):
        mine, other = cast("dict[Any, Any]", left), cast("dict[Any, Any]", right)
        return _pairwise(mine.keys(), other.keys()) and _pairwise(mine.values(), other.values())
    if isinstance(left, (list, tuple)):
        return _pairwise(cast("Iterable[Any]", left), cast("Iterable[Any]", right))
    if isinstance(left, (set, frozenset)):
        return _each_has_one(cast("Iterable[Any]", left), cast("Iterable[Any]", right))
    if hasattr(left, "is_nan") and left.is_nan():
        return str(left) == str(right)
    if hasattr(left, "tzinfo"):
        return bool(left == right) and left.fold == right.fold and repr(left) == repr(right)
    return bool(left == right)


def _pairwise(left: Iterable[Any], right: Iterable[Any]) -> bool:
    mine, other = list(left), list(right)
    return len(mine) == len(other) and all(map(exact, mine, other))


def _each_has_one(left: Iterable[Any], right: Iterable[Any]) -> bool:
    """Whether every member has an exact one on the other side; sets of sets have no order to compare them in."""
    others = list(right)
    for item in left:
        place = next((i for i, other in enumerate(others) if exact(item, other)), None)
        if place is None:
            return False
        del others[place]
    return not others


def cases(*items: Any) -> list[Any]:
    """Values of many types for one parametrised test."""
    return list(items)
