"""The operation state machine: which fact may follow which state; pure, total, the only place that says so.

Facts are monotone: a worker that lost its lease may no longer act, but the receipt it brings is still taken.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from msgspec.structs import replace

from lawful.core.errors import InvalidTransition
from lawful.core.result import Err, Ok, Result
from lawful.effects import events as ev
from lawful.effects import states as st
from lawful.effects.capability import FINAL_ABSENCE, OPERATOR
from lawful.effects.events import Event
from lawful.effects.evidence import Approval, Evidence, binding
from lawful.effects.intents import IntentRecord
from lawful.effects.states import State

Stepped: TypeAlias = Result[State, InvalidTransition]

_SLACK = 1e-6
"""Seconds by which sums of floats may be off."""


def step(state: State, event: Event) -> Stepped:
    """The state after ``event``, or an InvalidTransition that says why it may not follow; never raises."""
    if isinstance(event, ev.Planned):
        return _planned(state, event)
    if isinstance(state, st.Unplanned):
        return _invalid(state, event, "nothing was planned")
    if event.op_id != state.facts.op_id:
        return _invalid(state, event, f"the operation is {state.facts.op_id}")
    grown = replace(state.facts, version=state.facts.version + 1)
    after = _react(state, event, grown)
    return _invalid(state, event, after) if isinstance(after, str) else Ok(after)


def replay(events: Iterable[Event]) -> Stepped:
    """The state that ``events`` lead to from nothing, or the first that may not follow; calls nobody."""
    state: State = st.Unplanned()
    for event in events:
        match step(state, event):
            case Ok(after):
                state = after
            case Err() as wrong:
                return wrong
    return Ok(state)


_Standing: TypeAlias = (
    st.Planned
    | st.Permitted
    | st.InFlight
    | st.Unknown
    | st.Granted
    | st.Refused
    | st.Succeeded
    | st.Failed
    | st.Cancelled
    | st.Abandoned
    | st.Conflicted
)

_Later: TypeAlias = (
    ev.Reused
    | ev.PolicyChanged
    | ev.EvidenceAdded
    | ev.ApprovalGranted
    | ev.ApprovalRevoked
    | ev.Authorized
    | ev.AuthorityLost
    | ev.Denied
    | ev.Cancelled
    | ev.Claimed
    | ev.Confirmed
    | ev.Refused
    | ev.Quarantined
    | ev.OutcomeLost
    | ev.LookupNoted
    | ev.RetryGranted
    | ev.RetryVoided
    | ev.Conflict
    | ev.OperatorDecided
    | ev.Failed
)


def _invalid(state: State, event: Event, why: str) -> Err[InvalidTransition]:
    kind, at = type(event).__name__, st.name_of(state)
    return Err(
        InvalidTransition(
            f"{kind} may not follow {at}{': ' + why if why else ''}",
            component="effects",
            operation=event.op_id,
            details={"state": at, "event": kind},
        )
    )


def _planned(state: State, event: ev.Planned) -> Stepped:
    if not isinstance(state, st.Unplanned):
        return _invalid(state, event, "it is planned already")
    if event.intent.op_id != event.op_id:
        return _invalid(state, event, f"the intent is that of {event.intent.op_id}")
    return Ok(st.Planned(st.Facts(event.intent, 1)))


def _react(state: _Standing, event: _Later, facts: st.Facts) -> State | str:  # noqa: C901 - one flat match over the union
    """The next state with ``facts`` (those of ``state``, one version on), or why there is none."""
    match event:
        case ev.Reused(lineage=lineage):
            return replace(state, facts=replace(facts, lineages=(*facts.lineages, lineage)))
        case ev.PolicyChanged():
            return _policy_changed(state, event, facts)
        case ev.EvidenceAdded() | ev.ApprovalGranted() | ev.ApprovalRevoked():
            return _authority(state, event, facts)
        case ev.Authorized(basis=basis):
            return st.Permitted(facts, basis) if isinstance(state, st.Planned) else ""
        case ev.AuthorityLost(reason=reason):
            return _lost_authority(state, reason, facts)
        case ev.Denied(reason=reason):
            return st.Cancelled(facts, reason, True) if isinstance(state, (st.Planned, st.Permitted)) else ""
        case ev.Cancelled(reason=reason):
            return st.Cancelled(facts, reason) if isinstance(state, (st.Planned, st.Permitted)) else ""
        case ev.Claimed():
            return _claimed(state, event, facts)
        case ev.Confirmed():
            return _confirmed(state, event, facts)
        case ev.Refused():
            return _refused(state, event, facts)
        case ev.Quarantined():
            return _quarantined(state, event, facts)
        case ev.OutcomeLost():
            return _outcome_lost(state, event, facts)
        case ev.LookupNoted(seen=seen):
            noted = replace(facts, looks=facts.looks + 1, seen=seen)
            return replace(state, facts=noted) if isinstance(state, st.Unknown) else ""
        case ev.RetryGranted():
            return _granted(state, event, facts)
        case ev.RetryVoided():
            return _voided(state, event, facts)
        case ev.Conflict(reason=reason):
            return st.Conflicted(facts, (), reason) if isinstance(state, st.Unknown) else ""
        case ev.OperatorDecided():
            return _ruled(state, event, facts)
        case ev.Failed(reason=reason):
            return st.Failed(facts, state.code, reason) if isinstance(state, st.Refused) else ""


def _policy_changed(state: _Standing, event: ev.PolicyChanged, facts: st.Facts) -> State | str:
    grown = replace(facts, intent=replace(facts.intent, policy=event.policy, policy_hash=event.policy_hash))
    match state:
        case st.Permitted():
            return st.Planned(grown)
        case st.Planned() | st.Unknown() | st.Granted() | st.Refused():
            return replace(state, facts=grown)
        case _:
            return ""


def _authority(
    state: _Standing, event: ev.EvidenceAdded | ev.ApprovalGranted | ev.ApprovalRevoked, facts: st.Facts
) -> State | str:
    if isinstance(state, st.TERMINAL):
        return "it has ended"
    if isinstance(state, st.InFlight) and not isinstance(event, ev.ApprovalRevoked):
        return "it is claimed already"
    match event:
        case ev.ApprovalRevoked(approval=name):
            grown = _revoked(facts, name, event.at)
        case ev.EvidenceAdded(evidence=evidence):
            grown = _with_evidence(facts, evidence)
        case ev.ApprovalGranted(approval=approval):
            grown = _with_approval(facts, approval)
    return grown if isinstance(grown, str) else replace(state, facts=grown)


def _revoked(facts: st.Facts, name: str, at: float) -> st.Facts | str:
    if all(approval.id != name for approval in facts.approvals):
        return f"it has no approval {name}"
    return replace(
        facts,
        approvals=tuple(
            replace(a, revoked_at=at) if a.id == name and a.revoked_at is None else a for a in facts.approvals
        ),
    )


def _with_evidence(facts: st.Facts, evidence: Evidence) -> st.Facts | str:
    if evidence.revision != (facts.intent.revision or ""):
        return f"the evidence is about revision {evidence.revision}, the operation about {facts.intent.revision}"
    if any(each.id == evidence.id for each in facts.evidence):
        return facts
    return replace(facts, evidence=(*facts.evidence, evidence))


def _with_approval(facts: st.Facts, approval: Approval) -> st.Facts | str:
    if approval.binding != binding(facts.intent):
        return "the approval is bound to another operation, revision, arguments or policy"
    if any(each.id == approval.id for each in facts.approvals):
        return facts
    return replace(facts, approvals=(*facts.approvals, approval))


def _lost_authority(state: _Standing, reason: str, facts: st.Facts) -> State | str:
    told = replace(facts, lost=reason)
    match state:
        case st.Permitted():
            return st.Planned(told)
        case st.Granted():
            return st.Unknown(told, reason)
        case _:
            return ""


def _claimed(state: _Standing, event: ev.Claimed, facts: st.Facts) -> State | str:
    intent = facts.intent
    unlimited = False
    match state:
        case st.Permitted():
            pass
        case st.Granted(basis=basis, valid_until=until):
            if until is not None and event.at >= until:
                return "the grant's time is over"
            unlimited = basis == OPERATOR
        case st.Refused(retryable=retryable):
            if not retryable:
                return "the refusal is final"
        case _:
            return ""
    if len(facts.attempts) >= intent.max_attempts and not unlimited:
        return f"all {intent.max_attempts} attempts are used up"
    if event.fence != facts.fence + 1:
        return f"the next fence is {facts.fence + 1}, not {event.fence}"
    if (why := _unfit(event, intent)) is not None:
        return why
    attempt = st.Attempt(event.fence, event.owner, event.at, event.lease_until, event.send_deadline)
    return st.InFlight(
        replace(
            facts,
            attempts=(*facts.attempts, attempt),
            consumed=(*facts.consumed, *event.approvals),
            looks=0,
            seen="",
            lost="",
        )
    )


def _unfit(event: ev.Claimed, intent: IntentRecord) -> str | None:
    """What is wrong with a claim, whatever state it finds."""
    if not event.at <= event.send_deadline <= event.at + intent.send_budget + _SLACK:
        return "the send deadline is outside the send budget"
    if event.lease_until < event.send_deadline:
        return "the lease would end before the send deadline"
    if event.seen is not None and event.seen != intent.revision:
        return f"it acts on revision {intent.revision}, and {event.seen} was seen"
    return None


def _known_fence(facts: st.Facts, fence: int) -> bool:
    return any(attempt.fence == fence for attempt in facts.attempts)


def _confirmed(state: _Standing, event: ev.Confirmed, facts: st.Facts) -> State | str:
    if not facts.attempts:
        return "nothing was sent"
    if event.fence and not _known_fence(facts, event.fence):
        return f"no attempt has fence {event.fence}"
    receipt = event.receipt
    match state:
        case st.InFlight() | st.Unknown() | st.Granted():
            return st.Succeeded(facts, receipt)
        case st.Succeeded(receipt=held):
            if _same(held, receipt):
                return replace(state, facts=facts)
            return st.Conflicted(facts, (held, receipt), "two different receipts were seen")
        case st.Conflicted(receipts=held):
            more = () if any(_same(each, receipt) for each in held) else (receipt,)
            return replace(state, facts=facts, receipts=(*held, *more))
        case st.Refused() | st.Failed() | st.Abandoned():
            return st.Conflicted(facts, (receipt,), f"a receipt came in after {st.name_of(state)}")
        case _:
            return ""


def _same(one: st.Receipt, other: st.Receipt) -> bool:
    """Equal ids; a receipt without an id cannot be told from another."""
    return one.id == other.id or not one.id or not other.id


def _ended(facts: st.Facts, fence: int, how: str) -> st.Facts:
    """``facts`` with that attempt's end noted; what definitely did nothing is never made uncertain again."""
    return replace(
        facts,
        attempts=tuple(
            replace(a, ended=how) if a.fence == fence and a.ended in ("", "lost") else a for a in facts.attempts
        ),
    )


