"""Channels as pure specifications: how the writes of one step change a stored value, and when a value can be read.

A channel holds nothing. What it "stores" is handed in and handed back, so the engine can try a step on the side and
apply all of it or nothing, and a checkpoint can be rebuilt from the writes alone.
"""

from __future__ import annotations

from collections import abc
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar, Union, cast, final, get_args, get_origin

from lawful.core.errors import InvalidUpdateError
from lawful.core.reducers import Reducer
from lawful.graph.command import overwritten
from lawful.graph.growing import NEVER_OVERWRITE, growth_of, the_overwrite


@final
class _Missing:
    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False


MISSING: Final = _Missing()
"""The stored value of a channel that has none."""

# How the engine treats a channel on its hot path.
LAST, REDUCED, OTHER = 0, 1, 2


class Channel:
    """The contract of every channel; subclass it for one of your own.

    All methods are pure: they never change what they are given. ``update`` is called once a step with that step's
    writes in order, and with none for an available channel that ``clears``.
    """

    kind: int = OTHER
    tracked: bool = True
    """Whether checkpoints keep it."""
    clears: bool = False
    """Whether a step without a write changes it."""
    finishes: bool = False
    """Whether ``finish`` may change it."""

    def __init__(self, typ: Any = Any, key: str = "") -> None:
        self.typ = typ
        self.key = key

    def initial(self) -> Any:
        """What is stored before the first write."""
        return MISSING

    def update(self, stored: Any, writes: Sequence[Any]) -> Any:
        """What is stored after a step with ``writes``. Raises: InvalidUpdateError."""
        raise NotImplementedError

    def get(self, stored: Any) -> Any:
        """What a node reads, or MISSING."""
        return stored

    def consume(self, stored: Any) -> Any:
        """What is stored once a node that this channel triggers has run."""
        return stored

    def finish(self, stored: Any) -> Any:
        """What is stored once no node would be triggered any more."""
        return stored

    def accepts(self, typ: Any) -> Any:
        """The type of one write, where the channel's values are of type ``typ``."""
        return typ

    def same_as(self, other: Channel) -> bool:
        """Whether two schemas that give one key these channels agree."""
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({getattr(self.typ, '__name__', self.typ)})"


def _one(writes: Sequence[Any]) -> Any:
    if len(writes) > 1:
        raise InvalidUpdateError(
            "Can receive only one value per step. Use an Annotated key with a reducer to handle several values."
        )
    return writes[0]


class LastValue(Channel):
    """Keeps the last write; two writes in one step are a conflict."""

    kind = LAST

    def update(self, stored: Any, writes: Sequence[Any]) -> Any:
        return _one(writes) if writes else stored


class AnyValue(Channel):
    """Takes the last of several writes, which are assumed to be equal; a step without a write clears it."""

    clears = True

    def update(self, stored: Any, writes: Sequence[Any]) -> Any:
        return writes[-1] if writes else MISSING


class EphemeralValue(Channel):
    """Lives for exactly one step after its write."""

    clears = True

    def __init__(self, typ: Any = Any, guard: bool = True, key: str = "") -> None:
        super().__init__(typ, key)
        self.guard = guard
        """Whether two writes in one step are refused."""

    def update(self, stored: Any, writes: Sequence[Any]) -> Any:
        if not writes:
            return MISSING
        return _one(writes) if self.guard else writes[-1]


class UntrackedValue(Channel):
    """Can be read and written like a plain key, but is never stored."""

    tracked = False

    def __init__(self, typ: Any = Any, guard: bool = True, key: str = "") -> None:
        super().__init__(typ, key)
        self.guard = guard

    def update(self, stored: Any, writes: Sequence[Any]) -> Any:
        if not writes:
            return stored
        return _one(writes) if self.guard else writes[-1]


