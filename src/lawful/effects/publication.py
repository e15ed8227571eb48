"""The essay's publication of a pull request: its small reducer, its rule and its recovery, as instances of the general ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from msgspec import Struct

from lawful.core.errors import InvalidTransition
from lawful.core.questions import Principal
from lawful.core.result import Err, Ok, Result
from lawful.effects import events as ev
from lawful.effects import states as st
from lawful.effects import transitions
from lawful.effects.capability import Capability, Confirm, Found, History, Lookup, NotFound, Unavailable, conclude
from lawful.effects.events import Event
from lawful.effects.evidence import Approval, Evidence, binding
from lawful.effects.intents import IntentRecord
from lawful.effects.policy import Allowed, Matter, publication_policy
from lawful.effects.states import State


class Ready(Struct, frozen=True):
    """Nothing was started."""


class InFlight(Struct, frozen=True):
    op: str


class Uncertain(Struct, frozen=True):
    op: str


class Complete(Struct, frozen=True):
    op: str
    pull_request: str


PublishState: TypeAlias = Ready | InFlight | Uncertain | Complete


class Started(Struct, frozen=True):
    op: str


class TimedOut(Struct, frozen=True):
    op: str


class Confirmed(Struct, frozen=True):
    op: str
    pull_request: str


PublishEvent: TypeAlias = Started | TimedOut | Confirmed


def step(state: PublishState, event: PublishEvent) -> Result[PublishState, InvalidTransition]:
    """The essay's transition: the ledger's own, but a confirmation after Complete is an error (there: a no-op)."""
    after: State = _as_ledger(state)
    for each in _as_events(event):
        match transitions.step(after, each):
            case Ok(reached):
                after = reached
            case Err() as wrong:
                return wrong
    told = _as_published(after)
    if told is None or isinstance(state, Complete):
        return Err(InvalidTransition("invalid publication transition", component="publication", operation=event.op))
    return Ok(told)


def replay(events: Iterable[PublishEvent]) -> Result[PublishState, InvalidTransition]:
    """The fold of ``events`` from Ready, or the first that may not follow."""
    state: PublishState = Ready()
    for event in events:
        match step(state, event):
            case Ok(after):
                state = after
            case Err() as wrong:
                return wrong
    return Ok(state)


def _intent(op: str) -> IntentRecord:
    return IntentRecord("local", op, "publish", "1", {}, "", op, Capability((Lookup("eventual"),)))


def _as_events(event: PublishEvent) -> tuple[Event, ...]:
    match event:
        case Started(op):
            claimed = ev.Claimed(op, 0.0, fence=1, owner="", lease_until=10.0, send_deadline=10.0)
            return (ev.Planned(op, 0.0, _intent(op)), ev.Authorized(op, 0.0, ""), claimed)
        case TimedOut(op):
            return (ev.OutcomeLost(op, 0.0, 1, "timeout"),)
        case Confirmed(op, pull_request):
            return (ev.Confirmed(op, 0.0, st.Receipt(pull_request, "reply", pull_request)),)


def _as_ledger(state: PublishState) -> State:
    match state:
        case Ready():
            return st.Unplanned()
        case InFlight(op):
            past: tuple[PublishEvent, ...] = (Started(op),)
        case Uncertain(op):
            past = (Started(op), TimedOut(op))
        case Complete(op, pull_request):
            past = (Started(op), Confirmed(op, pull_request))
    return transitions.replay(each for event in past for each in _as_events(event)).unwrap()


def _as_published(state: State) -> PublishState | None:
    match state:
        case st.InFlight(facts):
            return InFlight(facts.op_id)
        case st.Unknown(facts):
            return Uncertain(facts.op_id)
        case st.Succeeded(facts, receipt):
            return Complete(facts.op_id, receipt.id)
        case _:
            return None


# The rule


class CheckReport(Struct, frozen=True):
    """What the checks of one revision came to."""

    revision: str
    tests: bool
    security: bool


class PublishApproval(Struct, frozen=True):
    """Somebody's decision about one revision."""

    revision: str
    granted: bool


def publication_allowed(revision: str, report: CheckReport, approval: PublishApproval) -> bool:
    """The essay's five conjuncts: evidence and approval for this very revision, tests, security and the decision."""
    intent = _about(revision)
    shown = tuple(
        Evidence(kind, kind, report.revision, passed, "report", 0.0)
        for kind, passed in (("tests", report.tests), ("security", report.security))
    )
    decided = Approval("approval", binding(_about(approval.revision)), Principal("approver"), granted=approval.granted)
    verdict = publication_policy().decide(Matter(intent, shown, (decided,)))
    return isinstance(verdict, Allowed)


def _about(revision: str) -> IntentRecord:
    return IntentRecord(
        "local", "publish", "publish", "1", {}, "", "publish", Capability((Lookup("eventual"),)), revision=revision
    )


# Recovery


class Resolved(Struct, frozen=True):
    pull_request: str


class NeedsReconciliation(Struct, frozen=True):
    op: str


def recover_publication(op: str, seen: Found[str] | NotFound | Unavailable) -> Resolved | NeedsReconciliation:
    """What a look-up of an uncertain publication permits: not having seen it permits nothing."""
    past = History(first_dispatch=0.0, last_possible_send=0.0, attempts=1, max_attempts=5, send_budget=10.0)
    match conclude(Capability((Lookup("eventual"),)), past, seen, now=60.0):
        case Confirm(receipt) if isinstance(receipt, str):
            return Resolved(receipt)
        case _:
            return NeedsReconciliation(op)
