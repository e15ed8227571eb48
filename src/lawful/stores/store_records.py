"""What goes into a `Store` and comes out of it: items, the operations of a batch, and the form that back ends keep."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final, Literal, NamedTuple, Required, TypeAlias, TypedDict

import msgspec

Namespace: TypeAlias = tuple[str, ...]
"""Labels from the widest to the narrowest, such as ("users", "ann", "notes")."""
Fields: TypeAlias = dict[str, Any]


class NotProvided(Enum):
    """The type of `NOT_PROVIDED`."""

    NOT_PROVIDED = 0

    def __bool__(self) -> Literal[False]:
        return False


NOT_PROVIDED: Final = NotProvided.NOT_PROVIDED
"""Says that the store's default holds; None says that there is to be none."""


class AnyLabel(Enum):
    """The type of `ANY`."""

    ANY = "*"


ANY: Final = AnyLabel.ANY
"""Stands for any one label in what `list_namespaces` is asked for; the text "*" is a label like any other."""


class Item(msgspec.Struct, frozen=True):
    """One stored value, with its place and its times (in UTC)."""

    namespace: Namespace
    key: str
    value: Fields
    created_at: datetime
    updated_at: datetime

    def __hash__(self) -> int:
        return hash((self.namespace, self.key))

    def dict(self) -> Fields:
        """The item as JSON, as LangGraph's has it."""
        return {
            "namespace": list(self.namespace),
            "key": self.key,
            "value": self.value,
            "created_at": self.created_at.isoformat(),
            "updated_at": self.updated_at.isoformat(),
        }


class SearchItem(Item, frozen=True):
    """An item that a search has found."""

    score: float | None = None
    """How near it is to the query; None without one."""

    def __hash__(self) -> int:
        return hash((self.namespace, self.key))

    def dict(self) -> Fields:
        return {**Item.dict(self), "score": self.score}


class GetOp(NamedTuple):
    """`Store.get` in a batch."""

    namespace: Namespace
    key: str
    refresh_ttl: bool = True


class SearchOp(NamedTuple):
    """`Store.search` in a batch."""

    namespace_prefix: Namespace
    filter: Mapping[str, Any] | None = None
    limit: int = 10
    offset: int = 0
    query: str | None = None
    refresh_ttl: bool = True


class PutOp(NamedTuple):
    """`Store.put` in a batch; `Store.delete`, if ``value`` is None. ``ttl`` in minutes; None is for ever."""

    namespace: Namespace
    key: str
    value: Mapping[str, Any] | None
    index: Literal[False] | list[str] | None = None  # pyright: ignore[reportIncompatibleMethodOverride]
    ttl: float | None = None


class MatchCondition(NamedTuple):
    """How a namespace must begin or end."""

    match_type: Literal["prefix", "suffix"]
    path: tuple[str | AnyLabel, ...]


class ListNamespacesOp(NamedTuple):
    """`Store.list_namespaces` in a batch."""

    match_conditions: tuple[MatchCondition, ...] | None = None
    max_depth: int | None = None
    limit: int = 100
    offset: int = 0


Op: TypeAlias = GetOp | SearchOp | PutOp | ListNamespacesOp
Result: TypeAlias = Item | list[SearchItem] | list[Namespace] | None


class TTLConfig(TypedDict, total=False):
    """How long items live; LangGraph's names. All times in minutes."""

    refresh_on_read: bool
    default_ttl: float | None
    sweep_interval_minutes: float | None
    omit_expired: bool


class IndexConfig(TypedDict, total=False):
    """What a store embeds, so that `Store.search` can be asked for what is near to a text; LangGraph's names."""

    dims: Required[int]
    """How many numbers a vector has."""
    embed: Required[Any]
    """A `lawful.models.Embedder`, langchain's ``Embeddings``, or a function of a list of texts, async or not, that gives a
    vector for each."""
    fields: list[str] | None
    """Paths to the texts: "$" (the default) is the whole value; "a.b", "a[0]", "a[*].b", "a.{b,c}"."""


class Record(msgspec.Struct, frozen=True):
    """An item as a back end keeps it."""

    namespace: Namespace
    key: str
    value: bytes
    """Canonical JSON of the value."""
    created: float
    """Seconds since 1970 UTC, as ``updated`` and ``expires``."""
    updated: float
    ttl: float | None
    """Minutes."""
    expires: float | None


def time_of(seconds: float) -> datetime:
    """The UTC time that is so many seconds after 1970 began."""
    return datetime.fromtimestamp(seconds, UTC)


def expiry(now: float, ttl: float | None) -> float | None:
    """When what is written or read ``now`` expires, in seconds; ``ttl`` in minutes."""
    return None if ttl is None else now + ttl * 60
