"""Whether the annotations of neighbouring steps fit, for programs that no type checker has read."""

from __future__ import annotations

import types
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from msgspec import Struct
from msgspec.structs import replace

from lawful.core.result import Err, Ok
from lawful.pipeline.nodes import (
    Branch,
    Each,
    Fallback,
    Guarded,
    Id,
    Lambda,
    Node,
    Par,
    Pipeline,
    Prim,
    Seq,
    function_name,
    name_of,
)
from lawful.pipeline.walking import fold

ANY: Any = Any


class Miswired(Struct, frozen=True):
    """Two steps that do not fit."""

    step: str
    """What is given something that it does not take."""
    wants: str
    after: str
    """What gives it."""
    gives: str

    def __str__(self) -> str:
        return f"{self.step} takes {self.wants}, but {self.after} gives {self.gives}"


class _Typed(Struct, frozen=True):
    """A part: what it takes and gives, and the steps at its two ends."""

    takes: Any = ANY
    gives: Any = ANY
    first: str = ""
    last: str = ""
    deep: int = 0
    """How far pairs and lists nest in what it gives."""


_DEEPEST = 32
"""Types that nest deeper fit everything: Python compares and shows types by recursion."""


def check(pipeline: Pipeline[Any, Any]) -> tuple[Miswired, ...]:
    """Where a step is given a type that it is not annotated to take; () where nothing is seen to be wrong.

    Goes by the annotations of functions and of components' ``__call__``; what has none, or one that cannot be read while
    running, fits everything. A type checker sees more.
    """
    found: list[Miswired] = []
    known: dict[int, _Typed] = {}

    def join(node: Pipeline[Any, Any], inside: list[_Typed]) -> _Typed:
        if inside or isinstance(node, Id):
            return _joined(cast("Node", node), inside, found)
        thing = id(node.run if isinstance(node, Lambda) else cast("Prim[Any, Any]", node).component)
        if thing not in known:
            known[thing] = _joined(cast("Node", node), inside, found)
        return known[thing]

    fold(pipeline, join)
    return tuple(found)


def _joined(node: Node, inside: list[_Typed], found: list[Miswired]) -> _Typed:
    match node:
        case Id():
            return _Typed()
        case Lambda(run=run) as leaf:
            return _of(run, name_of(leaf), chunks=leaf.fold is not None)
        case Prim(component) as leaf:
            return _of(getattr(component, "run", component), name_of(leaf))
        case Seq():
            return _chained(inside[0], inside[1], found)
        case Par():
            takes = _narrower(inside[0], inside[1], found)
            gives = tuple[inside[0].gives, inside[1].gives]
            return _nested(_Typed(takes, gives, inside[0].first, inside[1].last), inside)
        case Fallback():
            takes = _narrower(inside[0], inside[1], found)
            gives, deep = _either([inside[0].gives, inside[1].gives]), max(one.deep for one in inside)
            return _Typed(takes, gives, inside[0].first, inside[1].last, deep)
        case Branch(when):
            return _branch(_of(when, function_name(when)), inside, found)
        case Each():
            one = inside[0]
            return _nested(_Typed(_list(one.takes, Sequence), _list(one.gives, list), one.first, one.last), inside)
        case Guarded():
            return inside[0]


def _nested(whole: _Typed, inside: list[_Typed]) -> _Typed:
    """``whole``, with what it gives one level deeper than its parts; too deep is nothing that is known."""
    deep = 1 + max(one.deep for one in inside)
    if deep > _DEEPEST:
        return _Typed(ANY, ANY, whole.first, whole.last)
    return replace(whole, deep=deep)


def _chained(first: _Typed, then: _Typed, found: list[Miswired]) -> _Typed:
    if not first.last:  # identity: it gives what it takes
        return then
    if not then.first:
        return first
    if not fits(first.gives, then.takes):
        found.append(Miswired(then.first, shown(then.takes), first.last, shown(first.gives)))
    return _Typed(first.takes, then.gives, first.first, then.last, then.deep)


def _narrower(one: _Typed, other: _Typed, found: list[Miswired]) -> Any:
    """What two parts that share their input take together; they must be able to take the same."""
    if one.takes is ANY or other.takes is ANY:
        return other.takes if one.takes is ANY else one.takes
    if fits(one.takes, other.takes):
        return one.takes
    if fits(other.takes, one.takes):
        return other.takes
    found.append(Miswired(other.first, shown(other.takes), f"the input of {one.first}", shown(one.takes)))
    return ANY


