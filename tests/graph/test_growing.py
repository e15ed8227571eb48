"""Many writes of one step go into one new container, and come to what folding them one by one comes to."""

from __future__ import annotations

import operator
from collections.abc import Callable
from copy import deepcopy
from functools import reduce
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lawful.core.errors import InvalidUpdateError
from lawful.core.reducers import append, union
from lawful.graph.channels import BinaryOperatorAggregate
from lawful.graph.command import Overwrite
from lawful.graph.growing import growth_of
from support.graphs import concat

pytestmark = pytest.mark.unit


class Own(list[Any]):
    """A list that is not plain: adding to it is its own affair."""

    def __add__(self, other: Any) -> Any:
        return Own([*self, "added", *other])


ITEMS = st.lists(st.integers(0, 3), max_size=3)
PLAIN = st.one_of(ITEMS, ITEMS, ITEMS.map(tuple), ITEMS.map(set), ITEMS.map(frozenset), ITEMS.map(Own), st.none())


def outcome(act: Callable[[], Any]) -> Any:
    try:
        made = act()
    except (TypeError, InvalidUpdateError) as error:
        return type(error)
    return type(made), made


@pytest.mark.property
@settings(max_examples=150, deadline=None)
@given(st.sampled_from([operator.add, operator.concat, append, union]), PLAIN, st.lists(PLAIN, min_size=2, max_size=5))
def test_many_writes_come_to_what_each_after_the_other_does(merge: Any, stored: Any, writes: list[Any]) -> None:
    channel = BinaryOperatorAggregate(list, merge, "key")
    before = deepcopy((stored, writes))
    fold = getattr(merge, "fn", merge)
    assert outcome(lambda: channel.update(stored, writes)) == outcome(lambda: reduce(fold, writes, stored))
    assert (stored, writes) == before


@pytest.mark.parametrize(("merge", "unit"), [(operator.add, list), (append, list), (union, set)])
def test_many_writes_make_one_new_container(merge: Any, unit: type[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The merge itself, which would copy all of it for each write, is not called."""
    channel = BinaryOperatorAggregate(unit, merge, "key")
    monkeypatch.setattr(channel, "_merge", None)
    stored = unit()
    made = channel.update(stored, [unit([n]) for n in range(1000)])
    assert made == unit(range(1000))
    assert stored == unit()


def test_a_merge_of_ones_own_is_folded_one_by_one() -> None:
    unhashable: list[Any] = []
    for merge in (concat, operator.mul, unhashable):
        assert growth_of(merge) is None


@pytest.mark.parametrize("over", [Overwrite([7]), {"__overwrite__": [7]}, {"type": "__overwrite__", "value": [7]}])
def test_an_overwrite_among_many_is_found_in_any_form(over: Any) -> None:
    channel = BinaryOperatorAggregate(list, operator.add, "key")
    assert channel.update([1], [[2], over, [3]]) == [7]
    with pytest.raises(InvalidUpdateError, match="only one Overwrite"):
        channel.update([1], [over, [2], over])
