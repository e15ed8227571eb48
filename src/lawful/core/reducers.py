"""How two values of a state key become one: merges with their units, ids and declared laws."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeAlias, TypeVar, cast

from msgspec import Struct

from lawful.core.crdt import LWW, GSet, MaxRegister, Mergeable, PNCounter, VersionVector
from lawful.core.errors import ConfigurationError, InvalidUpdateError
from lawful.core.failure import nearest
from lawful.core.merge_messages import merge_messages, prepare_messages

__all__ = [
    "Reducer", "reducer", "reducer_id", "reducer_version", "as_reducer",
    "append", "add_messages", "replace", "maximum", "minimum", "union", "merge", "converge", "combine",
    "GSet", "PNCounter", "LWW", "MaxRegister", "VersionVector",
]  # fmt: skip

S = TypeVar("S")
U = TypeVar("U")
T = TypeVar("T")

LawName: TypeAlias = Literal["associative", "commutative", "idempotent"]
LAWS: tuple[LawName, ...] = ("associative", "commutative", "idempotent")

MONOID: frozenset[LawName] = frozenset({"associative"})
SEMILATTICE: frozenset[LawName] = frozenset(LAWS)


class Reducer(Struct, Generic[S, U], frozen=True):
    """A merge of a state's value with an update: call it with (value, update), get the next value.

    It never changes its arguments. A hot loop may call ``fn`` itself.
    """

    fn: Callable[[S, U], S]
    id: str
    """"module:qualname"; what a stored thread remembers of it, with ``version``."""
    version: int = 1
    """Raised by its author when it gives other results for the same arguments."""
    unit: Callable[[], S] | None = None
    """Makes the value that changes nothing; None if there is none."""
    laws: frozenset[LawName] = frozenset()
    """What its author declares and `lawful.testing.check_laws` checks. Only an associative merge may be regrouped."""
    update_type: Any = None
    """What an update must be; None: the type of the second parameter, else that of the key. ``object``: anything,
    since the merge itself checks it."""
    prepare: Callable[[U], U] | None = None
    """Completes an update before it is stored (add_messages gives ids there), so that folding stored updates again
    gives the same value; preparing twice is preparing once."""

    def __call__(self, value: S, update: U) -> S:
        return self.fn(value, update)

    def __repr__(self) -> str:
        return f"Reducer({self.id})"


def reducer(
    *,
    unit: Callable[[], S] | None = None,
    laws: Sequence[LawName] = (),
    version: int = 1,
    update_type: Any = None,
) -> Callable[[Callable[[S, U], S]], Reducer[S, U]]:
    """Decorator: declares the unit and the laws of a merge function of one's own.

    Raises: ConfigurationError for a law that is not one of the three.
    """
    for law in laws:
        if law not in LAWS:
            raise ConfigurationError(f"No law is named {law!r}.{nearest(law, LAWS)}", component="reducers")

    def declare(fn: Callable[[S, U], S]) -> Reducer[S, U]:
        return Reducer(fn, reducer_id(fn), version, unit, frozenset(laws), update_type)

    return declare


def as_reducer(fn: Callable[[S, U], S]) -> Reducer[S, U]:
    """``fn`` itself if it is a Reducer, else a Reducer that declares nothing of it."""
    return cast("Reducer[S, U]", fn) if isinstance(fn, Reducer) else Reducer(fn, reducer_id(fn))


def reducer_id(fn: Callable[..., Any]) -> str:
    """A name that is equal in every process that runs the same program: never an address, never source text.

    For a Reducer its id; for a function, method, class or built-in "module:qualname"; for a partial that of its inner
    function with the arguments; for another callable that of its class. All lambdas of one scope share a name.
    """
    if isinstance(fn, Reducer):
        return cast("Reducer[Any, Any]", fn).id
    if isinstance(fn, functools.partial):
        part = cast("functools.partial[Any]", fn)
        given = [_named(value) for value in part.args]
        given += [f"{key}={_named(value)}" for key, value in sorted(part.keywords.items())]
        return f"{reducer_id(part.func)}({', '.join(given)})"
    named: Any = fn if hasattr(fn, "__qualname__") else type(fn)
    module: str | None = getattr(named, "__module__", None)
    if module is None:
        # A method of a built-in type knows its class and no module.
        module = getattr(getattr(named, "__objclass__", None), "__module__", "builtins")
    return f"{module}:{named.__qualname__}"


def reducer_version(fn: Callable[..., Any]) -> int:
    """The declared version; 1 for a plain function."""
    return cast("Reducer[Any, Any]", fn).version if isinstance(fn, Reducer) else 1


def _named(value: object) -> str:
    return repr(value) if isinstance(value, str | int | float | bool | bytes | None) else reducer_id(type(value))


def _refuse(which: str, what: str, hint: str = "") -> InvalidUpdateError:
    return InvalidUpdateError(f"{which}: {what}.{hint}", component="reducers", operation=which)


def _append(value: Any, update: Any) -> Any:
    if not isinstance(update, list | tuple):
        raise _refuse("append", f"an update must be a list or tuple, not {type(update).__name__}", " Write [item].")
    if isinstance(value, list):
        return [*cast("list[Any]", value), *cast("Sequence[Any]", update)]
    if isinstance(value, tuple):
        return (*cast("tuple[Any, ...]", value), *cast("Sequence[Any]", update))
    raise _refuse("append", f"the value must be a list or tuple, not {type(value).__name__}")


def _replace(value: Any, update: Any) -> Any:
    return update


def _maximum(value: Any, update: Any) -> Any:
    return update if update > value else value


def _minimum(value: Any, update: Any) -> Any:
    return update if update < value else value


def _union(value: Any, update: Any) -> Any:
    for given in (value, update):
        if not isinstance(given, set | frozenset):
            raise _refuse("union", f"both sides must be sets, not {type(given).__name__}")
    return cast("set[Any]", value) | cast("set[Any]", update)


def _merge(value: Any, update: Any) -> Any:
    for given in (value, update):
        if not isinstance(given, Mapping):
            raise _refuse("merge", f"both sides must be dicts, not {type(given).__name__}")
    return {**value, **update}


def _converge(value: Any, update: Any) -> Any:
    if type(value) is not type(update) or not isinstance(value, Mergeable):
        raise _refuse(
            "converge", f"both sides must be one mergeable type, not {type(value).__name__} and {type(update).__name__}"
        )
    return value.merge(update)


_HERE = "lawful.core.reducers:"


class Appending(Reducer[Any, Any], frozen=True):
    """The reducer `append`, which may also be written ``append()`` inside ``Annotated``."""

    def __call__(self, *both: Any) -> Any:
        return self.fn(*both) if both else self


append: Appending = Appending(_append, _HERE + "append", unit=list, laws=MONOID)
"""Concatenation of lists or tuples; the result is of the value's kind. A bare item or a str is refused."""

