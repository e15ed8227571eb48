"""Pure: how large a state is in bytes as it would be stored, and whether a step would make it larger than it may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lawful.core.errors import Failure, StateTooLarge, ValidationError
from lawful.core.reducers import add_messages, append, merge, union
from lawful.graph.apply import Writer
from lawful.graph.channels import MISSING
from lawful.graph.program import Program

_GROWING = (append, add_messages, union, merge)
"""What these give is never larger than the value and the writes together."""


class Sizes:
    """Measures what changes; a value that grows by its writes is measured whole only where the limit may have been passed."""

    __slots__ = ("_growing", "_guessed", "_of", "_program", "limit")

    def __init__(self, program: Program, limit: int) -> None:
        self._program = program
        self.limit = limit
        self._of: dict[str, int] | None = None
        self._guessed: set[str] = set()
        self._growing = {k for k, c in program.channels.items() if getattr(c, "operator", None) in _GROWING}

    def refused(self, values: Mapping[str, Any], changed: Mapping[str, Any], tasks: Sequence[Writer]) -> Failure | None:
        """Why ``changed`` may not be stored over ``values``: StateTooLarge, or that a value cannot be stored at all."""
        try:
            return self._refused(values, changed, tasks)
        except ValidationError as error:
            return error

    def _refused(
        self, values: Mapping[str, Any], changed: Mapping[str, Any], tasks: Sequence[Writer]
    ) -> Failure | None:
        held = self._of
        if held is None:
            held = {k: self._size(k, v) for k, v in values.items()}
        of, guessed = dict(held), set(self._guessed)
        for key, value in changed.items():
            if key in self._growing and key in of and value is not MISSING:
                of[key] += sum(self._size(key, v) for t in tasks for k, v in t.writes if k == key)
                guessed.add(key)
            else:
                of[key] = self._size(key, value)
                guessed.discard(key)
        if sum(of.values()) > self.limit:
            for key in guessed:
                of[key] = self._size(key, changed.get(key, values.get(key, MISSING)))
            guessed.clear()
            if sum(of.values()) > self.limit:
                self._of = held
                return self._too_large(of)
        self._of, self._guessed = of, guessed
        return None

    def _size(self, key: str, value: Any) -> int:
        if value is MISSING or key in self._program.untracked:
            return 0
        return len(self._program.registry.encode(value, where=f"key {key!r}"))

    def _too_large(self, of: Mapping[str, int]) -> StateTooLarge:
        largest = max(of, key=lambda key: of[key])
        size = sum(of.values())
        return StateTooLarge(
            f"The state would have {size} bytes, more than its limit of {self.limit}; the largest key is {largest!r}"
            f" with {of[largest]}",
            component="graph",
            operation="apply writes",
            details={"limit": "state_bytes", "most": str(self.limit), "size": str(size), "key": largest},
        )


class Bounds:
    """What bounds a run and where it pauses by itself."""

    __slots__ = ("after", "before", "recursion", "sizes")

    def __init__(
        self, recursion: int, before: frozenset[str], after: frozenset[str], sizes: Sizes | None = None
    ) -> None:
        self.sizes = sizes
        """Holds the state to its limit of bytes, if it has one."""
        self.recursion = recursion
        self.before = before
        self.after = after
