"""Laws as data: they find real counterexamples on given samples and say them in words."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

from lawful.core.laws import (
    Broken,
    Law,
    applicative_laws,
    counterexamples,
    functor_laws,
    monad_laws,
    monoid_laws,
    reducer_laws,
    semilattice_laws,
    untouched,
)
from lawful.core.reducers import append, maximum, union

pytestmark = pytest.mark.unit

FUNCTIONS: list[Callable[[int], int]] = [lambda n: n + 1, lambda n: n * 2, lambda n: n - 1]
STEPS: list[Callable[[int], list[int]]] = [lambda n: [], lambda n: [n, n], lambda n: [n + 1]]
LIST_SORTS: dict[str, list[Any]] = {
    "a": [0, 1, 5],
    "m": [[], [1], [1, 2]],
    "f": list(FUNCTIONS),
    "u": [[], FUNCTIONS[:1], FUNCTIONS[1:]],
    "k": list(STEPS),
}


def broken_by(laws: tuple[Law, ...], samples: Any) -> set[str]:
    return {law.name for law in laws if next(counterexamples(law, samples), None) is not None}


def pure(a: Any) -> list[Any]:
    return [a]


def bind(m: list[Any], k: Callable[[Any], list[Any]]) -> list[Any]:
    return [b for a in m for b in k(a)]


def ap(u: list[Any], m: list[Any]) -> list[Any]:
    return [f(a) for f in u for a in m]


def each(m: list[Any], f: Callable[[Any], Any]) -> list[Any]:
    return [f(a) for a in m]


def test_lists_obey_functor_applicative_and_monad_laws() -> None:
    laws = (*functor_laws(each), *applicative_laws(pure, ap), *monad_laws(pure, bind))
    assert broken_by(laws, LIST_SORTS) == set()
    assert len(laws) == 9


def test_wrong_instances_break_the_laws_that_they_should() -> None:
    def backwards(m: list[Any], f: Callable[[Any], Any]) -> list[Any]:
        return [f(a) for a in reversed(m)]

    def first_only(m: list[Any], k: Callable[[Any], list[Any]]) -> list[Any]:
        return k(m[0]) if m else []

    def twice(a: Any) -> list[Any]:
        return [a, a]

    assert broken_by(functor_laws(backwards), LIST_SORTS) == {"functor identity", "functor composition"}
    assert broken_by(monad_laws(pure, first_only), LIST_SORTS) == {"right identity"}
    assert broken_by(monad_laws(twice, bind), LIST_SORTS) == {"left identity", "right identity"}
    assert "applicative identity" in broken_by(applicative_laws(twice, ap), LIST_SORTS)


def test_monoids_and_semilattices() -> None:
    numbers = [-1, 0, 1, 2]
    assert broken_by(monoid_laws(operator.add, int), numbers) == set()
    assert broken_by(monoid_laws(operator.mul, int), numbers) == {"left unit", "right unit"}
    assert broken_by(monoid_laws(operator.sub, int), numbers) == {"associative", "left unit"}
    assert broken_by(semilattice_laws(max), numbers) == set()
    assert broken_by(semilattice_laws(operator.add), numbers) == {"idempotent"}
    assert broken_by(semilattice_laws(lambda a, b: (a + b) / 2), numbers) == {"associative"}


def test_a_merge_that_changes_its_argument_is_found() -> None:
    """Rows: S0-002."""

    def update(a: dict[str, int], b: dict[str, int]) -> dict[str, int]:
        a.update(b)
        return a

    broken = next(counterexamples(untouched(update), [{"x": 1}, {"y": 2}]), None)
    assert broken is not None
    assert broken.law.name == "untouched"


def test_a_counterexample_reads_as_a_sentence() -> None:
    (associative, *_) = monoid_laws(operator.sub, int)
    broken = associative.check(1, 2, 3)
    assert broken == Broken(associative, (1, 2, 3), -4, 2)
    assert str(broken) == "associative: f(f(a, b), c) == f(a, f(b, c)) fails for a = 1, b = 2, c = 3: -4 != 2"
    assert associative.check(0, 0, 0) is None


def test_arity_is_the_number_of_arguments() -> None:
    assert [law.arity for law in monoid_laws(operator.add, int)] == [3, 1, 1]
    assert [law.arity for law in semilattice_laws(max)] == [3, 2, 1]
    with pytest.raises(TypeError):
        monoid_laws(operator.add, int)[0].check(1, 2)


def test_equality_may_be_given() -> None:
    tenths = [0.1, 0.2, 0.3]
    assert broken_by(monoid_laws(operator.add, float), tenths) == {"associative"}
    assert broken_by(monoid_laws(operator.add, float, lambda a, b: abs(a - b) < 1e-9), tenths) == set()


def test_what_a_reducer_owes() -> None:
    assert [law.name for law in reducer_laws(append)] == ["associative", "left unit", "right unit", "untouched"]
    assert [law.name for law in reducer_laws(maximum)] == ["associative", "commutative", "idempotent", "untouched"]
    assert [law.name for law in reducer_laws(union, ["idempotent"])] == [
        "idempotent",
        "left unit",
        "right unit",
        "untouched",
    ]
