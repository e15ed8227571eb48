"""Reducers: their declared laws hold, wrong laws are found and named, and none changes what it is given."""

from __future__ import annotations

import copy
import functools
import operator
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful.core import reducers
from lawful.core.errors import ConfigurationError, InvalidUpdateError
from lawful.core.laws import reducer_laws
from lawful.core.reducers import (
    Reducer,
    add_messages,
    append,
    as_reducer,
    combine,
    converge,
    maximum,
    merge,
    minimum,
    reducer,
    reducer_id,
    reducer_version,
    replace,
    union,
)
from lawful.testing import LawBroken, check_laws
from lawful.testing.strategies import json_values
from support.children import fresh

pytestmark = [pytest.mark.unit, pytest.mark.property]

NUMBERS = st.integers(-50, 50)
LISTS = st.lists(NUMBERS, max_size=4)
SETS = st.sets(st.integers(0, 9), max_size=4)
DICTS = st.dictionaries(st.sampled_from("abc"), NUMBERS, max_size=3)

SHIPPED: list[tuple[Reducer[Any, Any], st.SearchStrategy[Any]]] = [
    (append, LISTS),
    (replace, json_values(3)),
    (maximum, NUMBERS),
    (minimum, st.text(max_size=4)),
    (union, SETS),
    (merge, DICTS),
]


@pytest.mark.parametrize(("shipped", "values"), SHIPPED, ids=lambda given: getattr(given, "id", ""))
def test_declared_laws_hold(shipped: Reducer[Any, Any], values: st.SearchStrategy[Any]) -> None:
    """Rows: S0-196."""
    assert "associative" in shipped.laws
    check_laws(shipped, values, max_examples=50)


def test_laws_that_are_not_declared_do_not_hold() -> None:
    """Each declaration is the whole truth: what it leaves out is false."""
    wrong: list[tuple[Reducer[Any, Any], st.SearchStrategy[Any], str]] = [
        (append, LISTS, "commutative"),
        (append, LISTS, "idempotent"),
        (replace, NUMBERS, "commutative"),
        (merge, DICTS, "commutative"),
    ]
    for shipped, values, law in wrong:
        with pytest.raises(LawBroken) as caught:
            check_laws(shipped, values, laws=[law])  # pyright: ignore[reportArgumentType]
        assert caught.value.law.name == law


def minus(a: int, b: int) -> int:
    return a - b


def mean(a: float, b: float) -> float:
    return (a + b) / 2


def extend(a: list[int], b: list[int]) -> list[int]:
    a.extend(b)
    return a


def keep_two(a: list[int], b: list[int]) -> list[int]:
    return [*a, *b][-2:]


def _first(a: Any, b: Any) -> Any:
    return a


WRONG: list[tuple[Any, st.SearchStrategy[Any], str]] = [
    (minus, NUMBERS, "associative"),
    (operator.sub, NUMBERS, "associative"),
    (mean, NUMBERS, "associative"),
    (extend, LISTS, "untouched"),
    (Reducer(operator.add, "t:add", unit=lambda: 1, laws=frozenset({"associative"})), NUMBERS, "left unit"),
    (Reducer(minus, "t:minus", unit=int), NUMBERS, "left unit"),
    (Reducer(operator.add, "t:add", laws=frozenset({"associative", "idempotent"})), NUMBERS, "idempotent"),
    (Reducer(_first, "t:first", laws=frozenset({"commutative"})), NUMBERS, "commutative"),
]


@pytest.mark.parametrize(("wrong", "values", "law"), WRONG, ids=lambda given: given if isinstance(given, str) else "")
def test_wrong_laws_are_caught_and_named(
    wrong: Callable[[Any, Any], Any], values: st.SearchStrategy[Any], law: str
) -> None:
    with pytest.raises(LawBroken) as caught:
        check_laws(wrong, values)
    assert caught.value.law.name == law
    assert law in str(caught.value)
    assert reducer_id(wrong) in str(caught.value)


def test_the_counterexample_is_real_and_small() -> None:
    with pytest.raises(LawBroken) as caught:
        check_laws(minus, NUMBERS)
    broken = caught.value.broken
    a, b, c = broken.arguments
    assert minus(minus(a, b), c) == broken.left
    assert minus(a, minus(b, c)) == broken.right
    assert broken.left != broken.right
    assert (abs(a), abs(b), abs(c)) <= (0, 0, 1)
    assert "a = 0" in str(broken)


def test_a_window_over_the_end_is_associative_and_check_laws_does_not_cry_wolf() -> None:
    check_laws(keep_two, LISTS)


def test_equality_may_be_given() -> None:
    def near(a: float, b: float) -> bool:
        return abs(a - b) < 1e-6

    floats = st.floats(-10, 10)
    check_laws(operator.add, floats, equal=near)
    with pytest.raises(LawBroken):
        check_laws(operator.add, floats, max_examples=500)


def test_append_keeps_the_values_kind() -> None:
    assert append([1], [2]) == [1, 2]
    assert append([1], (2,)) == [1, 2]
    assert append((1,), [2]) == (1, 2)
    assert append((), ()) == ()


@pytest.mark.parametrize("bare", ["text", 3, None, {"a": 1}, {1}, b"x", range(3), iter([1])])
def test_append_refuses_a_bare_item(bare: object) -> None:
    state = [1]
    with pytest.raises(InvalidUpdateError, match="append"):
        append(state, bare)
    assert state == [1]
    with pytest.raises(InvalidUpdateError, match="append"):
        append("text", ["a"])


