"""Arguments that a gate has checked, kept until their call runs, so that no validator of a user's runs twice for one call."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

MOST: Final = 256
"""Calls that were ruled and did not run yet, in this process; beyond it the oldest are checked again when they run."""

_held: OrderedDict[int, tuple[Mapping[str, Any], Any, dict[str, Any]]] = OrderedDict()


def hold(given: Mapping[str, Any], by: Any, checked: dict[str, Any]) -> None:
    """Keep what ``by`` made of exactly this object ``given``."""
    _held[id(given)] = given, by, checked
    while len(_held) > MOST:
        try:
            _held.popitem(last=False)
        except KeyError:  # another thread took the last ones
            break


def take(given: Mapping[str, Any], by: Any) -> dict[str, Any] | None:
    """What was kept, once; None where nothing is, as in a process that goes on with a call another one ruled."""
    found = _held.pop(id(given), None)
    return found[2] if found is not None and found[0] is given and found[1] is by else None
