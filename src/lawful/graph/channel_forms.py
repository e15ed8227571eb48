"""Further channels: batch-reduced, composed of others, and third parties' in LangGraph's form; what may stand for a channel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, Self, cast, get_args, get_origin

from lawful.core.errors import EmptyChannelError, GraphBuildError, InvalidUpdateError, nearest
from lawful.core.messages import Message, fresh_id
from lawful.core.reducers import Reducer
from lawful.graph.channels import MISSING, BinaryOperatorAggregate, Channel, Marker, element_or_whole, empty_of
from lawful.graph.command import overwritten
from lawful.graph.signature import hints, parameters, takes_two


class DeltaChannel(BinaryOperatorAggregate):
    """A merged key whose reducer takes all writes of a step at once: ``reducer(value, [write, ...])``.

    Checkpoints hold only what was written, as those of every key here do, and are folded step by step as the run did.
    A `Reducer` of this library, which takes one write at a time, may stand for the batch form: threads that were stored
    with it as a plain reducer then go on. ``snapshot_frequency`` is LangGraph's: checked and kept, but when whole values
    are stored is decided by their size (docs/differences.md).

    Raises: GraphBuildError (a ValueError), for a frequency below 1 or a reducer that does not take two arguments.
    """

    def __init__(
        self, reducer: Callable[[Any, Any], Any], typ: Any = None, *, snapshot_frequency: int = 1000, key: str = ""
    ) -> None:
        if isinstance(snapshot_frequency, bool) or not isinstance(snapshot_frequency, int) or snapshot_frequency < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _refuse(f"snapshot_frequency must be a positive int, got {snapshot_frequency!r}")
        if not callable(reducer) or not takes_two(reducer):
            raise _refuse(f"A DeltaChannel's reducer must take (value, writes), which {reducer!r:.80} does not")
        super().__init__(typ, reducer, key)
        self.reducer = reducer
        self.snapshot_frequency = snapshot_frequency
        self.each = isinstance(reducer, Reducer)
        """Whether the reducer takes one write at a time."""

    def initial(self) -> Any:
        return super().initial() if self.each else empty_of(self.typ)

    def update(self, stored: Any, writes: Sequence[Any]) -> Any:
        if self.each or not writes or any(overwritten(w)[0] for w in writes):
            return super().update(stored, writes)
        base = copy(stored) if type(stored) in (list, dict, set) else stored
        return self.reducer(empty_of(self.typ) if base is MISSING else base, list(writes))

    def prepare(self, write: Any) -> Any:
        """A write whose messages have ids before they are stored, so that each reading of them gives the same."""
        if isinstance(write, list):
            return [_numbered(item) for item in cast("list[Any]", write)]
        return _numbered(write)

    def accepts(self, typ: Any) -> Any:
        """By the reducer's second parameter: what a sequence of writes has as its element."""
        wanted = parameters(self.reducer)
        told = hints(self.reducer).get(wanted[1].name) if len(wanted) > 1 else None
        args = get_args(told)
        if get_origin(told) is not None and len(args) == 1:
            return args[0]
        return element_or_whole(typ)

    def same_as(self, other: Channel) -> bool:
        return isinstance(other, DeltaChannel) and super().same_as(other)


def _numbered(item: Any) -> Any:
    return item.named(fresh_id()) if isinstance(item, Message) and item.id is None else item


def _refuse(message: str) -> GraphBuildError:
    return GraphBuildError(message, component="graph", operation="channel")


# Channels made of channels