def _refused(state: _Standing, event: ev.Refused, facts: st.Facts) -> State | str:
    if not _known_fence(facts, event.fence):
        return f"no attempt has fence {event.fence}"
    marked = _ended(facts, event.fence, "nothing")
    match state:
        case st.InFlight() | st.Unknown():
            if not marked.unresolved:
                return st.Refused(marked, event.code, event.message, event.retryable)
            return st.Unknown(marked, f"attempt {event.fence} was refused, an older one is unresolved")
        case st.Granted():
            return replace(state, facts=marked)
        case _:
            return ""


def _quarantined(state: _Standing, event: ev.Quarantined, facts: st.Facts) -> State | str:
    if isinstance(state, st.TERMINAL):
        return "it has ended"
    if any(attempt.quarantine == event.quarantine for attempt in facts.attempts):
        return "that is noted already"
    if event.fence != facts.fence + 1 or event.since > event.at:
        return f"the next fence is {facts.fence + 1}, and the copy is older than its restoring"
    held = _ended(facts, facts.fence, "lost") if isinstance(state, st.InFlight) else facts
    # Made at ``since`` at the earliest, sent at the restoring at the latest: both bounds are the unfavourable ones.
    unseen = st.Attempt(event.fence, "", event.since, event.at, event.at, event.quarantine, "lost")
    return st.Unknown(replace(held, attempts=(*held.attempts, unseen), looks=0), "the journal was restored from a copy")


