"""Each pass of the optimiser keeps its hands off what it is not sound for."""

from __future__ import annotations

from typing import Any

import pytest

from lawful.core.errors import ParsingError
from lawful.core.result import Err
from lawful.pipeline import (
    CircuitBreaker,
    MemoryCache,
    Pipeline,
    RateLimiter,
    branch,
    breaker,
    cached,
    each,
    guard,
    in_turn,
    optimise,
    pure,
    rate_limit,
    retry,
    step,
    timeout,
)
from lawful.pipeline.optimiser import hoist_independent, prune_fallback
from support.pipelines import GOOD, QUIET, SAME, seen

pytestmark = pytest.mark.unit

TOTAL: Pipeline[Any, Any] = pure(repr)
LOOK = QUIET[0]
OTHER = GOOD[0]


def doubtful(_: Any) -> Any:
    return Err(ParsingError("who knows?"))


def same(value: Any) -> Any:
    return value


MAY_FAIL: list[Pipeline[Any, Any]] = [
    branch(doubtful, TOTAL, TOTAL),
    retry(branch(doubtful, TOTAL, TOTAL)),
    each(LOOK),
    TOTAL & LOOK,
    TOTAL >> LOOK,
    timeout(TOTAL, 60),
    breaker(TOTAL, CircuitBreaker()),
    rate_limit(TOTAL, RateLimiter(1)),
    cached(TOTAL, MemoryCache(), name="x"),
    guard(TOTAL, after=[same]),
]


@pytest.mark.parametrize("part", MAY_FAIL)
def test_no_fallback_is_pruned_of_what_may_end_in_an_error(part: Pipeline[Any, Any]) -> None:
    """Rows: S0-210."""
    tree = part | OTHER
    assert prune_fallback(tree) is tree


def test_the_fallback_of_a_question_that_failed_still_answers() -> None:
    tree = branch(doubtful, TOTAL, TOTAL) | OTHER
    assert seen(optimise(tree)) == seen(tree)
    assert seen(tree)[1] == [("a", "0")]


NOTICED: list[Pipeline[Any, Any]] = [
    OTHER,
    step(same),
    branch(doubtful, LOOK, LOOK),
    branch(bool, OTHER, LOOK),
    timeout(LOOK, 60),
    breaker(LOOK, CircuitBreaker()),
    rate_limit(LOOK, RateLimiter(1)),
    guard(LOOK, before=[same]),
    LOOK >> OTHER,
    LOOK | OTHER,
]


@pytest.mark.parametrize("part", NOTICED)
def test_nothing_is_begun_earlier_that_somebody_could_notice(part: Pipeline[Any, Any]) -> None:
    """Rows: S0-210."""
    for tree in (in_turn(part, LOOK), in_turn(LOOK, part)):
        assert hoist_independent(tree) is tree


@pytest.mark.parametrize("part", [LOOK, SAME, TOTAL, retry(LOOK), cached(LOOK, MemoryCache(), name="x"), each(LOOK)])
def test_what_only_observes_is_begun_at_once(part: Pipeline[Any, Any]) -> None:
    """Rows: S0-210."""
    tree = in_turn(part, LOOK)
    assert hoist_independent(tree) is not tree