class MapChannel(Channel):
    """A dict whose every key is held by a channel like ``inner``: a write is a dict of writes."""

    def __init__(self, inner: Any, typ: Any = None, *, key: str = "") -> None:
        self.inner = channel_for(inner, Any, key)
        super().__init__(dict[str, self.inner.typ] if typ is None else typ, key)
        self.tracked, self.clears, self.finishes = self.inner.tracked, self.inner.clears, self.inner.finishes

    def part(self, name: str) -> Channel | None:
        """The channel that holds ``name``, or None where there is none."""
        return self.inner

    def _parts(self) -> Mapping[str, Channel] | None:
        """The channels by name, where those are fixed."""
        return None

    def update(self, stored: Any, writes: Sequence[Any]) -> Any:
        old: dict[str, Any] = {} if stored is MISSING else stored
        groups: dict[str, list[Any]] = {}
        for write in writes:
            if not isinstance(write, Mapping):
                raise InvalidUpdateError(f"A write here is a dict of writes, got {write!r:.100}.")
            for name, value in cast("Mapping[str, Any]", write).items():
                groups.setdefault(name, []).append(value)
        new = dict(old)
        for name in {**old, **groups}:
            channel = self.part(name)
            if channel is None:
                raise InvalidUpdateError(f"There is no part {name!r} here.{nearest(name, self._parts() or ())}")
            if name in groups or channel.clears:
                before = old.get(name, MISSING) if name in old else channel.initial()
                _put(new, name, channel.update(before, groups.get(name, ())))
        return stored if new == old and stored is not MISSING else new

    def get(self, stored: Any) -> Any:
        if stored is MISSING:
            return MISSING
        found = {name: self._of(name).get(value) for name, value in cast("dict[str, Any]", stored).items()}
        return {name: value for name, value in found.items() if value is not MISSING} or MISSING

    def _of(self, name: str) -> Channel:
        return self.part(name) or self.inner

    def consume(self, stored: Any) -> Any:
        return self._each(stored, lambda channel, value: channel.consume(value))

    def finish(self, stored: Any) -> Any:
        return self._each(stored, lambda channel, value: channel.finish(value))

    def _each(self, stored: Any, change: Callable[[Channel, Any], Any]) -> Any:
        if stored is MISSING:
            return stored
        old = cast("dict[str, Any]", stored)
        new: dict[str, Any] = {}
        for name, value in old.items():
            _put(new, name, change(self._of(name), value))
        if all(new.get(name, MISSING) is value for name, value in old.items()):
            return stored
        return new or MISSING

    def accepts(self, typ: Any) -> Any:
        return dict[str, self.inner.accepts(self.inner.typ)]

    def same_as(self, other: Channel) -> bool:
        return isinstance(other, MapChannel) and type(self) is type(other) and self.inner.same_as(other.inner)


class RecordChannel(MapChannel):
    """A dict whose named parts are each held by a channel of their own; made by `compose`."""

    def __init__(self, parts: Mapping[str, Any], typ: Any = dict, *, key: str = "") -> None:
        if not parts:
            raise _refuse("compose() needs at least one named channel")
        self.parts = {name: channel_for(part, Any, name) for name, part in parts.items()}
        untracked = [name for name, part in self.parts.items() if not part.tracked]
        if untracked:
            raise _refuse(f"Part {untracked[0]!r} is untracked: only a whole key can be left out of checkpoints")
        super().__init__(next(iter(self.parts.values())), typ, key=key)
        self.clears = any(part.clears for part in self.parts.values())
        self.finishes = any(part.finishes for part in self.parts.values())

    def part(self, name: str) -> Channel | None:
        return self.parts.get(name)

    def _parts(self) -> Mapping[str, Channel]:
        return self.parts

    def initial(self) -> Any:
        first = {name: part.initial() for name, part in self.parts.items()}
        return {name: value for name, value in first.items() if value is not MISSING} or MISSING

    def accepts(self, typ: Any) -> Any:
        return dict[str, Any]

    def same_as(self, other: Channel) -> bool:
        return (
            isinstance(other, RecordChannel)
            and self.parts.keys() == other.parts.keys()
            and all(part.same_as(other.parts[name]) for name, part in self.parts.items())
        )


def compose(**parts: Any) -> RecordChannel:
    """One key out of several channels: ``Annotated[dict, compose(total=BinaryOperatorAggregate(int, add), last=LastValue)]``.

    A write is a dict with some of the parts; each part merges as its own channel does. Raises: GraphBuildError.
    """
    return RecordChannel(parts)


def _put(values: dict[str, Any], name: str, value: Any) -> None:
    if value is MISSING:
        values.pop(name, None)
    else:
        values[name] = value


# Third parties' channels, in the form that LangGraph's have


