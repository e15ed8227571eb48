"""Replicated values whose merges commute, associate and repeat harmlessly, so that copies which drifted apart agree.

After Shapiro, Preguiça, Baquero and Zawirski, "Conflict-free Replicated Data Types" (2011): the state-based forms.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, Generic, Literal, Protocol, Self, TypeVar, runtime_checkable

from msgspec import Struct

from lawful.core.errors import InvalidUpdateError

H = TypeVar("H", bound=Hashable)
T = TypeVar("T")


@runtime_checkable
class Mergeable(Protocol):
    """A value that merges with its like."""

    def merge(self, other: Self, /) -> Self:
        """The least value that holds what both hold."""
        ...


class GSet(Struct, Generic[H], frozen=True):
    """A set that only grows."""

    items: frozenset[H] = frozenset()

    @classmethod
    def of(cls, items: Iterable[H]) -> GSet[H]:
        return cls(frozenset(items))

    def add(self, *items: H) -> GSet[H]:
        return GSet(self.items | frozenset(items))

    def merge(self, other: GSet[H], /) -> GSet[H]:
        return GSet(self.items | other.items)

    def __contains__(self, item: object) -> bool:
        return item in self.items

    def __iter__(self) -> Iterator[H]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


class PNCounter(Struct, frozen=True):
    """A counter that several replicas raise and lower; each counts only under its own name."""

    raised: dict[str, int] = {}
    lowered: dict[str, int] = {}

    @property
    def value(self) -> int:
        return sum(self.raised.values()) - sum(self.lowered.values())

    def add(self, replica: str, amount: int = 1) -> PNCounter:
        """The counter after ``replica`` counted ``amount``, which may be negative."""
        if amount >= 0:
            return PNCounter(_bump(self.raised, replica, amount), self.lowered)
        return PNCounter(self.raised, _bump(self.lowered, replica, -amount))

    def merge(self, other: PNCounter, /) -> PNCounter:
        return PNCounter(_pointwise(self.raised, other.raised), _pointwise(self.lowered, other.lowered))


class LWW(Struct, Generic[T], frozen=True):
    """A register that the last write wins: the greater ``at``, then the greater ``by``.

    A writer must not use one ``at`` twice. If it does, the value with the greater ``repr`` wins, so that replicas
    agree even then.
    """

    value: T
    at: float
    """When it was written: seconds, or any count that grows. Not NaN, which compares with nothing."""
    by: str = ""
    """Who wrote it."""

    def __post_init__(self) -> None:
        if self.at != self.at:
            raise InvalidUpdateError("LWW: at must be a number, not NaN", component="crdt", operation="LWW")

    def merge(self, other: LWW[T], /) -> LWW[T]:
        mine, theirs = (self.at, self.by), (other.at, other.by)
        if mine == theirs:
            return other if repr(other.value) > repr(self.value) else self
        return other if theirs > mine else self


class MaxRegister(Struct, Generic[T], frozen=True):
    """A register that holds the greatest value ever written."""

    value: T

    def merge(self, other: MaxRegister[T], /) -> MaxRegister[T]:
        mine: Any = self.value
        theirs: Any = other.value
        return other if theirs > mine else self


class VersionVector(Struct, frozen=True):
    """How many events of each replica were seen: what came before what, and what came apart."""

    seen: dict[str, int] = {}

    def tick(self, replica: str) -> VersionVector:
        """The vector after one more event of ``replica``."""
        return VersionVector(_bump(self.seen, replica, 1))

    def merge(self, other: VersionVector, /) -> VersionVector:
        return VersionVector(_pointwise(self.seen, other.seen))

    def compare(self, other: VersionVector) -> Literal["equal", "before", "after", "concurrent"]:
        """Where this stands to ``other``; a replica that is not named counts zero."""
        names = self.seen.keys() | other.seen.keys()
        less = any(self.seen.get(name, 0) < other.seen.get(name, 0) for name in names)
        more = any(self.seen.get(name, 0) > other.seen.get(name, 0) for name in names)
        if less and more:
            return "concurrent"
        return "before" if less else "after" if more else "equal"


def _bump(counts: Mapping[str, int], name: str, amount: int) -> dict[str, int]:
    return {**counts, name: counts.get(name, 0) + amount}


def _pointwise(left: Mapping[str, int], right: Mapping[str, int]) -> dict[str, int]:
    return {name: max(left.get(name, 0), right.get(name, 0)) for name in sorted(left.keys() | right.keys())}