class Topic(Channel):
    """Gathers values, lists flattened one level; without ``accumulate`` it holds only the last step's."""

    def __init__(self, typ: Any = Any, accumulate: bool = False, key: str = "") -> None:
        super().__init__(typ, key)
        self.accumulate = accumulate
        self.clears = not accumulate

    def update(self, stored: Any, writes: Sequence[Any]) -> Any:
        flat: list[Any] = []
        for write in writes:
            if isinstance(write, list):
                flat.extend(write)  # pyright: ignore[reportUnknownArgumentType]
            else:
                flat.append(write)
        if self.accumulate and stored is not MISSING:
            return stored if not flat else [*stored, *flat]
        return flat or MISSING

    def accepts(self, typ: Any) -> Any:
        return Union[self.typ, list[self.typ]]


_CONCRETE: dict[Any, Any] = {
    abc.Sequence: list,
    abc.MutableSequence: list,
    abc.Collection: list,
    abc.Iterable: list,
    abc.Mapping: dict,
    abc.MutableMapping: dict,
    abc.Set: set,
    abc.MutableSet: set,
}


def _concrete(typ: Any) -> Any:
    """The class to build an empty value of ``typ`` with."""
    origin = get_origin(typ) or typ
    return _CONCRETE.get(origin, origin)


def element_or_whole(typ: Any) -> Any:
    """What may be written to a merged key that says no more than its type: that type, or one element of it."""
    args = get_args(typ)
    if len(args) == 1 or (len(args) == 2 and args[1] is Ellipsis):
        return typ | args[0] if not isinstance(args[0], (str, TypeVar)) else Any
    return typ


_MUTABLE = (list, dict, set)


def empty_of(typ: Any) -> Any:
    """An empty value of ``typ`` (``list[int]`` gives []), or MISSING where it cannot be built without arguments."""
    made = _concrete(typ)
    if not isinstance(made, type):
        return MISSING
    try:
        return made()
    except (TypeError, ValueError, LookupError, AttributeError, RuntimeError, OSError, NotImplementedError):
        return MISSING


class BinaryOperatorAggregate(Channel):
    """Folds every write into what is stored, from the left, by ``operator(stored, write)``."""

    kind = REDUCED

    def __init__(self, typ: Any, operator: Callable[[Any, Any], Any], key: str = "") -> None:
        super().__init__(typ, key)
        self.operator = operator
        # A reducer of ours or a plain operator never changes its left argument; any other gets a copy of it.
        self._pure = isinstance(operator, Reducer) or getattr(operator, "__module__", "") in ("_operator", "builtins")
        self._merge: Callable[[Any, Any], Any] = getattr(cast("Any", operator), "fn", cast("Any", operator))
        self._growth = growth_of(self._merge)

    def initial(self) -> Any:
        unit = getattr(self.operator, "unit", None)
        if not callable(unit):
            return empty_of(self.typ)
        made: Any = unit()
        is_list = type(made) is list
        return () if is_list and _concrete(self.typ) is tuple else cast("Any", made)

    def update(self, stored: Any, writes: Sequence[Any]) -> Any:
        operator = self._merge
        if len(writes) == 1:
            is_over, new = overwritten(writes[0])
            if is_over:
                return new
            if self._pure:
                return new if stored is MISSING else operator(stored, new)
        kinds = set(map(type, writes))
        if not kinds <= NEVER_OVERWRITE and (over := the_overwrite(writes)) is not None:
            return over.value
        if self._growth is not None and self._growth.fits(stored, kinds):
            return self._growth.grown(stored, writes)
        if not self._pure and writes and type(stored) in _MUTABLE:
            stored = stored.copy()
        for write in writes:
            stored = write if stored is MISSING else operator(stored, write)
        return stored

    def same_as(self, other: Channel) -> bool:
        return isinstance(other, BinaryOperatorAggregate) and self.operator == other.operator and self.typ == other.typ


