"""The essay's publication: its reducer exactly, its recovery, and its chain of decisions."""

from __future__ import annotations

from itertools import product

import pytest

from lawful.core.errors import Failure, ValidationError
from lawful.core.result import Err, Ok, Result
from lawful.effects.capability import Found, NotFound, Unavailable
from lawful.effects.publication import (
    Complete,
    Confirmed,
    InFlight,
    NeedsReconciliation,
    PublishEvent,
    PublishState,
    Ready,
    Resolved,
    Started,
    TimedOut,
    Uncertain,
    recover_publication,
    replay,
    step,
)

pytestmark = pytest.mark.unit

STATES: list[PublishState] = [Ready(), InFlight("op"), Uncertain("op"), Complete("op", "pr")]
EVENTS: dict[str, tuple[PublishEvent, PublishEvent]] = {
    "Started": (Started("op"), Started("other")),
    "TimedOut": (TimedOut("op"), TimedOut("other")),
    "Confirmed": (Confirmed("op", "pr"), Confirmed("other", "pr")),
}
VALID: dict[tuple[str, str], PublishState] = {
    ("Ready", "Started"): InFlight("op"),
    ("InFlight", "TimedOut"): Uncertain("op"),
    ("InFlight", "Confirmed"): Complete("op", "pr"),
    ("Uncertain", "Confirmed"): Complete("op", "pr"),
}


@pytest.mark.parametrize(("state", "name", "same"), list(product(STATES, EVENTS, (True, False))))
def test_the_essays_reducer(state: PublishState, name: str, same: bool) -> None:
    """Rows: S2-021"""
    event = EVENTS[name][0 if same else 1]
    got = step(state, event)
    if isinstance(state, Ready) and isinstance(event, Started):
        assert got == Ok(InFlight(event.op))
        return
    expected = VALID.get((type(state).__name__, name)) if same else None
    if expected is None:
        assert isinstance(got, Err)
    else:
        assert got == Ok(expected)


def test_replay_is_the_fold_and_stops_at_the_first_error() -> None:
    """Rows: S2-022"""
    assert replay([]) == Ok(Ready())
    assert replay([Started("op"), TimedOut("op"), Confirmed("op", "pr")]) == Ok(Complete("op", "pr"))
    wrong = replay([Started("op"), Confirmed("other", "pr"), Confirmed("op", "pr")])
    assert isinstance(wrong, Err)
    assert wrong.error.details["event"] == "Confirmed"


def test_recovery_resolves_only_what_was_found() -> None:
    """Rows: S2-025, S2-026"""
    assert recover_publication("op", Found("pr-7")) == Resolved("pr-7")
    assert recover_publication("op", NotFound()) == NeedsReconciliation("op")
    assert recover_publication("op", Unavailable("503")) == NeedsReconciliation("op")


def _scope(path: str) -> Result[str, Failure]:
    return Ok(path) if path in ("package.json", "package-lock.json") else Err(ValidationError(f"{path} is prohibited"))


def test_a_rejected_scope_skips_what_follows() -> None:
    """Rows: S2-041, S2-048"""
    continued: list[str] = []

    def checks(path: str) -> Result[str, Failure]:
        continued.append(path)
        return Ok(path)

    assert isinstance(_scope("src/secret.py").bind(checks), Err)
    assert continued == []
    assert _scope("package.json").bind(checks) == Ok("package.json")


def test_the_monad_laws_on_the_essays_cases() -> None:
    """Rows: S2-049"""

    def half(n: int) -> Result[int, Failure]:
        return Ok(n // 2) if n % 2 == 0 else Err(ValidationError(f"{n} is odd"))

    def less(n: int) -> Result[int, Failure]:
        return Ok(n - 1) if n > 1 else Err(ValidationError(f"{n} is small"))

    for n in (0, 1, 2, 3, 4, 8):
        start: Result[int, Failure] = Ok(n)
        assert Ok(n).bind(half) == half(n)
        assert start.bind(Ok) == start
        assert start.bind(half).bind(less) == start.bind(lambda x: half(x).bind(less))
