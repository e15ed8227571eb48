"""Pure: which events the claim, the reply and the look-up of an operation become, given where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from lawful.core.errors import OperationConflict, OperationExists
from lawful.effects import events as ev
from lawful.effects import states as st
from lawful.effects.capability import (
    AskOperator,
    Conclusion,
    Confirm,
    Conflict,
    Found,
    Grant,
    History,
    NotFound,
    Pending,
    Seen,
    Unavailable,
    Wait,
    conclude,
)
from lawful.effects.events import Event
from lawful.effects.intents import IntentRecord
from lawful.effects.policy import (
    Authorized,
    Decision,
    Denied,
    Limited,
    Matter,
    NeedsApproval,
    NeedsEvidence,
    Policy,
    authorize,
)
from lawful.effects.states import State


class Claimant(Struct, frozen=True):
    """Who claims, and for how long."""

    owner: str
    lease: float
    """Seconds."""
    lease_thread: str = ""
    lease_fence: int = 0


class Waiting(Struct, frozen=True):
    """The policy does not say yes (yet)."""

    verdict: NeedsEvidence | NeedsApproval | Limited | Denied


class Held(Struct, frozen=True):
    """It could be claimed, and something outside its policy keeps it from that: a freeze, or a worker that may not."""

    reason: str


class Unread(Struct, frozen=True):
    """It could be claimed; the target's present revision is to be read first."""


class Moved(Struct, frozen=True):
    """The target is no longer at the revision that evidence and approvals name."""

    present: str | None


class Settled(Struct, frozen=True):
    """There is nothing to claim: the state says how it ended, or who is at it."""


class Unsettled(Struct, frozen=True):
    """An earlier attempt's outcome must be found out first."""


class Taken(Struct, frozen=True):
    """The claim is ours."""

    fence: int


Move: TypeAlias = Waiting | Held | Unread | Moved | Settled | Unsettled | Taken


class Present(Struct, frozen=True):
    """The target's revision, for an effect that says how it is read."""

    revision: str | None = None
    """None where there is nothing."""
    read: bool = True


def join(state: State, record: IntentRecord, now: float) -> tuple[Event, ...]:
    """The events by which ``record`` is planned or taken part in.

    Raises: OperationConflict, OperationExists.
    """
    if isinstance(state, st.Unplanned):
        return (ev.Planned(record.op_id, now, record),)
    held = state.facts.intent
    told = {"op_id": record.op_id, "tool": record.tool}
    if (held.tool, held.args_hash, held.scope) != (record.tool, record.args_hash, record.scope):
        raise OperationConflict(
            f"operation {record.op_id} was planned with other arguments, another tool or scope",
            component=record.tool,
            operation="plan",
            details=told,
        )
    open_ = isinstance(state, (st.Planned, st.Permitted, st.Unknown, st.Granted, st.Refused))
    changed: tuple[Event, ...] = ()
    if open_ and record.policy_hash != held.policy_hash:
        changed = (ev.PolicyChanged(record.op_id, now, record.policy, record.policy_hash),)
    if record.lineage == held.lineage or record.lineage in state.facts.lineages:
        return changed
    if not record.once_per_key:
        raise OperationExists(
            f"operation {record.op_id} belongs to thread {held.lineage or '(none)'!r}; if both mean the same effect,"
            " declare once_per_key=True, else widen the key",
            component=record.tool,
            operation="plan",
            details={**told, "lineage": held.lineage},
        )
    return (*changed, ev.Reused(record.op_id, now, record.lineage, record.thread))


def matter_of(facts: st.Facts, rules: Policy, now: float, totals: Mapping[str, float] | None = None) -> Matter:
    """What a policy may look at; approvals given under another policy do not count."""
    intent = replace(facts.intent, policy_hash=rules.hash)
    return Matter(intent, facts.evidence, facts.approvals, facts.consumed, bool(facts.attempts), now, totals or {})


def claim(
    state: State,
    rules: Policy,
    own: Decision,
    who: Claimant,
    now: float,
    totals: Mapping[str, float] | None = None,
    present: Present | None = None,
) -> tuple[tuple[Event, ...], Move]:
    """What the claim transaction writes, and what it comes to.

    The policy is asked here, at ``now`` of the store's clock, whatever was decided before; ``totals`` are the figures that
    it reads, as this transaction sees them. ``present`` is given for an effect that reads its target's revision.
    """
    match state:
        case st.InFlight() | st.Unknown():
            return (), Unsettled()
        case st.Granted(valid_until=until) if until is not None and now >= until:
            return (ev.RetryVoided(state.facts.op_id, now, "its time passed unused"),), Unsettled()
        case st.Refused() if not state.retryable or len(state.facts.attempts) >= state.facts.intent.max_attempts:
            return (ev.Failed(state.facts.op_id, now, state.message),), Settled()
        case st.Planned() | st.Permitted() | st.Granted() | st.Refused():
            return _with_authority(state, matter_of(state.facts, rules, now, totals), rules, own, who, present)
        case _:
            return (), Settled()


def _with_authority(
    state: st.Planned | st.Permitted | st.Granted | st.Refused,
    matter: Matter,
    rules: Policy,
    own: Decision,
    who: Claimant,
    present: Present | None,
) -> tuple[tuple[Event, ...], Move]:
    facts, now = state.facts, matter.now
    op_id, intent = facts.op_id, facts.intent
    verdict = authorize(rules, matter, own)
    if not isinstance(verdict, Authorized):
        return _without_authority(state, verdict, now), Waiting(verdict)
    if present is not None and not present.read:
        return (), Unread()
    if present is not None and present.revision != intent.revision:
        return _moved(state, verdict.basis, present, now), Moved(present.revision)
    first: tuple[Event, ...] = (ev.Authorized(op_id, now, verdict.basis),) if isinstance(state, st.Planned) else ()
    fence = facts.fence + 1
    taken = ev.Claimed(
        op_id,
        now,
        fence=fence,
        owner=who.owner,
        lease_until=now + max(who.lease, intent.timeout + intent.send_budget),
        send_deadline=now + intent.send_budget,
        basis=verdict.basis,
        approvals=verdict.approvals if not facts.attempts else (),
        lease_thread=who.lease_thread,
        lease_fence=who.lease_fence,
        seen=present.revision if present is not None else None,
    )
    return (*first, taken), Taken(fence)


