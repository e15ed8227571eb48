"""The decision table: what each promise lets the ledger conclude from each observation."""

from __future__ import annotations

from typing import Any

import pytest

from lawful.core.errors import ConfigurationError
from lawful.effects.capability import (
    MARGIN,
    PATIENCE,
    AskOperator,
    Capability,
    Compensatable,
    Confirm,
    Conflict,
    Fence,
    Found,
    Grant,
    History,
    Keyed,
    Lookup,
    Natural,
    NotFound,
    Opaque,
    Pending,
    Promise,
    Pure,
    Read,
    Repeatable,
    Unavailable,
    Wait,
    capability_of,
    conclude,
    days,
    final_from,
    hours,
    minutes,
    promise,
    same_key_until,
    seconds,
)

pytestmark = pytest.mark.unit

KEYED = Keyed(retention=3600.0, max_in_flight=60.0)
STRONG = Lookup("strong", max_in_flight=60.0)
EVENTUAL = Lookup("eventual", lag=5.0, max_in_flight=60.0)
PAST = History(first_dispatch=0.0, last_possible_send=10.0, attempts=1, max_attempts=3, send_budget=10.0)
EARLY, LATE = 30.0, 5000.0
"""Inside and outside of both the key's retention and the time in which the request may arrive."""

SAME, ABSENT, WAIT, ASK, CONFIRM, CONFLICT = "same_key", "final_absence", "wait", "ask", "confirm", "conflict"


def concluded(capability: Promise | Capability, seen: Any, now: float, history: History = PAST) -> str:
    match conclude(capability_of(capability), history, seen, now):
        case Confirm():
            return CONFIRM
        case Grant(basis=basis):
            return basis
        case Wait(until):
            assert until > now
            return WAIT
        case AskOperator():
            return ASK
        case Conflict():
            return CONFLICT


FOUND, OTHER, TWICE = Found("pr"), Found("pr", matches=False), Found("pr", others=("pr2",))
COLUMNS: dict[str, tuple[Promise | Capability, float]] = {
    "keyed, remembered": (KEYED & EVENTUAL, EARLY),
    "keyed, retention over": (KEYED & EVENTUAL, LATE),
    "natural": (Natural() & Lookup("strong"), LATE),
    "lookup": (EVENTUAL, LATE),
}
ROWS: dict[str, tuple[Any, tuple[str, str, str, str]]] = {
    "found, args match": (FOUND, (CONFIRM, CONFIRM, CONFIRM, CONFIRM)),
    "found, args differ": (OTHER, (ASK, ASK, ASK, ASK)),
    "found more than one": (TWICE, (CONFLICT, CONFLICT, CONFLICT, CONFLICT)),
    "not found, weak": (NotFound(), (SAME, WAIT, SAME, WAIT)),
    "not found, fenced": (NotFound(fenced=True), (SAME, ABSENT, SAME, ABSENT)),
    "pending": (Pending(), (WAIT, WAIT, WAIT, WAIT)),
    "unavailable": (Unavailable("503"), (SAME, WAIT, SAME, WAIT)),
}


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("column", COLUMNS)
def test_the_table(row: str, column: str) -> None:
    """Rows: S2-026"""
    seen, expected = ROWS[row]
    capability, now = COLUMNS[column]
    assert concluded(capability, seen, now) == expected[list(COLUMNS).index(column)]


def test_the_row_without_a_lookup() -> None:
    assert concluded(KEYED, None, EARLY) == SAME
    assert concluded(KEYED, None, LATE) == ASK
    assert concluded(Natural(), None, LATE) == SAME
    assert concluded(Opaque(), None, EARLY) == ASK
    assert concluded(Compensatable("undo"), None, EARLY) == ASK
    assert concluded(Fence(), None, EARLY) == ASK


@pytest.mark.parametrize("kind", [Pure(), Read(), Repeatable()])
def test_a_harmless_repeat_is_granted(kind: Promise) -> None:
    assert concluded(kind, None, LATE) == "harmless"


def test_what_the_author_of_an_opaque_tool_says_to_assume() -> None:
    assert concluded(Opaque("assume_happened"), None, EARLY) == CONFIRM
    assert concluded(Opaque("assume_not"), None, EARLY) == "assumed"


@pytest.mark.parametrize(("now", "expected"), [(69.0, WAIT), (70.0, WAIT), (70.001, ABSENT)])
def test_absence_is_final_only_after_the_last_send_and_the_time_in_flight(now: float, expected: str) -> None:
    assert final_from(capability_of(STRONG), PAST) == 70.0
    assert concluded(STRONG, NotFound(), now) == expected
    assert concluded(KEYED & STRONG, NotFound(), 4000.0) == ABSENT


def test_absence_is_never_final_without_a_bound_or_from_a_lagging_lookup() -> None:
    for look in (Lookup("strong"), EVENTUAL, Lookup("eventual")):
        assert final_from(capability_of(look), PAST) is None
        assert concluded(look, NotFound(), 1e9) == WAIT


def test_a_lag_is_added_to_the_bound() -> None:
    assert final_from(capability_of(Lookup("strong", lag=7.0, max_in_flight=60.0)), PAST) == 77.0


def test_a_person_is_asked_when_looking_again_stays_fruitless() -> None:
    from msgspec.structs import replace

    tired = replace(PAST, looks=PATIENCE)
    assert concluded(EVENTUAL, NotFound(), LATE, tired) == ASK
    assert concluded(STRONG, Unavailable(), LATE, tired) == ASK
    assert concluded(STRONG, Pending(), LATE, tired) == WAIT
    assert concluded(STRONG, NotFound(), LATE, tired) == ABSENT


@pytest.mark.parametrize("seen", [NotFound(), Unavailable(), None])
def test_no_grant_when_the_attempts_are_used_up(seen: Any) -> None:
    from msgspec.structs import replace

    spent = replace(PAST, attempts=3)
    for capability in (KEYED, Natural(), STRONG & KEYED):
        assert concluded(capability, seen, EARLY, spent) == ASK
    assert concluded(STRONG, NotFound(), LATE, spent) == ASK


def test_the_same_key_must_reach_the_provider_before_it_forgets() -> None:
    """Ledger: L9"""
    until = same_key_until(KEYED, PAST)
    assert until == 3600.0 - 10.0 - 60.0 - MARGIN
    assert concluded(KEYED, None, until - 0.001) == SAME
    assert concluded(KEYED, None, until) == ASK
    assert conclude(capability_of(KEYED), PAST, None, 0.0) == Grant(SAME, until)
    # A repeat claimed at the last moment, sent at its deadline and slow on its way still finds the key.
    assert until + PAST.send_budget + KEYED.max_in_flight < PAST.first_dispatch + KEYED.retention


def test_promises_join_and_contradictions_are_refused() -> None:
    joined = Keyed(hours(24), seconds(60)) & Lookup("strong") & Fence()
    assert promise(joined, Keyed) == Keyed(86400.0, 60.0)
    assert promise(joined, Opaque) is None
    assert (minutes(2), days(1)) == (120.0, 86400.0)
    for wrong in (
        lambda: Opaque() & Natural(),
        lambda: Natural() & Natural(),
        lambda: Keyed(0, 1),
        lambda: Lookup(lag=-1),
    ):
        with pytest.raises(ConfigurationError):
            wrong()
