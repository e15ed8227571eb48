"""`Law`: an equation held as data, and the laws of monoids, semilattices, functors, applicatives and monads."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias, cast

from msgspec import Struct

from lawful.core.reducers import LawName, as_reducer

Equal: TypeAlias = Callable[[Any, Any], bool]
Op: TypeAlias = Callable[[Any, Any], Any]
Pair: TypeAlias = tuple[Any, Any]
Sides: TypeAlias = Callable[[Any], Pair] | Callable[[Any, Any], Pair] | Callable[[Any, Any, Any], Pair]


class Law(Struct, frozen=True):
    """Two sides that must be equal for every choice of arguments."""

    name: str
    equation: str
    """For people: "f(f(a, b), c) == f(a, f(b, c))"."""
    sorts: tuple[str, ...]
    """What each argument is: "a" a value, "m" a wrapped value, "f" a function, "u" a wrapped function, "k" a step."""
    sides: Sides
    """The left and the right side for given arguments."""
    equal: Equal = operator.eq

    @property
    def arity(self) -> int:
        return len(self.sorts)

    def check(self, *arguments: Any) -> Broken | None:
        """None if the equation holds for these arguments, else what it gave.

        Raises: whatever the operation itself raises.
        """
        left, right = cast("Callable[..., Pair]", self.sides)(*arguments)
        return None if self.equal(left, right) else Broken(self, arguments, left, right)


class Broken(Struct, frozen=True):
    """A counterexample."""

    law: Law
    arguments: tuple[Any, ...]
    left: Any
    right: Any

    def __str__(self) -> str:
        names = _names(self.law.sorts)
        given = ", ".join(f"{name} = {value!r}" for name, value in zip(names, self.arguments, strict=True))
        return f"{self.law.name}: {self.law.equation} fails for {given}: {self.left!r} != {self.right!r}"


def counterexamples(law: Law, samples: Mapping[str, Sequence[Any]] | Sequence[Any]) -> Iterator[Broken]:
    """Every choice of arguments out of ``samples`` (one list, or one for each sort) that breaks ``law``."""
    pools = [samples[sort] if isinstance(samples, Mapping) else samples for sort in law.sorts]
    for arguments in product(*pools):
        broken = law.check(*arguments)
        if broken is not None:
            yield broken


def associative(op: Op, equal: Equal = operator.eq) -> Law:
    return Law(
        "associative",
        "f(f(a, b), c) == f(a, f(b, c))",
        ("a", "a", "a"),
        lambda a, b, c: (op(op(a, b), c), op(a, op(b, c))),
        equal,
    )


def commutative(op: Op, equal: Equal = operator.eq) -> Law:
    return Law("commutative", "f(a, b) == f(b, a)", ("a", "a"), lambda a, b: (op(a, b), op(b, a)), equal)


def idempotent(op: Op, equal: Equal = operator.eq) -> Law:
    return Law("idempotent", "f(a, a) == a", ("a",), lambda a: (op(a, a), a), equal)


def unital(op: Op, unit: Callable[[], Any], equal: Equal = operator.eq) -> tuple[Law, Law]:
    """Left and right unit."""
    return (
        Law("left unit", "f(unit, a) == a", ("a",), lambda a: (op(unit(), a), a), equal),
        Law("right unit", "f(a, unit) == a", ("a",), lambda a: (op(a, unit()), a), equal),
    )


def untouched(op: Op, equal: Equal = operator.eq) -> Law:
    """A merge makes a new value: what it was given stays as it was, for others hold it too."""

    def sides(a: Any, b: Any) -> tuple[Any, Any]:
        before = copy.deepcopy((a, b))
        op(a, b)
        return (a, b), before

    def both(now: Pair, before: Pair) -> bool:
        return equal(now[0], before[0]) and equal(now[1], before[1])

    return Law("untouched", "f(a, b) leaves a and b as they were", ("a", "a"), sides, both)


def monoid_laws(op: Op, unit: Callable[[], Any], equal: Equal = operator.eq) -> tuple[Law, ...]:
    return (associative(op, equal), *unital(op, unit, equal))


def semilattice_laws(op: Op, equal: Equal = operator.eq) -> tuple[Law, ...]:
    return (associative(op, equal), commutative(op, equal), idempotent(op, equal))


_BY_NAME: dict[LawName, Callable[[Op, Equal], Law]] = {
    "associative": associative,
    "commutative": commutative,
    "idempotent": idempotent,
}


def reducer_laws(fn: Op, laws: Sequence[LawName] | None = None, equal: Equal = operator.eq) -> tuple[Law, ...]:
    """The laws that ``fn`` owes: those named, else those that it declares; with its unit, and that it changes nothing.

    A plain function owes associativity.
    """
    told = as_reducer(fn)
    owed: Sequence[LawName] = laws if laws is not None else sorted(told.laws) if told is fn else ("associative",)
    units = unital(told.fn, told.unit, equal) if told.unit is not None else ()
    return (*(_BY_NAME[name](told.fn, equal) for name in owed), *units, untouched(told.fn, equal))


def functor_laws(map: Callable[[Any, Callable[[Any], Any]], Any], equal: Equal = operator.eq) -> tuple[Law, ...]:
    """Of ``map(m, f)``."""
    return (
        Law("functor identity", "map(m, id) == m", ("m",), lambda m: (map(m, _same), m), equal),
        Law(
            "functor composition",
            "map(map(m, f), g) == map(m, g after f)",
            ("m", "f", "f"),
            lambda m, f, g: (map(map(m, f), g), map(m, lambda a: g(f(a)))),
            equal,
        ),
    )


def applicative_laws(
    pure: Callable[[Any], Any], ap: Callable[[Any, Any], Any], equal: Equal = operator.eq
) -> tuple[Law, ...]:
    """Of ``ap(u, m)``, where ``u`` holds a function."""
    return (
        Law("applicative identity", "ap(pure(id), m) == m", ("m",), lambda m: (ap(pure(_same), m), m), equal),
        Law(
            "homomorphism",
            "ap(pure(f), pure(a)) == pure(f(a))",
            ("f", "a"),
            lambda f, a: (ap(pure(f), pure(a)), pure(f(a))),
            equal,
        ),
        Law(
            "interchange",
            "ap(u, pure(a)) == ap(pure(apply to a), u)",
            ("u", "a"),
            lambda u, a: (ap(u, pure(a)), ap(pure(_apply_to(a)), u)),
            equal,
        ),
        Law(
            "applicative composition",
            "ap(ap(ap(pure(after), u), v), m) == ap(u, ap(v, m))",
            ("u", "u", "m"),
            lambda u, v, m: (ap(ap(ap(pure(_after), u), v), m), ap(u, ap(v, m))),
            equal,
        ),
    )


def monad_laws(
    pure: Callable[[Any], Any], bind: Callable[[Any, Callable[[Any], Any]], Any], equal: Equal = operator.eq
) -> tuple[Law, ...]:
    """Of ``bind(m, k)``."""
    return (
        Law("left identity", "bind(pure(a), k) == k(a)", ("a", "k"), lambda a, k: (bind(pure(a), k), k(a)), equal),
        Law("right identity", "bind(m, pure) == m", ("m",), lambda m: (bind(m, pure), m), equal),
        Law(
            "associativity of bind",
            "bind(bind(m, k), l) == bind(m, a -> bind(k(a), l))",
            ("m", "k", "k"),
            lambda m, k, l: (bind(bind(m, k), l), bind(m, lambda a: bind(k(a), l))),
            equal,
        ),
    )


def _same(a: Any) -> Any:
    return a


def _after(f: Callable[[Any], Any]) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    return lambda g: lambda a: f(g(a))


def _apply_to(a: Any) -> Callable[[Callable[[Any], Any]], Any]:
    return lambda f: f(a)


def _names(sorts: Sequence[str]) -> list[str]:
    """a, a, a are shown as a, b, c; two functions as f, g."""
    count: dict[str, int] = {}
    names: list[str] = []
    for sort in sorts:
        n = count[sort] = count.get(sort, -1) + 1
        names.append(chr(ord(sort) + n))
    return names
