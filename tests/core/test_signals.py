"""Control signals: no ``except Exception`` sees them, the strongest wins, questions are gathered, groups are searched."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful.core.questions import Question
from lawful.core.signals import (
    ControlSignal,
    GraphDrained,
    GraphInterrupt,
    OutcomeUnknown,
    ParentCommand,
    find_signal,
    latch,
    rank,
)

pytestmark = [pytest.mark.unit, pytest.mark.property]


class Slot:
    """The least that a latch needs."""

    def __init__(self) -> None:
        self.signal: ControlSignal | None = None


def asks(*ids: str) -> GraphInterrupt:
    return GraphInterrupt([Question(None, id=one) for one in ids])


def ids(signal: ControlSignal | None) -> list[str]:
    assert isinstance(signal, GraphInterrupt)
    return [question.id for question in signal.interrupts]


SIGNALS: list[ControlSignal] = [OutcomeUnknown("op", "pay", "no reply"), ParentCommand("go"), asks("q"), GraphDrained()]


@pytest.mark.parametrize("signal", SIGNALS, ids=lambda signal: type(signal).__name__)
def test_except_exception_does_not_see_a_signal(signal: ControlSignal) -> None:
    def node() -> None:
        try:
            raise signal
        except Exception:
            pytest.fail("a handler of errors saw a control signal")

    with pytest.raises(type(signal)) as caught:
        node()
    assert caught.value is signal


def test_the_order_of_precedence() -> None:
    assert [rank(signal) for signal in SIGNALS] == sorted({rank(signal) for signal in SIGNALS})
    assert rank(ControlSignal()) > rank(GraphDrained())


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_whatever_the_order_the_unknown_outcome_wins(order: tuple[int, ...]) -> None:
    slot = Slot()
    for at in order:
        latch(slot, SIGNALS[at])
    assert slot.signal is SIGNALS[0]


@pytest.mark.parametrize("pair", list(itertools.combinations(range(4), 2)))
def test_of_two_signals_the_stronger_one_stays(pair: tuple[int, int]) -> None:
    strong, weak = SIGNALS[pair[0]], SIGNALS[pair[1]]
    for first, second in ((strong, weak), (weak, strong)):
        slot = Slot()
        latch(slot, first)
        assert latch(slot, second) is strong
        assert slot.signal is strong


def test_questions_are_gathered_each_once_in_order() -> None:
    slot = Slot()
    latch(slot, asks("a"))
    latch(slot, asks("b", "a"))
    latch(slot, asks("c"))
    assert ids(slot.signal) == ["a", "b", "c"]


def test_of_two_equals_the_first_stays() -> None:
    slot = Slot()
    first = OutcomeUnknown("op-1")
    latch(slot, first)
    assert latch(slot, OutcomeUnknown("op-2")) is first


def test_find_signal_searches_groups_to_the_bottom() -> None:
    deep = BaseExceptionGroup(
        "outer",
        [
            ValueError("x"),
            BaseExceptionGroup("inner", [asks("a"), BaseExceptionGroup("innermost", [GraphDrained(), asks("b")])]),
        ],
    )
    assert ids(find_signal(deep)) == ["a", "b"]
    unknown = OutcomeUnknown("op")
    assert find_signal(BaseExceptionGroup("all", [deep, unknown])) is unknown


def test_find_signal_of_plain_errors_is_none() -> None:
    assert find_signal(ValueError("x")) is None
    assert find_signal(ExceptionGroup("g", [ValueError("x"), KeyError("y")])) is None
    assert find_signal(KeyboardInterrupt()) is None


def test_a_signal_is_not_looked_for_among_the_causes() -> None:
    error = ValueError("the node turned it into an error of its own")
    error.__cause__ = GraphDrained()
    assert find_signal(error) is None


@given(st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=3), min_size=1, max_size=5))
def test_no_question_is_lost_or_doubled(asked: list[list[str]]) -> None:
    slot = Slot()
    for some in asked:
        latch(slot, asks(*dict.fromkeys(some)))
    seen = list(dict.fromkeys(itertools.chain.from_iterable(asked)))
    assert ids(slot.signal) == seen


def test_an_unknown_outcome_says_which() -> None:
    assert str(OutcomeUnknown("op-7", "refund", "no reply")) == "outcome of refund op-7 unknown: no reply"
