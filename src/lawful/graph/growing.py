"""Merges that take the many writes of one step into one new container, and how an Overwrite among them is found."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from msgspec import Struct

from lawful.core.errors import InvalidUpdateError
from lawful.core.reducers import append, union
from lawful.graph.command import Overwrite, overwritten

NEVER_OVERWRITE: Final = frozenset({list, tuple, set, frozenset, str, int, float, bool})
"""Types whose values are no Overwrite in any form."""


class Growth(Struct, frozen=True):
    """How a merge may fold many writes at once: with the result of folding them one by one, which copies all for each."""

    kind: type[Any]
    taken: frozenset[type]
    take: Callable[[Any, Any], None]

    def fits(self, stored: Any, kinds: set[type]) -> bool:
        """Whether what is stored, and writes of these types, are of the plain kinds that this holds for."""
        return type(stored) is self.kind and kinds <= self.taken

    def grown(self, stored: Any, writes: Sequence[Any]) -> Any:
        """What is stored after them; ``stored`` itself is left as it is."""
        made = self.kind(stored)
        for write in writes:
            self.take(made, write)
        return made


_LISTS = Growth(list, frozenset({list}), cast("Any", list).extend)
_GROWING: Final[Sequence[tuple[Any, Growth]]] = (
    (operator.add, _LISTS),
    (operator.concat, _LISTS),
    (append.fn, Growth(list, frozenset({list, tuple}), cast("Any", list).extend)),
    (union.fn, Growth(set, frozenset({set, frozenset}), cast("Any", set).update)),
)


def growth_of(merge: Any) -> Growth | None:
    """How ``merge`` may take many writes at once, if it may."""
    return next((growth for known, growth in _GROWING if known is merge), None)


def the_overwrite(writes: Sequence[Any]) -> Overwrite | None:
    """The one write that replaces what is stored. Raises: InvalidUpdateError for two of them."""
    over = [new for is_over, new in map(overwritten, writes) if is_over]
    if len(over) > 1:
        raise InvalidUpdateError("Can receive only one Overwrite value per super-step.")
    return Overwrite(over[0]) if over else None
