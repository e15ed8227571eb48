"""A merged list that remembers which ids are in it, so that adding to it need not look through it."""

from __future__ import annotations

from typing import Any


class KnownList(list[Any]):
    """What a merge by ids stores; nodes and callers get plain copies of it.

    ``ids`` has the id of every item, and maybe others: lists that came from one another share it. So an id that is not
    there is new, and one that is there must be looked for.
    """

    __slots__ = ("_size", "ids")

    def __init__(self, items: list[Any], ids: set[str]) -> None:
        super().__init__(items)
        self.ids = ids
        self._size = len(self)

    def sure(self) -> bool:
        """Whether nobody has added to it or taken from it since."""
        return len(self) == self._size

    def __reduce__(self) -> Any:
        return (list, (list(self),))
