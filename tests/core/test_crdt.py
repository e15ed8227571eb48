"""Replicated values: three laws each, and replicas that were cut off from each other agree once they have met."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful.core.crdt import LWW, GSet, MaxRegister, Mergeable, PNCounter, VersionVector
from lawful.core.errors import InvalidUpdateError
from lawful.core.reducers import converge
from lawful.testing import check_laws
from lawful.testing.strategies import counters, gsets, maxima, registers, vectors

pytestmark = [pytest.mark.unit, pytest.mark.property]

KINDS: list[Any] = [gsets(), counters(), registers(), maxima(), vectors()]


@pytest.mark.parametrize("values", KINDS, ids=["GSet", "PNCounter", "LWW", "MaxRegister", "VersionVector"])
def test_merge_is_associative_commutative_and_idempotent(values: st.SearchStrategy[Any]) -> None:
    """Rows: S0-090."""
    assert converge.laws == {"associative", "commutative", "idempotent"}
    check_laws(converge, values)


@pytest.mark.parametrize("values", KINDS, ids=["GSet", "PNCounter", "LWW", "MaxRegister", "VersionVector"])
def test_partitioned_replicas_converge(values: st.SearchStrategy[Any]) -> None:
    """Three replicas learn of the same updates in different orders, some twice, and through each other. Rows: S0-090."""

    @given(st.lists(values, min_size=1, max_size=6), st.randoms(use_true_random=False))
    def check(updates: list[Any], chance: Any) -> None:
        replicas: list[Any] = []
        for _ in range(3):
            order = [*updates, *chance.choices(updates, k=2)]
            chance.shuffle(order)
            value = order[0]
            for update in order[1:]:
                value = value.merge(update)
            replicas.append(value)
        assert replicas[0] == replicas[1] == replicas[2]

    check()


Step = tuple[str, int]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(-5, 5)), max_size=20), st.data())
def test_a_counter_kept_at_three_sites_counts_everything_once(steps: list[Step], data: st.DataObject) -> None:
    sites = {name: PNCounter() for name in "abc"}
    for name, amount in steps:
        sites[name] = sites[name].add(name, amount)
        if data.draw(st.booleans()):
            other = data.draw(st.sampled_from("abc"))
            sites[other] = sites[other].merge(sites[name])
    whole = sites["a"].merge(sites["b"]).merge(sites["c"])
    assert whole.value == sum(amount for _, amount in steps)


@given(st.lists(st.integers(0, 9), max_size=6))
def test_a_set_holds_all_that_was_ever_added(items: list[int]) -> None:
    grown = GSet[int]()
    for item in items:
        grown = grown.add(item)
    assert set(grown) == set(items)
    assert len(grown) == len(set(items))
    assert all(item in grown for item in items)
    assert GSet[int].of(items) == grown


def test_the_last_write_wins_and_a_tie_has_one_winner_everywhere() -> None:
    old, new = LWW("old", 1.0, "z"), LWW("new", 2.0, "a")
    assert old.merge(new) == new.merge(old) == new
    assert LWW("x", 1.0, "a").merge(LWW("y", 1.0, "b")).value == "y"
    one, other = LWW("x", 1.0, "a"), LWW("y", 1.0, "a")
    assert one.merge(other) == other.merge(one)
    with pytest.raises(InvalidUpdateError, match="NaN"):
        LWW("x", float("nan"))


def test_a_maximum_only_rises() -> None:
    assert MaxRegister(3).merge(MaxRegister(2)) == MaxRegister(3)
    assert MaxRegister(3).merge(MaxRegister(5)) == MaxRegister(5)


def test_vectors_tell_before_from_concurrent() -> None:
    base = VersionVector().tick("a")
    left, right = base.tick("a"), base.tick("b")
    assert base.compare(left) == "before"
    assert left.compare(base) == "after"
    assert left.compare(right) == "concurrent"
    assert base.compare(VersionVector({"a": 1, "b": 0})) == "equal"
    assert left.merge(right).compare(right) == "after"


@given(vectors(), vectors())
def test_a_merge_comes_after_both(one: VersionVector, other: VersionVector) -> None:
    merged = one.merge(other)
    assert merged.compare(one) in ("after", "equal")
    assert merged.compare(other) in ("after", "equal")


def test_all_are_mergeable_and_merge_only_their_like() -> None:
    values: list[object] = [GSet(), PNCounter(), LWW(1, 0.0), MaxRegister(1), VersionVector()]
    assert all(isinstance(value, Mergeable) for value in values)
    with pytest.raises(InvalidUpdateError, match="GSet and PNCounter"):
        converge(GSet(), PNCounter())