class NamedBarrierValue(Channel):
    """Becomes readable when every one of ``names`` has been written; consumed by the node that waited for it."""

    def __init__(self, typ: Any, names: Iterable[str], key: str = "") -> None:
        super().__init__(typ, key)
        self.names = frozenset(names)

    def update(self, stored: Any, writes: Sequence[Any]) -> Any:
        if not writes:
            return stored
        seen: frozenset[str] = frozenset() if stored is MISSING else frozenset(stored)
        for write in writes:
            if write not in self.names:
                raise InvalidUpdateError(f"{write!r} is not one of {sorted(self.names)}")
        new = seen | set(writes)
        return stored if new == seen else new

    def get(self, stored: Any) -> Any:
        return None if stored is not MISSING and stored >= self.names else MISSING

    def consume(self, stored: Any) -> Any:
        return MISSING if self.get(stored) is None else stored


class ActivatedBarrierValue(NamedBarrierValue):
    """A barrier that also opens when nothing else can run, for those of its names that were written at all."""

    finishes = True

    def __init__(self, typ: Any, names: Iterable[str], key: str = "") -> None:
        super().__init__(typ, names, key)

    def get(self, stored: Any) -> Any:
        if stored is MISSING:
            return MISSING
        return None if "" in stored or stored >= self.names else MISSING

    def finish(self, stored: Any) -> Any:
        # The empty name marks "opened by the end of all other work"; node names are never empty.
        return stored if stored is MISSING or "" in stored else stored | {""}


class _AfterFinish(Channel):
    """Base of the channels that wait for all other work to end; stored is (value, finished)."""

    finishes = True

    def get(self, stored: Any) -> Any:
        return stored[0] if stored is not MISSING and stored[1] else MISSING

    def consume(self, stored: Any) -> Any:
        return MISSING if stored is not MISSING and stored[1] else stored

    def finish(self, stored: Any) -> Any:
        return stored if stored is MISSING or stored[1] else (stored[0], True)


class LastValueAfterFinish(_AfterFinish):
    """Keeps the last write, readable only once nothing else would run: the inbox of a deferred node."""

    def update(self, stored: Any, writes: Sequence[Any]) -> Any:
        return (writes[-1], False) if writes else stored


class NamedBarrierValueAfterFinish(_AfterFinish):
    """A barrier that opens only once nothing else would run: the join of a deferred node."""

    def __init__(self, typ: Any, names: Iterable[str], key: str = "") -> None:
        super().__init__(typ, key)
        self.names = frozenset(names)

    def update(self, stored: Any, writes: Sequence[Any]) -> Any:
        if not writes:
            return stored
        seen: frozenset[str] = frozenset() if stored is MISSING else stored[0]
        for write in writes:
            if write not in self.names:
                raise InvalidUpdateError(f"{write!r} is not one of {sorted(self.names)}")
        return (seen | set(writes), False)

    def get(self, stored: Any) -> Any:
        return None if stored is not MISSING and stored[1] and stored[0] >= self.names else MISSING

    def consume(self, stored: Any) -> Any:
        return MISSING if self.get(stored) is None else stored

    def finish(self, stored: Any) -> Any:
        if stored is MISSING or stored[1] or not stored[0] >= self.names:
            return stored
        return (stored[0], True)


class Marker:
    """A channel asked for inside ``Annotated`` by what it does; the key's own type completes it."""

    def __init__(self, name: str, make: Callable[[Any], Channel]) -> None:
        self.name = name
        self.make = make

    def __repr__(self) -> str:
        return f"{self.name}()"


def untracked() -> Marker:
    """The key is never stored: ``context: Annotated[dict, untracked()]``."""
    return Marker("untracked", UntrackedValue)


def last() -> Marker:
    """The key keeps its last write and allows one writer a step: what a plain key does, said aloud."""
    return Marker("last", LastValue)


def topic(accumulate: bool = False) -> Marker:
    """The key gathers what a step publishes; with ``accumulate`` what all steps publish."""
    return Marker("topic", lambda typ: Topic(typ, accumulate))


def ephemeral() -> Marker:
    """The key lives for one step after its write."""
    return Marker("ephemeral", EphemeralValue)
