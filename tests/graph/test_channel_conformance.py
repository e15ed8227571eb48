"""Channels that third parties wrote, channels made of channels, and our own, held to the shipped conformance suite."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Annotated, Any, Self, TypedDict

import pytest
from hypothesis import strategies as st

from lawful.channels import (
    BaseChannel,
    BinaryOperatorAggregate,
    Channel,
    DeltaChannel,
    EphemeralValue,
    LastValue,
    MapChannel,
    Topic,
    compose,
)
from lawful.core.errors import EmptyChannelError, GraphBuildError, InvalidUpdateError, ValidationError
from lawful.core.reducers import append
from lawful.graph import START, NodeBuilder, Pregel, StateGraph
from lawful.graph.channel_forms import channel_for
from lawful.graph.channels import MISSING, UntrackedValue
from lawful.journal.port import Journal
from lawful.testing.conformance_channels import ChannelConformance
from support.graphs import Drive, on

pytestmark = [pytest.mark.property]


# A third party's, as one would write it for this library


class Window(Channel):
    """The last ``size`` writes, of all steps: a bounded window."""

    def __init__(self, typ: Any = Any, size: int = 3, key: str = "") -> None:
        super().__init__(typ, key)
        self.size = size

    def update(self, stored: Any, writes: Sequence[Any]) -> Any:
        if not writes:
            return stored
        return [*(() if stored is MISSING else stored), *writes][-self.size :]

    def accepts(self, typ: Any) -> Any:
        return int


# A third party's, as it was written for LangGraph


class Median(BaseChannel):
    """The median of all numbers written so far; holds them itself."""

    def __init__(self, typ: Any = int, key: str = "") -> None:
        super().__init__(typ, key)
        self.numbers: list[int] = []

    def from_checkpoint(self, checkpoint: Any) -> Self:
        made = type(self)(self.typ, self.key)
        if checkpoint is not MISSING:
            made.numbers = list(checkpoint)
        return made

    def checkpoint(self) -> Any:
        return sorted(self.numbers) if self.numbers else MISSING

    def update(self, values: Sequence[Any]) -> bool:
        self.numbers += values
        return bool(values)

    def get(self) -> int:
        if not self.numbers:
            raise EmptyChannelError()
        return sorted(self.numbers)[len(self.numbers) // 2]


class TestWindow(ChannelConformance):
    """Rows: S1-017, S1-051."""

    declared = list[int]

    def make_channel(self) -> Any:
        return Window(size=2)

    def writes(self) -> st.SearchStrategy[Any]:
        return st.integers(-3, 3)


class TestMedian(ChannelConformance):
    """Rows: S1-017, S1-051."""

    declared = int

    def make_channel(self) -> Any:
        return Median

    def writes(self) -> st.SearchStrategy[Any]:
        return st.integers(-3, 3)


class TestMapped(ChannelConformance):
    """Rows: S1-014, S1-051."""

    declared = dict[str, int]

    def make_channel(self) -> Any:
        return MapChannel(BinaryOperatorAggregate(int, operator.add))

    def writes(self) -> st.SearchStrategy[Any]:
        return st.dictionaries(st.sampled_from("ab"), st.integers(-3, 3))


class TestMappedShortLived(ChannelConformance):
    """Rows: S1-014, S1-051."""

    declared = dict[str, int]

    def make_channel(self) -> Any:
        return MapChannel(EphemeralValue(int, guard=False))

    def writes(self) -> st.SearchStrategy[Any]:
        return st.dictionaries(st.sampled_from("ab"), st.integers(-3, 3))


class TestComposed(ChannelConformance):
    """Rows: S1-014, S1-051."""

    declared = dict[str, Any]

    def make_channel(self) -> Any:
        return compose(total=BinaryOperatorAggregate(int, operator.add), seen=Topic(int), deep=MapChannel(Window(int)))

    def writes(self) -> st.SearchStrategy[Any]:
        parts = {"total": st.integers(-3, 3), "seen": st.integers(-3, 3), "deep": st.just({"a": 1})}
        return st.fixed_dictionaries({}, optional=parts)


class TestDelta(ChannelConformance):
    """Rows: S1-C10, S1-051."""

    declared = list[int]

    def make_channel(self) -> Any:
        return DeltaChannel(_joined)

    def writes(self) -> st.SearchStrategy[Any]:
        return st.lists(st.integers(-3, 3), max_size=2)


class TestLast(ChannelConformance):
    """Rows: S1-C01, S1-051."""

    declared = int
    most = 1

    def make_channel(self) -> Any:
        return LastValue

    def writes(self) -> st.SearchStrategy[Any]:
        return st.integers(-3, 3)


class TestAppended(ChannelConformance):
    """Rows: S1-C05, S1-051."""

    declared = list[int]

    def make_channel(self) -> Any:
        return BinaryOperatorAggregate(list[int], append)

    def writes(self) -> st.SearchStrategy[Any]:
        return st.lists(st.integers(-3, 3), max_size=2)


def _joined(state: list[int], writes: Sequence[list[int]]) -> list[int]:
    return [*state, *(item for write in writes for item in write)]


class Leaky(Window):
    """Changes what it was given."""

    def update(self, stored: Any, writes: Sequence[Any]) -> Any:
        if stored is MISSING:
            return list(writes)
        stored.extend(writes)
        return stored


class Forgetful(Window):
    """Stores what no codec has."""

    def update(self, stored: Any, writes: Sequence[Any]) -> Any:
        return iter(writes)


@pytest.mark.parametrize(
    "wrong, test, error",
    [
        (Leaky, "test_updating_and_reading_change_nothing_that_was_given", AssertionError),
        (
            Forgetful,
            "test_what_is_stored_survives_a_restart_after_any_step",
            (ValidationError, AssertionError, ExceptionGroup),
        ),
    ],
)
def test_the_suite_refuses_a_channel_that_breaks_a_promise(wrong: Any, test: str, error: Any) -> None:
    """Rows: S1-051."""

    class Broken(TestWindow):
        def make_channel(self) -> Any:
            return wrong()

    with pytest.raises(error):
        getattr(Broken(), test)()


class Numbers(TypedDict, total=False):
    middle: Annotated[int, Median]
    window: Annotated[list[int], Window(size=2)]
    votes: Annotated[dict[str, int], MapChannel(BinaryOperatorAggregate(int, operator.add))]
    both: Annotated[dict[str, Any], compose(total=BinaryOperatorAggregate(int, operator.add), last=LastValue(str))]


def one(state: Numbers) -> Any:
    return {"middle": 9, "window": 1, "votes": {"a": 1}, "both": {"total": 2, "last": "one"}}


def two(state: Numbers) -> Any:
    return {"middle": 1, "window": 2, "votes": {"a": 1, "b": 5}, "both": {"total": 3}}


def three(state: Numbers) -> Any:
    return {"middle": 5, "window": 3, "votes": {"b": 1}, "both": {"last": "three"}}


def test_they_work_in_a_graph_and_on_a_journal(drive: Drive, journal: Journal) -> None:
    """Rows: S1-014, S1-017."""
    graph = StateGraph(Numbers).add_node(one).add_node(two).add_node(three)
    graph.add_edge(START, "one").add_edge(START, "two").add_edge(["one", "two"], "three")
    made = graph.compile(checkpointer=journal)
    result = drive.invoke(made, {"both": {"total": 1}}, on("t"))
    assert result == {
        "middle": 5,
        "window": [2, 3],
        "votes": {"a": 2, "b": 6},
        "both": {"total": 6, "last": "three"},
    }
    assert drive.get_state(made, on("t")).values == result


def test_conflicts_and_wrong_parts_are_told_by_key(drive: Drive) -> None:
    """Rows: S1-041, S1-048."""

    def run(first: Any, second: Any) -> Any:
        def left(state: Numbers) -> Any:
            return first

        def right(state: Numbers) -> Any:
            return second

        graph = StateGraph(Numbers).add_node(left).add_node(right).add_edge(START, "left").add_edge(START, "right")
        return drive.invoke(graph.compile(), {"both": {"total": 1}})

    with pytest.raises(InvalidUpdateError, match=r"At key 'both': Can receive only one value per step"):
        run({"both": {"last": "a"}}, {"both": {"last": "b"}})
    with pytest.raises(
        InvalidUpdateError, match=r"At key 'both': There is no part 'totl' here. Did you mean 'total'\?"
    ):
        run({"both": {"totl": 1}}, {})
    with pytest.raises(InvalidUpdateError, match="expected int"):
        run({"votes": {"a": "many"}}, {})
    with pytest.raises(InvalidUpdateError, match="expected int"):
        run({"window": "x"}, {})


def test_one_channel_object_may_stand_at_several_keys() -> None:
    shared = Window(size=1)

    graph: Any = StateGraph(_both(shared))
    assert [graph.schema.channels[k].key for k in ("left", "right")] == ["left", "right"]


def _both(shared: Any) -> Any:
    made: Any = TypedDict
    return made("State", dict.fromkeys(("left", "right"), Annotated[list[int], shared]), total=False)


def test_a_barrier_like_channel_of_a_third_party_sets_off_a_low_level_node(drive: Drive) -> None:
    """Rows: S1-017."""

    def double(number: int) -> int:
        return number * 2

    graph = Pregel(
        nodes={"node": NodeBuilder().subscribe_only("in").do(double).write_to("out")},
        channels={"in": Median(), "out": Window(int)},
        input_channels="in",
        output_channels="out",
    )
    assert drive.invoke(graph, 4) == [8]


def test_what_stands_for_no_channel_is_refused() -> None:
    for wrong in (3, int, "last", operator.add):
        with pytest.raises(GraphBuildError, match="expected a channel"):
            channel_for(wrong, int, "key")
    with pytest.raises(GraphBuildError, match="at least one"):
        compose()
    with pytest.raises(GraphBuildError, match="untracked"):
        compose(secret=UntrackedValue(int))