add_messages: Reducer[Any, Any] = Reducer(
    merge_messages, _HERE + "add_messages", unit=list, update_type=object, prepare=prepare_messages
)
"""Messages are appended, or replaced where one of the same id stands; see `lawful.core.merge_messages`.

It declares no law: a removal says something of the value it meets, so that updates may not be regrouped.
"""

replace: Reducer[Any, Any] = Reducer(_replace, _HERE + "replace", laws=frozenset({"associative", "idempotent"}))
"""The later wins. Associative, not commutative: among parallel writers the order of their names decides."""

maximum: Reducer[Any, Any] = Reducer(_maximum, _HERE + "maximum", laws=SEMILATTICE)
"""The greater of the two; of equals the one that was there."""

minimum: Reducer[Any, Any] = Reducer(_minimum, _HERE + "minimum", laws=SEMILATTICE)
"""The lesser of the two; of equals the one that was there."""

union: Reducer[Any, Any] = Reducer(_union, _HERE + "union", unit=set, laws=SEMILATTICE)
"""The union of two sets; the result is of the value's kind."""

merge: Reducer[Any, Any] = Reducer(
    _merge, _HERE + "merge", unit=dict, laws=frozenset({"associative", "idempotent"}), update_type=Mapping
)
"""Two dicts as one; of equal keys the later wins."""

converge: Reducer[Any, Any] = Reducer(_converge, _HERE + "converge", laws=SEMILATTICE)
"""``value.merge(update)`` of the replicated types of core/crdt.py: any order and any repetition give the same."""


def combine(**fields: Callable[[Any, Any], Any]) -> Reducer[dict[str, Any], Mapping[str, Any]]:
    """One merge for a dict out of one merge for each of its keys; a key that one side lacks is taken from the other.

    It obeys every law that all of its parts declare; its unit is the empty dict.

    Raises (the merge): InvalidUpdateError, with the nearest valid name, for a key that is not among ``fields``.
    """
    parts = {key: as_reducer(part) for key, part in fields.items()}
    laws: frozenset[LawName] = frozenset(law for law in LAWS if all(law in part.laws for part in parts.values()))

    def fieldwise(value: dict[str, Any], update: Mapping[str, Any]) -> dict[str, Any]:
        merged = dict(value)
        for key, new in update.items():
            part = parts.get(key)
            if part is None:
                raise _refuse("combine", f"there is no key {key!r}", nearest(key, parts))
            merged[key] = part.fn(merged[key], new) if key in merged else new
        return merged

    def prepare(update: Mapping[str, Any]) -> Mapping[str, Any]:
        ready = {key: part.prepare for key, part in parts.items() if part.prepare is not None}
        return {key: ready[key](new) if key in ready else new for key, new in update.items()}

    inner = ", ".join(f"{key}={part.id}@{part.version}" for key, part in sorted(parts.items()))
    return Reducer(
        fieldwise,
        f"{_HERE}combine({inner})",
        unit=cast("Callable[[], dict[str, Any]]", dict),
        laws=laws,
        update_type=Mapping,
        prepare=prepare if any(part.prepare is not None for part in parts.values()) else None,
    )
