"""The operation state machine: total, monotone in its facts, and closed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as strategies_

from lawful.core.errors import InvalidTransition
from lawful.core.result import Err, Ok
from lawful.effects import events as ev
from lawful.effects import states as st
from lawful.effects.events import Event
from lawful.effects.moves import Claimant, Taken, Unsettled, claim
from lawful.effects.policy import OPEN, Decision
from lawful.effects.transitions import replay, step
from support.effects import (
    LOST,
    OP,
    PERMITTED,
    approval,
    claimed,
    every_event,
    every_state,
    evidence,
    past,
    receipt,
    record,
)

pytestmark = pytest.mark.unit

STATES = every_state()
EVENTS = every_event()

# What each state allows, by the number of the event in every_event(): the whole table in one place.
ALLOWED: dict[str, dict[str, set[str]]] = {
    "Unplanned": {"Planned": {"Planned"}},
    "Planned": {
        "Reused": {"Planned"},
        "Quarantined": {"Unknown"},
        "PolicyChanged": {"Planned"},
        "EvidenceAdded": {"Planned"},
        "ApprovalGranted": {"Planned"},
        "Authorized": {"Permitted"},
        "Denied": {"Cancelled"},
        "Cancelled": {"Cancelled"},
    },
    "Permitted": {
        "Reused": {"Permitted"},
        "Quarantined": {"Unknown"},
        "PolicyChanged": {"Planned"},
        "EvidenceAdded": {"Permitted"},
        "ApprovalGranted": {"Permitted"},
        "AuthorityLost": {"Planned"},
        "Denied": {"Cancelled"},
        "Cancelled": {"Cancelled"},
        "Claimed": {"InFlight"},
    },
    "InFlight": {
        "Reused": {"InFlight"},
        "Quarantined": {"Unknown"},
        "Confirmed": {"Succeeded"},
        "Refused": {"Refused"},
        "OutcomeLost": {"Unknown"},
    },
    "Unknown": {
        "Reused": {"Unknown"},
        "Quarantined": {"Unknown"},
        "PolicyChanged": {"Unknown"},
        "EvidenceAdded": {"Unknown"},
        "ApprovalGranted": {"Unknown"},
        "Confirmed": {"Succeeded"},
        "Refused": {"Refused"},
        "LookupNoted": {"Unknown"},
        "RetryGranted": {"Granted"},
        "Conflict": {"Conflicted"},
        "OperatorDecided": {"Succeeded", "Granted", "Failed"},
    },
    "Granted": {
        "Reused": {"Granted"},
        "Quarantined": {"Unknown"},
        "PolicyChanged": {"Granted"},
        "EvidenceAdded": {"Granted"},
        "ApprovalGranted": {"Granted"},
        "AuthorityLost": {"Unknown"},
        "Claimed": {"InFlight"},
        "Confirmed": {"Succeeded"},
        "Refused": {"Granted"},
        "RetryVoided": {"Unknown"},
    },
    "Refused": {
        "Reused": {"Refused"},
        "Quarantined": {"Unknown"},
        "PolicyChanged": {"Refused"},
        "EvidenceAdded": {"Refused"},
        "ApprovalGranted": {"Refused"},
        "Claimed": {"InFlight"},
        "Confirmed": {"Conflicted"},
        "Failed": {"Failed"},
    },
    "Succeeded": {"Reused": {"Succeeded"}, "Confirmed": {"Succeeded", "Conflicted"}},
    "Failed": {"Reused": {"Failed"}, "Confirmed": {"Conflicted"}},
    "Cancelled": {"Reused": {"Cancelled"}},
    "Abandoned": {"Reused": {"Abandoned"}, "Confirmed": {"Conflicted"}},
    "Conflicted": {"Reused": {"Conflicted"}, "Confirmed": {"Conflicted"}},
}


def test_every_kind_of_event_is_tried() -> None:
    kinds = {type(event) for event in EVENTS}
    assert kinds == set(ev.Event.__args__)
    assert {type(state) for state in STATES.values()} == set(st.State.__args__)


@pytest.mark.parametrize("name", STATES)
def test_each_state_takes_exactly_the_events_of_the_table(name: str) -> None:
    """Ledger: L1."""
    reached: dict[str, set[str]] = {}
    for event in EVENTS:
        match step(STATES[name], event):
            case Ok(after):
                reached.setdefault(type(event).__name__, set()).add(st.name_of(after))
            case Err(error):
                assert isinstance(error, InvalidTransition)
                assert error.details == {"state": name, "event": type(event).__name__}
    assert reached == ALLOWED[name]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_of_another_operation_is_refused_everywhere(event: Event) -> None:
    from msgspec.structs import replace

    other = replace(event, op_id="other")
    for state in STATES.values():
        assert isinstance(step(state, other), Err)


@given(strategies_.lists(strategies_.sampled_from(EVENTS), max_size=12))
def test_any_sequence_gives_a_state_or_an_error_value(events: list[Event]) -> None:
    """Ledger: L1."""
    state: st.State = st.Unplanned()
    for event in events:
        match step(state, event):
            case Ok(after):
                assert not isinstance(after, st.Unplanned)
                before = 0 if isinstance(state, st.Unplanned) else state.facts.version
                assert after.facts.version == before + 1
                state = after
            case Err():
                pass


@given(strategies_.lists(strategies_.sampled_from(EVENTS), max_size=14))
def test_a_receipt_once_recorded_never_changes(events: list[Event]) -> None:
    """Ledger: L5"""
    state: st.State = past(PERMITTED, claimed(), ev.Confirmed(OP, 11.0, receipt(), 1))
    for event in events:
        match step(state, event):
            case Ok(after):
                state = after
            case Err():
                pass
        match state:
            case st.Succeeded(receipt=held):
                assert held == receipt()
            case st.Conflicted(receipts=receipts):
                assert receipts[0] == receipt()
            case _:
                pytest.fail(f"{st.name_of(state)} followed a receipt")


def test_replay_stops_at_the_first_event_that_may_not_follow() -> None:
    wrong = replay((ev.Planned(OP, 0.0, record()), claimed(), LOST))
    assert isinstance(wrong, Err)
    assert wrong.error.details["event"] == "Claimed"


def test_a_late_receipt_of_an_attempt_that_lost_its_claim_is_taken() -> None:
    """Ledger: L11"""
    second = (LOST, ev.RetryGranted(OP, 13.0, "same_key", None), claimed(2, 50.0))
    in_flight_again = past(PERMITTED, claimed(), *second)
    assert isinstance(in_flight_again, st.InFlight)
    late = step(in_flight_again, ev.Confirmed(OP, 60.0, receipt("pr-1", "late_reply"), 1)).unwrap()
    assert isinstance(late, st.Succeeded)
    twice = step(late, ev.Confirmed(OP, 61.0, receipt("pr-2"), 2)).unwrap()
    assert isinstance(twice, st.Conflicted)
    assert [r.id for r in twice.receipts] == ["pr-1", "pr-2"]


def test_a_refusal_leaves_the_outcome_unknown_while_an_older_attempt_is_unresolved() -> None:
    again = past(PERMITTED, claimed(), LOST, ev.RetryGranted(OP, 13.0, "same_key", None), claimed(2, 50.0))
    after = step(again, ev.Refused(OP, 51.0, 2, "no")).unwrap()
    assert isinstance(after, st.Unknown)
    assert [a.ended for a in after.facts.attempts] == ["lost", "nothing"]


def test_final_absence_settles_the_attempts_before_it() -> None:
    granted = past(PERMITTED, claimed(), LOST, ev.RetryGranted(OP, 90.0, "final_absence", None), claimed(2, 91.0))
    after = step(granted, ev.Refused(OP, 92.0, 2, "no")).unwrap()
    assert isinstance(after, st.Refused)


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        (ev.Claimed(OP, 10.0, fence=2, owner="w", lease_until=40.0, send_deadline=20.0), "fence"),
        (ev.Claimed(OP, 10.0, fence=1, owner="w", lease_until=40.0, send_deadline=21.0), "send budget"),
        (ev.Claimed(OP, 10.0, fence=1, owner="w", lease_until=40.0, send_deadline=9.0), "send budget"),
        (ev.Claimed(OP, 10.0, fence=1, owner="w", lease_until=19.0, send_deadline=20.0), "lease"),
    ],
)
def test_a_claim_must_keep_fence_deadline_and_lease(claim: ev.Claimed, why: str) -> None:
    """Ledger: L4"""
    wrong = step(past(PERMITTED), claim)
    assert isinstance(wrong, Err)
    assert why in wrong.error.message


@pytest.mark.parametrize(("at", "taken"), [(99.999, True), (100.0, False), (100.001, False)])
def test_a_grant_is_over_at_its_very_second(at: float, taken: bool) -> None:
    granted = past(PERMITTED, claimed(), LOST, ev.RetryGranted(OP, 13.0, "same_key", 100.0))
    assert isinstance(step(granted, claimed(2, at)), Ok) is taken
    assert isinstance(step(granted, ev.RetryVoided(OP, at, "unused")), Ok) is not taken


@pytest.mark.parametrize(("at", "taken"), [(99.999, True), (100.0, False)])
def test_a_claim_finds_a_grant_whose_time_is_over_and_looks_again(at: float, taken: bool) -> None:
    """It neither claims nor breaks: what nobody used in time is void. Ledger: L9"""
    granted = past(PERMITTED, claimed(), LOST, ev.RetryGranted(OP, 13.0, "same_key", 100.0))
    events, move = claim(granted, OPEN, Decision.allow(), Claimant("me", 30.0), at)
    after = granted
    for event in events:
        after = step(after, event).unwrap()
    if taken:
        assert (move, st.name_of(after)) == (Taken(2), "InFlight")
    else:
        assert (move, st.name_of(after)) == (Unsettled(), "Unknown")


def test_attempts_are_limited_but_a_person_may_allow_one_more() -> None:
    one = record(max_attempts=1)
    lost = past(PERMITTED, claimed(), LOST, intent=one)
    assert isinstance(step(lost, ev.RetryGranted(OP, 13.0, "same_key")), Err)
    ruled = step(lost, ev.OperatorDecided(OP, 14.0, 4, ev.DidNotHappen(), "alice", "looked")).unwrap()
    assert isinstance(step(ruled, claimed(2, 15.0)), Ok)


def test_evidence_and_approvals_for_something_else_are_refused() -> None:
    """Rows: S2-004"""
    planned = past()
    assert isinstance(step(planned, ev.EvidenceAdded(OP, 1.0, evidence(revision="old"))), Err)
    assert isinstance(step(planned, ev.ApprovalGranted(OP, 1.0, approval(record(revision="old")))), Err)
    known = step(planned, ev.ApprovalGranted(OP, 1.0, approval(record()))).unwrap()
    assert isinstance(known, st.Planned)
    name = known.facts.approvals[0].id
    revoked = step(known, ev.ApprovalRevoked(OP, 5.0, name)).unwrap()
    assert isinstance(revoked, st.Planned)
    assert revoked.facts.approvals[0].revoked_at == 5.0