def _branch(when: _Typed, arms: list[_Typed], found: list[Miswired]) -> _Typed:
    takes = _Typed(when.takes, first=when.first)
    for arm in arms:
        takes = _Typed(_narrower(takes, arm, found), first=when.first)
    gives, deep = _either([arm.gives for arm in arms]), max(arm.deep for arm in arms)
    return _Typed(takes.takes, gives, when.first, arms[-1].last or when.first, deep)


def _either(kinds: list[Any]) -> Any:
    if any(kind is ANY for kind in kinds):
        return ANY
    return Union[tuple(kinds)]


def _list(item: Any, kind: Any) -> Any:
    return kind[item]


def _of(function: Callable[..., Any], name: str, *, chunks: bool = False) -> _Typed:
    """What a function's annotations tell: its first parameter, and the value within what it returns."""
    plain = function if hasattr(function, "__code__") or isinstance(function, type) else type(function).__call__
    if isinstance(plain, type):
        return _Typed(ANY, plain, name, name)
    try:
        hints = get_type_hints(plain)
    except (NameError, TypeError, AttributeError):  # a type that is there for the checker only, or no function
        return _Typed(first=name, last=name)
    code = getattr(plain, "__code__", None)
    wanted = code.co_varnames[: code.co_argcount] if code is not None else ()
    own = 1 if plain is not function or hasattr(function, "__self__") else 0
    takes = hints.get(wanted[own], ANY) if len(wanted) > own else ANY
    return _Typed(takes, ANY if chunks else _value(hints.get("return", ANY)), name, name)


def _value(hint: Any) -> Any:
    """The value within a Result or an awaitable of one."""
    if get_origin(hint) in (Awaitable, Coroutine):
        return _value(get_args(hint)[-1])
    arms = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    if not any(get_origin(arm) in (Ok, Err) for arm in arms):
        return hint
    values = [get_args(arm)[0] if get_origin(arm) is Ok else arm for arm in arms if get_origin(arm) is not Err]
    return _either(values) if values else ANY


def fits(given: Any, wanted: Any) -> bool:
    """Whether a value annotated ``given`` may be handed to a parameter annotated ``wanted``; True where nobody can tell."""
    given, wanted = _plain(given), _plain(wanted)
    if ANY in (given, wanted) or wanted is object or given == wanted:
        return True
    if get_origin(given) in (Union, types.UnionType):
        return all(fits(arm, wanted) for arm in get_args(given))
    if get_origin(wanted) in (Union, types.UnionType):
        return any(fits(given, arm) for arm in get_args(wanted))
    have, need = get_origin(given) or given, get_origin(wanted) or wanted
    if not isinstance(have, type) or not isinstance(need, type):
        return True
    if not _is_kind(have, need):
        return False
    return _fit_inside(have, need, get_args(given), get_args(wanted))


def _plain(hint: Any) -> Any:
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    return ANY if isinstance(hint, TypeVar) else type(None) if hint is None else hint


_TOWER: dict[type, tuple[type, ...]] = {float: (int,), complex: (int, float)}


def _is_kind(have: type, need: type) -> bool:
    if getattr(need, "_is_protocol", False) or getattr(need, "__total__", None) is not None:
        return True  # a protocol or a TypedDict: its members are the checker's business
    try:
        return issubclass(have, need) or issubclass(have, _TOWER.get(need, ()))
    except TypeError:
        return True


def _fit_inside(have: type, need: type, given: tuple[Any, ...], wanted: tuple[Any, ...]) -> bool:
    """Arguments are held against each other for the same kind, and of what has one kind of item."""
    if not given or not wanted:
        return True
    if have is tuple and need is tuple:
        if Ellipsis in given or Ellipsis in wanted:
            return True
        return len(given) == len(wanted) and all(map(fits, given, wanted))
    if have is tuple or len(given) != len(wanted):
        return True
    return all(map(fits, given, wanted))


def shown(hint: Any) -> str:
    """A type as people write it, cut where it is long."""
    text = hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint).replace("typing.", "")
    return text if len(text) <= 200 else f"{text[:199]}…"