def _outcome_lost(state: _Standing, event: ev.OutcomeLost, facts: st.Facts) -> State | str:
    if not isinstance(state, st.InFlight):
        return ""
    if event.fence != facts.fence:
        return f"the attempt in flight has fence {facts.fence}"
    why = f"{event.cause}: {event.message}" if event.message else event.cause
    return st.Unknown(_ended(facts, event.fence, "lost"), why)


def _granted(state: _Standing, event: ev.RetryGranted, facts: st.Facts) -> State | str:
    if not isinstance(state, st.Unknown):
        return ""
    if len(facts.attempts) >= facts.intent.max_attempts:
        return f"all {facts.intent.max_attempts} attempts are used up"
    if event.valid_until is not None and event.at >= event.valid_until:
        return "the grant would be over at once"
    voided = _void(facts, "absent") if event.basis == FINAL_ABSENCE else facts
    return st.Granted(voided, event.basis, event.valid_until)


def _void(facts: st.Facts, how: Literal["nothing", "absent"]) -> st.Facts:
    """Every attempt so far is known to have had no effect."""
    return replace(facts, attempts=tuple(a if a.ended == "absent" else replace(a, ended=how) for a in facts.attempts))


def _voided(state: _Standing, event: ev.RetryVoided, facts: st.Facts) -> State | str:
    if not isinstance(state, st.Granted):
        return ""
    if state.valid_until is None or event.at < state.valid_until:
        return "the grant still holds"
    return st.Unknown(facts, event.reason)


def _ruled(state: _Standing, event: ev.OperatorDecided, facts: st.Facts) -> State | str:
    if not isinstance(state, st.Unknown):
        return ""
    if event.expected_version != state.facts.version:
        return f"it is at version {state.facts.version}, not {event.expected_version}: look again"
    match event.ruling:
        case ev.Happened(value=value):
            return st.Succeeded(facts, st.Receipt("", "operator", value))
        case ev.DidNotHappen(retry=True):
            return st.Granted(_void(facts, "nothing"), OPERATOR)
        case ev.DidNotHappen():
            return st.Failed(_void(facts, "nothing"), "operator", event.reason)
        case ev.GiveUp():
            return st.Abandoned(facts, event.reason)