class BaseChannel(ABC):
    """The base of a channel that holds its own value, as LangGraph's do: for channels that were written for it.

    The engine takes it through its checkpoint: for each step a channel is made from what is stored, updated and stored
    again. A channel of one's own is shorter as a subclass of `lawful.graph.Channel`, which holds nothing.
    """

    key: str = ""

    def __init__(self, typ: Any = Any, key: str = "") -> None:
        self.typ = typ
        self.key = key

    @property
    def ValueType(self) -> Any:
        """The type of what `get` gives."""
        return self.typ

    @property
    def UpdateType(self) -> Any:
        """The type of one write."""
        return self.typ

    @abstractmethod
    def from_checkpoint(self, checkpoint: Any) -> Self:
        """A channel like this one that holds what ``checkpoint`` gave; MISSING for an empty one."""

    @abstractmethod
    def update(self, values: Sequence[Any]) -> bool:
        """Take one step's writes (none, where nobody wrote); whether anything changed. Raises: InvalidUpdateError."""

    @abstractmethod
    def get(self) -> Any:
        """The value. Raises: EmptyChannelError."""

    def checkpoint(self) -> Any:
        """What is to be stored: plain data that does not change any more; MISSING for nothing."""
        try:
            return self.get()
        except EmptyChannelError:
            return MISSING

    def copy(self) -> Self:
        """Another channel with the same content."""
        return self.from_checkpoint(self.checkpoint())

    def is_available(self) -> bool:
        """Whether `get` would give a value."""
        try:
            self.get()
        except EmptyChannelError:
            return False
        return True

    def consume(self) -> bool:
        """Told when a node that it triggered has run; whether anything changed."""
        return False

    def finish(self) -> bool:
        """Told when nothing else would run; whether anything changed."""
        return False


class Adapted(Channel):
    """A `BaseChannel` as the engine's pure channel."""

    clears = True
    finishes = True

    def __init__(self, proto: BaseChannel, typ: Any, key: str) -> None:
        super().__init__(typ, key)
        self.proto = proto

    def _made(self, stored: Any) -> BaseChannel:
        made = self.proto.from_checkpoint(stored)
        made.key = self.key
        return made

    def initial(self) -> Any:
        return self._made(MISSING).checkpoint()

    def update(self, stored: Any, writes: Sequence[Any]) -> Any:
        made = self._made(stored)
        return made.checkpoint() if made.update(list(writes)) else stored

    def get(self, stored: Any) -> Any:
        made = self._made(stored)
        try:
            return made.get()
        except EmptyChannelError:
            return MISSING

    def consume(self, stored: Any) -> Any:
        made = self._made(stored)
        return made.checkpoint() if made.consume() else stored

    def finish(self, stored: Any) -> Any:
        made = self._made(stored)
        return made.checkpoint() if made.finish() else stored

    def accepts(self, typ: Any) -> Any:
        return self.proto.UpdateType

    def same_as(self, other: Channel) -> bool:
        return isinstance(other, Adapted) and (other.proto is self.proto or other.proto == self.proto)


def channel_for(item: Any, typ: Any, key: str) -> Channel:
    """The channel that ``item`` stands for: a channel, its class, a marker, or a third party's.

    ``typ`` is the declared type of its values, for a channel that does not say it. Raises: GraphBuildError.
    """
    found = channel_of_form(item, typ, key)
    if found is None:
        raise _refuse(f"{key or 'Here'}: expected a channel, got {item!r:.80}")
    return found


def channel_of_form(item: Any, typ: Any, key: str) -> Channel | None:
    """As `channel_for`; None for what stands for no channel."""
    made: Any = None
    if isinstance(item, type):
        if issubclass(item, (Channel, BaseChannel)):
            made = cast("Any", item)(typ)
    elif isinstance(item, Marker):
        made = item.make(typ)
    elif isinstance(item, (Channel, BaseChannel)):
        made = copy(item)  # one object may stand at several keys
    if isinstance(made, BaseChannel):
        made.key = key
        return Adapted(made, typ if typ is not Any else made.ValueType, key)
    if made is None:
        return None
    channel: Channel = made
    if channel.typ is None:
        channel.typ = typ
    channel.key = key
    return channel
