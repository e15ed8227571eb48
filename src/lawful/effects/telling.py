"""Where an operation stands, told as the outcome that its caller gets."""

from __future__ import annotations

from typing import Any, TypeVar

from lawful.core.errors import ToolError
from lawful.effects import states as st
from lawful.effects.capability import AskOperator, Conclusion, Wait
from lawful.effects.contract import Intent
from lawful.effects.evidence import binding
from lawful.effects.moves import Held, Move, Moved, Waiting, matter_of
from lawful.effects.outcomes import (
    Abandoned,
    AwaitingApproval,
    AwaitingEvidence,
    Conflicted,
    Denied,
    InProgress,
    Outcome,
    Refused,
    ResultLost,
    RevisionMoved,
    Succeeded,
    Unknown,
)
from lawful.effects.policy import Limited, NeedsApproval, NeedsEvidence, Policy
from lawful.effects.states import State

R = TypeVar("R")


def outcome_of(
    state: State,
    intent: Intent[Any, R],
    move: Move | None,
    rules: Policy | None = None,
    concluded: Conclusion | None = None,
) -> Outcome[R]:
    """Where an operation stands, as its caller is told."""
    if isinstance(move, (Held, Moved)):
        return _kept(move, intent)
    if isinstance(move, Waiting) and rules is not None:
        waiting = _awaiting(state, move, rules)
        if waiting is not None:
            return waiting
    match state:
        case st.Unplanned() | st.Planned() | st.Permitted():
            raise ToolError(
                f"nothing was claimed for operation {intent.op_id}: execute it",
                component="effects",
                details={"op_id": intent.op_id, "state": st.name_of(state)},
            )
        case st.InFlight(facts):
            return InProgress(facts.op_id, facts.attempts[-1].owner, facts.attempts[-1].lease_until)
        case st.Unknown() | st.Granted():
            return _unknown(state, concluded)
        case st.Refused(facts, code, message, retryable):
            return Refused(facts.op_id, code, message, retryable)
        case st.Failed(facts, code, message):
            return Refused(facts.op_id, code, message)
        case st.Succeeded():
            return _succeeded(state, intent)
        case _:
            return _over(state)


def _kept(move: Held | Moved, intent: Intent[Any, Any]) -> Denied | RevisionMoved:
    match move:
        case Held(reason):
            return Denied(intent.op_id, reason, lasting=False)
        case Moved(present):
            return RevisionMoved(intent.op_id, intent.record.revision, present)


def _succeeded(state: st.Succeeded, intent: Intent[Any, R]) -> Outcome[R]:
    if state.receipt.result_lost or state.receipt.source == "assumed":
        return ResultLost(state.facts.op_id)
    return Succeeded(intent.effect.read_receipt(state.receipt.value), state.facts.op_id, True)


def _over(state: st.Cancelled | st.Abandoned | st.Conflicted) -> Denied | Abandoned | Conflicted:
    match state:
        case st.Cancelled(facts, reason):
            return Denied(facts.op_id, reason)
        case st.Abandoned(facts, reason):
            return Abandoned(facts.op_id, reason)
        case st.Conflicted(facts, _, reason):
            return Conflicted(facts.op_id, reason)


def _unknown(state: st.Unknown | st.Granted, concluded: Conclusion | None) -> Unknown:
    op_id, version = state.facts.op_id, state.facts.version
    if isinstance(state, st.Granted):
        return Unknown(op_id, f"another attempt is safe: {state.basis}", "execute", state.valid_until, version)
    match concluded:
        case Wait(until, reason):
            return Unknown(op_id, reason, "reconcile", until, version)
        case AskOperator(reason):
            return Unknown(op_id, f"{reason} ({state.cause})" if state.cause else reason, "resolve", None, version)
        case _:
            return Unknown(op_id, state.cause, "reconcile", None, version)


def _awaiting(state: State, move: Waiting, rules: Policy) -> Outcome[Any] | None:
    if isinstance(state, (st.Unplanned, st.Cancelled, st.Failed)):
        return None
    facts = state.facts
    matter = matter_of(facts, rules, 0.0)
    match move.verdict:
        case NeedsEvidence(kinds):
            return AwaitingEvidence(facts.op_id, kinds)
        case NeedsApproval(role, count):
            return AwaitingApproval(facts.op_id, role, count, binding(matter.intent))
        case Limited(reason, until):
            return Denied(facts.op_id, reason, False, until)
        case _:
            return None
