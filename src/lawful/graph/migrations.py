"""What a graph's author says of its past: nodes and keys that were renamed, values that had another form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import Any, TypeAlias, cast

from msgspec import Struct

from lawful.core.errors import GraphBuildError, nearest


class RenameNode(Struct, frozen=True):
    """A node that is called otherwise now. Threads that wait at it go on, its questions and effects keep their ids."""

    old: str
    new: str


class RenameKey(Struct, frozen=True):
    """A key of the state that is called otherwise now."""

    old: str
    new: str


class ConvertKey(Struct, frozen=True):
    """A key whose values have another form from ``version`` on; the first form is version 1."""

    key: str
    convert: Callable[[Any], Any]
    """Of a value of the version before, the value now. Pure: it is called whenever an old value is read."""
    version: int = 2
    update: Callable[[Any], Any] | None = None
    """Of a write of the version before, the write now; needed for keys with a reducer whose writes wait in a thread."""


class AcceptNode(Struct, frozen=True):
    """A node that threads may go on with which wait at an earlier ``version`` of it; `add_node` says which it is now."""

    node: str
    """Its name now."""
    version: int = 1


Migration: TypeAlias = RenameNode | RenameKey | ConvertKey | AcceptNode


class Migrations:
    """All that one graph's author said, put in order."""

    def __init__(self, told: Sequence[Migration]) -> None:
        self.nodes = _chained((m.old, m.new) for m in told if isinstance(m, RenameNode))
        """Every name that a node once had, and its name now."""
        self.keys = _chained((m.old, m.new) for m in told if isinstance(m, RenameKey))
        converts = [m for m in told if isinstance(m, ConvertKey)]
        self.converts: Mapping[str, tuple[ConvertKey, ...]] = {
            key: tuple(sorted((m for m in converts if m.key == key), key=lambda m: m.version))
            for key in {m.key for m in converts}
        }
        self.versions: Mapping[str, int] = {key: steps[-1].version for key, steps in self.converts.items()}
        """By key: the version of its values now, where that is not 1."""
        self.accepted = frozenset((m.node, m.version) for m in told if isinstance(m, AcceptNode))
        """Nodes, and versions of them that threads may wait at."""
        self.origins: Mapping[str, str] = _oldest(told)
        """By node: the name that its ids are made of, the first that it had."""

    # Names

    def node(self, name: str) -> str:
        return self.nodes.get(name, name)

    def key(self, key: str) -> str:
        """A channel's name now; those of joins and inboxes hold names of nodes."""
        if key.startswith("branch:to:"):
            return f"branch:to:{self.node(key[10:])}"
        if key.startswith("join:"):
            sources, _, target = key[5:].rpartition(":")
            return f"join:{'+'.join(map(self.node, sources.split('+')))}:{self.node(target)}"
        return self.keys.get(key, key)

    def stored(self, key: str, value: Any) -> Any:
        """What is stored of a channel, or written to it, with the names of now; ``key`` is the channel's name."""
        if not key.startswith(("branch:to:", "join:")):
            return value
        if isinstance(value, str):
            return self.node(value)
        if isinstance(value, (frozenset, set)):
            return frozenset(map(self.node, cast("frozenset[str]", value)))
        if isinstance(value, tuple):
            return tuple(self.stored(key, part) for part in cast("tuple[Any, ...]", value))
        return value

    def renamed(self, writes: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
        return [(self.key(key), self.stored(key, value)) for key, value in writes]

    # Values

    def lift(self, values: MutableMapping[str, Any], then: Mapping[str, int], now: Mapping[str, int]) -> None:
        """Bring ``values``, in place, from the versions ``then`` to the versions ``now``."""
        for key, steps in self.converts.items():
            if key not in values:
                continue
            for step in steps:
                if then.get(key, 1) < step.version <= now.get(key, 1):
                    values[key] = step.convert(values[key])

    def lift_writes(
        self, writes: Sequence[tuple[str, Any]], then: Mapping[str, int], plain: Callable[[str], bool]
    ) -> tuple[list[tuple[str, Any]], tuple[str, ...]]:
        """Writes brought to the versions of now, and the keys of which that cannot be said.

        ``plain``: whether a key's writes are its values.
        """
        out: list[tuple[str, Any]] = []
        stuck: list[str] = []
        for key, value in writes:
            made = value
            for step in self.converts.get(key, ()):
                if then.get(key, 1) >= step.version:
                    continue
                how = step.update or (step.convert if plain(key) else None)
                if how is None:
                    stuck.append(key)
                else:
                    made = how(made)
            out.append((key, made))
        return out, tuple(stuck)


def _chained(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    step = dict(pairs)
    out: dict[str, str] = {}
    for old in step:
        name, seen = old, {old}
        while name in step and step[name] not in seen:
            name = step[name]
            seen.add(name)
        out[old] = name
    return out


def _oldest(told: Sequence[Migration]) -> dict[str, str]:
    step = {m.old: m.new for m in told if isinstance(m, RenameNode)}
    first = [old for old in step if old not in step.values()]
    ends = _chained(step.items())
    return {ends[old]: old for old in reversed(first)}


def check_migrations(told: Sequence[Any], nodes: Iterable[str], keys: Iterable[str]) -> None:
    """Raises: GraphBuildError, for what cannot be meant: an unknown name, an old one that is still there, a version twice."""
    names, held = list(nodes), list(keys)
    for one in told:
        if not isinstance(one, (RenameNode, RenameKey, ConvertKey, AcceptNode)):
            raise _wrong(f"migrate takes RenameNode, RenameKey, ConvertKey and AcceptNode, got {one!r:.80}")
        known = names if isinstance(one, RenameNode | AcceptNode) else held
        if isinstance(one, AcceptNode):
            if one.node not in known:
                raise _wrong(f"AcceptNode({one.node!r}): there is no such node.{nearest(one.node, known)}")
            continue
        if isinstance(one, ConvertKey):
            if one.key not in known:
                raise _wrong(f"ConvertKey({one.key!r}): the state has no such key.{nearest(one.key, known)}")
            same = [m for m in told if isinstance(m, ConvertKey) and (m.key, m.version) == (one.key, one.version)]
            if one.version < 2 or len(same) > 1:
                raise _wrong(f"ConvertKey({one.key!r}): versions are 2, 3... and each is said once, got {one.version}")
            continue
        name = type(one).__name__
        later = [m for m in told if type(m) is type(one) and m.old == one.new]
        if one.new not in known and not later:
            raise _wrong(f"{name}({one.old!r}, {one.new!r}): there is no {one.new!r} now.{nearest(one.new, known)}")
        if one.old in known:
            raise _wrong(f"{name}({one.old!r}, {one.new!r}): {one.old!r} is still there")


def _wrong(text: str) -> GraphBuildError:
    return GraphBuildError(text, component="graph", operation="migrate")
