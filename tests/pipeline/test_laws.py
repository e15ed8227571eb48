"""The algebra's laws on random pipelines, by what can be observed: result, error, control signal, order of effects."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lawful.core.errors import ConfigurationError
from lawful.core.result import Ok
from lawful.core.signals import OutcomeUnknown
from lawful.pipeline import from_json, in_turn, names, optimise, pure, retry, to_json
from lawful.pipeline.optimiser import PASSES, Pass, hoist_independent
from support.pipelines import (
    ANY,
    BAD,
    GOOD,
    GRAVE,
    OBSERVING,
    REGISTERED,
    REGISTRY,
    SAME,
    SUCCEEDING,
    TWO,
    AnyPipeline,
    remembered,
    seen,
)

pytestmark = pytest.mark.property

few = settings(max_examples=60, deadline=None)


@few
@given(ANY)
def test_identity_is_the_unit_of_then(t: AnyPipeline) -> None:
    """Rows: S0-022, S0-023."""
    assert seen(SAME >> t) == seen(t) == seen(t >> SAME)


@few
@given(ANY, ANY, ANY)
def test_grouping_of_then_does_not_matter(a: AnyPipeline, b: AnyPipeline, c: AnyPipeline) -> None:
    """Rows: S0-024."""
    assert seen((a >> b) >> c) == seen(a >> (b >> c))


@few
@given(ANY, ANY, ANY)
def test_grouping_of_fallbacks_does_not_matter(a: AnyPipeline, b: AnyPipeline, c: AnyPipeline) -> None:
    assert seen((a | b) | c) == seen(a | (b | c))


@few
@given(SUCCEEDING, SUCCEEDING)
def test_pairs_commute_up_to_swap_on_success(a: AnyPipeline, b: AnyPipeline) -> None:
    """Rows: S0-025."""

    def swap(pair: tuple[Any, Any]) -> tuple[Any, Any]:
        return pair[1], pair[0]

    (one, first), (other, second) = seen(a & b), seen((b & a) >> pure(swap))
    assume(isinstance(one, Ok))  # a guard may refuse what has grown too long
    assert one == other
    assert sorted(first) == sorted(second)


@few
@given(ANY, ANY)
def test_a_pair_in_turn_is_one_after_the_other(a: AnyPipeline, b: AnyPipeline) -> None:
    (end, log), (first, first_log), (then, then_log) = seen(in_turn(a, b)), seen(a), seen(b)
    if not isinstance(first, Ok):
        assert (end, log) == (first, first_log)
    else:
        assert log == first_log + then_log
        assert end == (Ok((first.value, then.value)) if isinstance(then, Ok) else then)


@few
@given(OBSERVING, OBSERVING)
def test_what_only_observes_comes_to_the_same_at_once(a: AnyPipeline, b: AnyPipeline) -> None:
    """Rows: S0-210."""
    tree = in_turn(a, b)
    assert seen(hoist_independent(tree))[0] == seen(tree)[0]


@few
@given(OBSERVING)
def test_a_cache_with_nothing_in_it_changes_nothing(t: AnyPipeline) -> None:
    try:
        tree = remembered(t)
    except ConfigurationError:  # it holds a step that is recorded
        assume(False)
        return
    assert seen(tree) == seen(t)


@few
@given(SUCCEEDING)
def test_a_fallback_on_what_succeeds_changes_nothing(t: AnyPipeline) -> None:
    """Rows: S0-026."""
    end, log = seen(t)
    assume(isinstance(end, Ok))
    assert seen(t | t) == (end, log)


@few
@given(ANY, ANY, ANY)
def test_what_passes_a_fallback_passes_every_fallback(a: AnyPipeline, b: AnyPipeline, c: AnyPipeline) -> None:
    for lost in (GRAVE[0], a & GRAVE[0], GRAVE[0] & b, GRAVE[0] & BAD[0], BAD[1] & GRAVE[0], GOOD[2] >> GRAVE[0]):
        end, _ = seen((lost | b) | c)
        assert end == seen(lost)[0]
    assert seen(GRAVE[0] | a)[0] == (OutcomeUnknown.__name__, str(OutcomeUnknown("op")))


@few
@given(ANY)
def test_optimising_changes_nothing_that_can_be_observed(t: AnyPipeline) -> None:
    """Rows: S0-027, S0-195, S0-210."""
    assert seen(optimise(t)) == seen(t)


@pytest.mark.parametrize("one", PASSES, ids=lambda one: one.name)
@few
@given(t=ANY)
def test_each_pass_by_itself_changes_nothing(one: Pass, t: AnyPipeline) -> None:
    assert seen(one.rewrite(t)) == seen(t)


@few
@given(REGISTERED)
def test_json_there_and_back(t: AnyPipeline) -> None:
    """Rows: S0-021."""
    told = json.loads(json.dumps(to_json(t)))
    back = from_json(told, REGISTRY)
    assert to_json(back) == told
    assert seen(back) == seen(t)


@few
@given(ANY, ANY)
def test_a_pair_ends_well_where_both_do_and_else_as_one_of_them(a: AnyPipeline, b: AnyPipeline) -> None:
    """Rows: S0-014."""
    (end, _), (left, _), (right, _) = seen(a & b), seen(a), seen(b)
    if isinstance(left, Ok) and isinstance(right, Ok):
        assert end == Ok((left.value, right.value))
    else:
        assert end in [one for one in (left, right) if not isinstance(one, Ok)]


@few
@given(ANY, st.sampled_from(BAD))
def test_of_several_errors_the_leftmost_wins_whatever_the_other_half_is(a: AnyPipeline, bad: AnyPipeline) -> None:
    """Rows: S0-014."""
    (end, _), (alone, _), (error, _) = seen(bad & a), seen(a), seen(bad)
    assert end == error or (isinstance(alone, tuple) and end == alone)


@few
@given(ANY)
def test_what_passes_a_retry_is_done_once(a: AnyPipeline) -> None:
    for lost in (GRAVE[0], GRAVE[1], GOOD[0] >> GRAVE[0], GRAVE[0] & a, SAME >> (BAD[0] | GRAVE[0])):
        (end, log), (alone, _) = seen(retry(lost, TWO) | a), seen(lost)
        assert end == alone
        assert isinstance(end, tuple)
        assert [name for name, _ in log].count("lost") <= 1 + repr(names(a)).count("lost")
