"""The shipped checks find what breaks a law in somebody's own steps, pipelines and channels, and pass what keeps it."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lawful.core.errors import Error, NetworkError, ParsingError
from lawful.core.result import Err, Ok, Result
from lawful.graph.channels import AnyValue, BinaryOperatorAggregate, Channel, EphemeralValue, LastValue, Topic
from lawful.pipeline import Pipeline, pure, step
from lawful.pipeline.laws import pipeline_laws
from lawful.testing import check_channel, check_pipelines, check_step, observe
from lawful.testing.laws import LawBroken
from lawful.testing.pipelines import pipelines

pytestmark = pytest.mark.property


@step
def good(value: Any) -> Any:
    return (value,)


@step
async def bad(value: Any) -> Result[Any, Error]:
    return Err(NetworkError("down"))


WRAP: Pipeline[Any, Any] = pure(lambda value: [value], "wrap")
LEAVES: list[Pipeline[Any, Any]] = [good, bad, WRAP]


def test_the_laws_hold_for_steps_that_keep_their_word() -> None:
    """Rows: S0-195."""
    check_pipelines(LEAVES, max_examples=30)


def test_a_step_that_lies_about_itself_breaks_a_law() -> None:
    """Rows: S0-195."""

    @step(total=True)
    def lies(value: Any) -> Result[Any, Error]:
        return Err(NetworkError("though it is total"))

    with pytest.raises(LawBroken, match=r"prune_fallback|optimising"):
        check_pipelines([lies, good], max_examples=60)

    counter = itertools.count()

    @step
    def remembers(value: Any) -> int:
        return next(counter)

    with pytest.raises(LawBroken):
        check_pipelines([remembers], max_examples=60)


def test_a_law_that_does_not_hold_is_found() -> None:
    """A fallback does not commute: so a check of it must find that."""
    swapped = [law for law in pipeline_laws(observe) if law.name == "left unit"]
    assert len(swapped) == 1
    names = [law.name for law in pipeline_laws(observe)]
    assert {"left unit", "right unit", "associativity of >>", "associativity of |", "swap", "optimising"} <= set(names)
    assert len(names) == len(set(names))
    assert swapped[0].check(good) is None


@settings(max_examples=30, deadline=None)
@given(pipelines(LEAVES))
def test_what_is_observed_is_the_end_and_the_steps(tree: Pipeline[Any, Any]) -> None:
    end, did = observe(tree, 1)
    assert isinstance(end, Ok | Err)
    assert {name for name, _ in did} <= {"good", "bad"}


def halves(n: int) -> int:
    return n // 2


@step(errors=[ParsingError], cacheable=True)
def positive(n: int) -> Result[int, Error]:
    return Ok(n) if n > 0 else Err(ParsingError("not positive"))


def test_a_step_that_keeps_what_it_declares_passes() -> None:
    check_step(pure(halves), st.integers())
    check_step(positive, st.integers())


def wrong_steps() -> list[tuple[Pipeline[Any, Any], str]]:
    counter = itertools.count()

    @step(total=True)
    def not_total(n: int) -> Result[int, Error]:
        return Err(ParsingError("odd")) if n % 2 else Ok(n)

    @step(errors=[ParsingError])
    def other_error(n: int) -> Result[int, Error]:
        return Err(NetworkError("down")) if n > 100 else Ok(n)

    @step(cacheable=True)
    def not_repeatable(n: int) -> int:
        return next(counter)

    return [(not_total, "declared errors"), (other_error, "declared errors"), (not_repeatable, "repeatable")]


@pytest.mark.parametrize("wrong, law", wrong_steps(), ids=lambda one: str(one))
def test_a_step_that_breaks_what_it_declares_is_found(wrong: Pipeline[Any, Any], law: str) -> None:
    with pytest.raises(LawBroken) as found:
        check_step(wrong, st.integers())
    assert found.value.law.name == law


def test_a_step_that_changes_its_input_is_found() -> None:
    @step
    def grows(items: list[int]) -> int:
        items.append(1)
        return len(items)

    with pytest.raises(LawBroken, match="untouched"):
        check_step(grows, st.lists(st.integers()))


def _joined(a: list[int], b: list[int]) -> list[int]:
    return a + b


CHANNELS: list[tuple[Channel, st.SearchStrategy[Any]]] = [
    (LastValue(int), st.integers()),
    (AnyValue(int), st.integers()),
    (EphemeralValue(int), st.integers()),
    (Topic(int), st.integers()),
    (Topic(int, accumulate=True), st.integers() | st.lists(st.integers())),
    (BinaryOperatorAggregate(int, operator.add), st.integers()),
    (BinaryOperatorAggregate(list, _joined), st.lists(st.integers())),
]


@pytest.mark.parametrize("channel, writes", CHANNELS, ids=lambda one: repr(one)[:30])
def test_the_shipped_channels_keep_the_laws(channel: Channel, writes: st.SearchStrategy[Any]) -> None:
    """Rows: S1-C10."""
    check_channel(channel, writes, max_examples=40)


class InPlace(Channel):
    """Appends to the very list that it was given."""

    def update(self, stored: Any, writes: Sequence[Any]) -> Any:
        kept: list[Any] = stored or []
        kept.extend(writes)
        return kept


class Counting(Channel):
    """Remembers how often it was asked."""

    asked = 0

    def update(self, stored: Any, writes: Sequence[Any]) -> Any:
        self.asked += 1
        return self.asked


class OncePerStep(BinaryOperatorAggregate):
    """Adds one for each step, not for each write."""

    def update(self, stored: Any, writes: Sequence[Any]) -> Any:
        return (stored or 0) + 1


@pytest.mark.parametrize(
    "channel, law",
    [(InPlace(), "pure"), (Counting(), "alike"), (OncePerStep(int, operator.add), "batching")],
    ids=lambda one: repr(one)[:30],
)
def test_a_channel_that_breaks_a_law_is_found(channel: Channel, law: str) -> None:
    """Rows: S1-C10."""
    with pytest.raises(LawBroken) as found:
        check_channel(channel, st.integers(1, 9))
    assert found.value.law.name == law
