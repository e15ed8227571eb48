"""The contract that every channel keeps, on the pure channels themselves."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful.core.errors import InvalidUpdateError
from lawful.graph.channels import (
    MISSING,
    AnyValue,
    BinaryOperatorAggregate,
    Channel,
    EphemeralValue,
    LastValue,
    LastValueAfterFinish,
    NamedBarrierValue,
    NamedBarrierValueAfterFinish,
    Topic,
    UntrackedValue,
)
from lawful.graph.command import Overwrite
from support.graphs import concat

pytestmark = pytest.mark.unit

NAMES = ("a", "b")
LISTS = st.lists(st.text("xyz", max_size=2), max_size=2)

CHANNELS: dict[str, tuple[Channel, st.SearchStrategy[Any], int]] = {
    "last": (LastValue(list), LISTS, 1),
    "any": (AnyValue(list), LISTS, 3),
    "ephemeral": (EphemeralValue(list), LISTS, 1),
    "ephemeral unguarded": (EphemeralValue(list, guard=False), LISTS, 3),
    "untracked": (UntrackedValue(list), LISTS, 1),
    "untracked unguarded": (UntrackedValue(list, guard=False), LISTS, 3),
    "topic": (Topic(str), LISTS | st.text("xyz", max_size=2), 3),
    "archive": (Topic(str, accumulate=True), LISTS | st.text("xyz", max_size=2), 3),
    "aggregate": (BinaryOperatorAggregate(list, concat), LISTS, 3),
    "barrier": (NamedBarrierValue(str, NAMES), st.sampled_from(NAMES), 3),
    "late barrier": (NamedBarrierValueAfterFinish(str, NAMES), st.sampled_from(NAMES), 3),
    "late": (LastValueAfterFinish(list), LISTS, 3),
}


@st.composite
def histories(draw: st.DrawFn) -> tuple[Channel, list[list[Any]]]:
    """A channel and what it is written in each of some steps."""
    channel, values, most = CHANNELS[draw(st.sampled_from(sorted(CHANNELS)))]
    return channel, draw(st.lists(st.lists(values, max_size=most), min_size=1, max_size=4))


def after(channel: Channel, steps: Sequence[Sequence[Any]]) -> Any:
    """What is stored after the steps, as the engine calls it: without writes only where the channel clears."""
    stored = channel.initial()
    for writes in steps:
        if writes or (channel.clears and stored is not MISSING):
            stored = channel.update(stored, writes)
    return stored


@pytest.mark.property
@given(history=histories())
def test_updates_change_nothing_that_they_are_given(history: tuple[Channel, list[list[Any]]]) -> None:
    """Rows: S1-051, S1-041, S1-049."""
    channel, steps = history
    stored = channel.initial()
    for writes in steps:
        before, written = copy.deepcopy(stored), copy.deepcopy(writes)
        new = channel.update(stored, writes)
        if stored is not MISSING:
            assert stored == before
        assert writes == written
        stored = new


@pytest.mark.property
@given(history=histories())
def test_the_same_writes_give_the_same_value(history: tuple[Channel, list[list[Any]]]) -> None:
    """Rows: S1-051, S1-044."""
    channel, steps = history
    assert after(channel, steps) == after(channel, copy.deepcopy(steps))


@pytest.mark.property
@given(history=histories())
def test_a_step_without_writes_changes_only_what_clears(history: tuple[Channel, list[list[Any]]]) -> None:
    """Rows: S1-051."""
    channel, steps = history
    stored = after(channel, steps)
    left = channel.update(stored, ())
    if channel.clears:
        assert left is MISSING
    else:
        assert left is stored or left == stored


@pytest.mark.property
@given(history=histories())
def test_consume_and_finish_are_idempotent(history: tuple[Channel, list[list[Any]]]) -> None:
    """And do nothing to a channel that is neither a trigger nor late. Rows: S1-051."""
    channel, steps = history
    stored = after(channel, steps)
    for change in (channel.consume, channel.finish):
        once = change(stored)
        assert change(once) == once or once is MISSING
    if not channel.finishes:
        assert channel.finish(stored) is stored


@pytest.mark.property
@given(first=st.lists(LISTS, max_size=3), second=st.lists(LISTS, max_size=3))
def test_a_fold_does_not_depend_on_where_it_is_cut(first: list[list[str]], second: list[list[str]]) -> None:
    """So a value can be rebuilt from a snapshot and later writes. Rows: S1-C05, S1-050, S1-051."""
    channel = BinaryOperatorAggregate(list, concat)
    cut = channel.update(channel.update(channel.initial(), first), second)
    assert cut == channel.update(channel.initial(), [*first, *second])


@pytest.mark.parametrize("kind", ["last", "ephemeral", "untracked"])
def test_two_writes_are_a_conflict(kind: str) -> None:
    """Rules: 19, 25, 26. Rows: S1-C01, S1-C03, S1-C09."""
    channel = CHANNELS[kind][0]
    with pytest.raises(InvalidUpdateError, match="only one value per step"):
        channel.update(MISSING, [["1"], ["1"]])


@pytest.mark.parametrize(
    "typ,empty", [(int, 0), (list[int], []), (dict[str, int], {}), (set[int], set[int]()), (str, "")]
)
def test_an_aggregate_starts_from_its_types_empty_value(typ: Any, empty: Any) -> None:
    """Rules: 14, 20. Rows: S1-C05."""
    assert BinaryOperatorAggregate(typ, concat).initial() == empty


@pytest.mark.parametrize("typ", [Any, int | str, Sequence[int] | None])
def test_an_aggregate_without_an_empty_value_starts_without(typ: Any) -> None:
    """Rules: 21. Rows: S1-C05."""
    channel = BinaryOperatorAggregate(typ, concat)
    assert channel.initial() is MISSING
    assert channel.get(channel.initial()) is MISSING
    assert channel.update(MISSING, ["first", "second"]) == "firstsecond"


class Unbuildable:
    def __init__(self) -> None:
        raise ValueError("needs more")


def test_a_type_that_cannot_be_built_has_no_empty_value() -> None:
    """Whatever its constructor raises. Rules: 21."""
    assert BinaryOperatorAggregate(Unbuildable, concat).initial() is MISSING


def test_overwrite_wins_over_earlier_and_later_writes() -> None:
    """Rules: 22. Rows: S1-C05."""
    channel = BinaryOperatorAggregate(list, concat)
    assert channel.update(["old"], [["1"], Overwrite(["new"]), ["2"]]) == ["new"]
    with pytest.raises(InvalidUpdateError, match="only one Overwrite value per super-step"):
        channel.update(["old"], [Overwrite(["1"]), Overwrite(["1"])])


@pytest.mark.parametrize("late", [False, True])
def test_a_barrier_opens_when_all_names_are_seen(late: bool) -> None:
    """And closes when it is consumed; a late one opens only at the end of other work. Rules: 28, 46. Rows: S1-C06, S1-C07."""
    channel = NamedBarrierValueAfterFinish(str, NAMES) if late else NamedBarrierValue(str, NAMES)
    stored = channel.update(channel.initial(), ["a"])
    assert channel.get(channel.finish(stored)) is MISSING
    stored = channel.update(stored, ["a", "b"])
    if late:
        assert channel.get(stored) is MISSING
        stored = channel.finish(stored)
    assert channel.get(stored) is None
    assert channel.get(channel.consume(stored)) is MISSING
    assert channel.get(channel.update(channel.consume(stored), ["b"])) is MISSING


def test_a_barrier_knows_its_names() -> None:
    """Rows: S1-C06."""
    for channel in (NamedBarrierValue(str, NAMES), NamedBarrierValueAfterFinish(str, NAMES)):
        with pytest.raises(InvalidUpdateError, match="'c'"):
            channel.update(MISSING, ["c"])


def test_a_late_value_is_read_after_the_finish_only() -> None:
    """Rules: 46, 47. Rows: S1-C08."""
    channel = LastValueAfterFinish(str)
    stored = channel.update(channel.initial(), ["1", "2"])
    assert channel.get(stored) is MISSING
    stored = channel.finish(stored)
    assert channel.get(stored) == "2"
    assert channel.get(channel.update(stored, ["3"])) is MISSING
    assert channel.get(channel.consume(stored)) is MISSING


def test_what_a_channel_does_not_track() -> None:
    """Rules: 26. Rows: S1-C09."""
    assert [name for name, (channel, _, _) in CHANNELS.items() if not channel.tracked] == [
        "untracked",
        "untracked unguarded",
    ]


def test_two_channels_are_the_same_by_what_they_do() -> None:
    """Rules: 15. Rows: S1-S02."""
    assert Topic(str).same_as(Topic(str))
    assert not Topic(str).same_as(Topic(str, accumulate=True))
    assert not LastValue(str).same_as(AnyValue(str))
    assert BinaryOperatorAggregate(list, concat).same_as(BinaryOperatorAggregate(list, concat))
    assert not BinaryOperatorAggregate(list, concat).same_as(BinaryOperatorAggregate(list, max))