def test_union_and_merge_and_converge_refuse_other_kinds() -> None:
    for wrong in (lambda: union({1}, [2]), lambda: merge({}, [("a", 1)]), lambda: converge(1, 2)):
        with pytest.raises(InvalidUpdateError):
            wrong()


def test_of_equals_the_one_that_was_there_stays() -> None:
    first, second = [1], [1]
    assert maximum(first, second) is first
    assert minimum(first, second) is first


@pytest.mark.parametrize(("shipped", "values"), SHIPPED, ids=lambda given: getattr(given, "id", ""))
def test_none_aliases_or_changes_its_arguments(shipped: Reducer[Any, Any], values: st.SearchStrategy[Any]) -> None:
    """Rows: S0-002."""

    @given(values, values)
    def check(a: Any, b: Any) -> None:
        before = copy.deepcopy((a, b))
        merged = shipped(a, b)
        if shipped not in (replace, maximum, minimum) and isinstance(merged, list | dict | set):
            assert merged is not a
            assert merged is not b
        assert (a, b) == before

    check()


def test_a_product_of_lawful_merges_is_lawful() -> None:
    both = combine(seen=union, best=maximum)
    assert both.laws == {"associative", "commutative", "idempotent"}
    values = st.fixed_dictionaries({}, optional={"seen": SETS, "best": NUMBERS})
    check_laws(both, values, max_examples=50)
    mixed = combine(seen=union, log=append, note=replace)
    assert mixed.laws == {"associative"}
    check_laws(
        mixed, st.fixed_dictionaries({}, optional={"seen": SETS, "log": LISTS, "note": NUMBERS}), max_examples=50
    )
    assert combine(total=operator.add).laws == frozenset()


def test_a_product_with_one_wrong_part_is_caught() -> None:
    wrong = combine(best=maximum, rest=minus)
    with pytest.raises(LawBroken):
        check_laws(wrong, st.fixed_dictionaries({"best": NUMBERS, "rest": NUMBERS}), laws=["associative"])


def test_a_product_refuses_a_key_it_does_not_have() -> None:
    with pytest.raises(InvalidUpdateError, match="Did you mean 'best'"):
        combine(best=maximum)({}, {"bets": 1})


def test_a_product_prepares_its_parts() -> None:
    both = combine(messages=add_messages, best=maximum)
    assert both.prepare is not None
    ready = both.prepare({"messages": ["hi"], "best": 3})
    assert ready["best"] == 3
    assert ready["messages"][0].id
    assert both({}, ready) == both({}, ready)
    assert combine(best=maximum).prepare is None


def test_the_decorator_declares() -> None:
    @reducer(unit=int, laws=["associative", "commutative"], version=3)
    def total(a: int, b: int) -> int:
        return a + b

    assert (total(2, 3), total.version, total.unit) == (5, 3, int)
    assert total.id.endswith("test_the_decorator_declares.<locals>.total")
    assert reducer_version(total) == 3
    check_laws(total, NUMBERS)
    with pytest.raises(ConfigurationError, match="Did you mean 'commutative'"):
        reducer(laws=["comutative"])  # pyright: ignore[reportArgumentType]


class Joiner:
    """A callable of a class."""

    def __call__(self, a: str, b: str) -> str:
        return a + b

    def method(self, a: str, b: str) -> str:
        return b


NAMED: list[tuple[Any, str]] = [
    (append, "lawful.core.reducers:append"),
    (minus, f"{__name__}:minus"),
    (operator.add, "_operator:add"),
    (list[Any].__add__, "builtins:list.__add__"),
    (max, "builtins:max"),
    (Joiner(), f"{__name__}:Joiner"),
    (Joiner().method, f"{__name__}:Joiner.method"),
    (functools.partial(minus, b=2), f"{__name__}:minus(b=2)"),
    (functools.partial(append, [1]), "lawful.core.reducers:append(builtins:list)"),
]


@pytest.mark.parametrize(("fn", "name"), NAMED)
def test_ids_name_the_definition(fn: Callable[..., Any], name: str) -> None:
    assert reducer_id(fn) == name


def test_ids_are_equal_in_another_process() -> None:
    program = (
        "import operator, functools\n"
        "from lawful.core.reducers import *\n"
        "fns = [append, operator.add, functools.partial(operator.add, 'x'), combine(a=append, b=maximum), object().__eq__]\n"
        "print([reducer_id(fn) for fn in fns])"
    )
    runs = {fresh(program) for _ in range(2)}
    assert len(runs) == 1
    assert "0x" not in runs.pop()


def test_as_reducer_leaves_a_reducer_and_declares_nothing_of_a_function() -> None:
    assert as_reducer(append) is append
    plain = as_reducer(minus)
    assert (plain(5, 3), plain.laws, plain.unit, plain.version) == (2, frozenset(), None, 1)
    assert [law.name for law in reducer_laws(plain)] == ["untouched"]
    assert [law.name for law in reducer_laws(minus)] == ["associative", "untouched"]


def test_every_shipped_name_is_a_reducer_with_its_own_id() -> None:
    names = ["append", "add_messages", "replace", "maximum", "minimum", "union", "merge", "converge"]
    for name in names:
        assert getattr(reducers, name).id == f"lawful.core.reducers:{name}"