def _moved(
    state: st.Planned | st.Permitted | st.Granted | st.Refused, basis: str, present: Present, now: float
) -> tuple[Event, ...]:
    """That the policy's yes is about another revision; told once, however often it is asked."""
    facts = state.facts
    why = (
        f"it acts on revision {facts.intent.revision or '(none)'}, and its target is at {present.revision or '(none)'}"
    )
    lost = ev.AuthorityLost(facts.op_id, now, why)
    match state:
        case st.Planned() if facts.lost != why:
            return (ev.Authorized(facts.op_id, now, basis), lost)
        case st.Permitted() | st.Granted():
            return (lost,)
        case _:
            return ()


def _without_authority(
    state: st.Planned | st.Permitted | st.Granted | st.Refused,
    verdict: NeedsEvidence | NeedsApproval | Limited | Denied,
    now: float,
) -> tuple[Event, ...]:
    op_id = state.facts.op_id
    match state, verdict:
        case st.Planned() | st.Permitted(), Denied(reason):
            return (ev.Denied(op_id, now, reason),)
        case st.Refused(), Denied(reason):
            return (ev.Failed(op_id, now, f"refused by the provider, then denied: {reason}"),)
        case st.Permitted() | st.Granted(), _:
            return (ev.AuthorityLost(op_id, now, f"the policy no longer says yes: {verdict}"),)
        case _:
            return ()


# After a claim


class Reply(Struct, frozen=True):
    """How a call ended, from the performer's side."""

    kind: str
    """"receipt", "refused", "lost", or "conflict" where the provider knows the key with other arguments."""
    receipt: st.Receipt | None = None
    code: str = ""
    message: str = ""
    retryable: bool = False


def settle(state: State, fence: int, reply: Reply, now: float) -> tuple[Event, ...]:
    """The events that the reply to attempt ``fence`` becomes; facts are taken from attempts that lost their lease too."""
    if isinstance(state, st.Unplanned):
        return ()
    op_id = state.facts.op_id
    current = isinstance(state, st.InFlight) and state.facts.fence == fence
    match reply:
        case Reply("receipt", receipt) if receipt is not None:
            return (ev.Confirmed(op_id, now, receipt if current else replace(receipt, source="late_reply"), fence),)
        case Reply("refused") if isinstance(state, (st.InFlight, st.Unknown, st.Granted)):
            refused = ev.Refused(op_id, now, fence, reply.code, reply.message, reply.retryable)
            alone = all(a.fence == fence for a in state.facts.unresolved)
            final = alone and not reply.retryable and not isinstance(state, st.Granted)
            return (refused, ev.Failed(op_id, now, reply.message)) if final else (refused,)
        case Reply("lost") if current:
            return (ev.OutcomeLost(op_id, now, fence, reply.code, reply.message),)
        case Reply("conflict") if current:
            return (
                ev.OutcomeLost(op_id, now, fence, "conflict", reply.message),
                ev.Conflict(op_id, now, reply.message),
            )
        case _:
            return ()


def history_of(facts: st.Facts) -> History:
    """What the decision table reads of an operation's past."""
    live = tuple(attempt for attempt in facts.attempts if attempt.ended != "absent") or facts.attempts
    return History(
        first_dispatch=live[0].claimed_at,
        last_possible_send=max(attempt.send_deadline for attempt in live),
        attempts=len(facts.attempts),
        max_attempts=facts.intent.max_attempts,
        send_budget=facts.intent.send_budget,
        looks=facts.looks,
    )


def in_words(seen: Seen[Any]) -> str:
    """An observation as records keep it."""
    match seen:
        case Found(others=others, matches=matches):
            return f"found{f' {1 + len(others)} times' if others else ''}{'' if matches else ' with other arguments'}"
        case NotFound(fenced):
            return "not found, fenced" if fenced else "not found"
        case Pending(reason):
            return f"pending: {reason}" if reason else "pending"
        case Unavailable(reason):
            return f"unavailable: {reason}" if reason else "unavailable"


def reconcile(
    state: st.Unknown, seen: Seen[Any] | None, asked_at: float, receipt: st.Receipt | None, now: float
) -> tuple[tuple[Event, ...], Conclusion]:
    """What an observation made at ``asked_at`` becomes; ``receipt`` is what it found, if it found something."""
    facts = state.facts
    op_id = facts.op_id
    noted: tuple[Event, ...] = (ev.LookupNoted(op_id, now, in_words(seen)),) if seen is not None else ()
    conclusion = conclude(facts.intent.capability, history_of(facts), seen, asked_at)
    match conclusion:
        case Confirm(assumed=assumed):
            shown = st.Receipt("", "assumed") if assumed or receipt is None else receipt
            return (*noted, ev.Confirmed(op_id, now, shown)), conclusion
        case Grant(basis, until) if until is None or now < until:
            return (*noted, ev.RetryGranted(op_id, now, basis, until)), conclusion
        case Grant():
            return noted, Wait(now, "the grant's time ran out while it was looked up")
        case Conflict(reason):
            return (*noted, ev.Conflict(op_id, now, reason)), conclusion
        case Wait() | AskOperator():
            return noted, conclusion
