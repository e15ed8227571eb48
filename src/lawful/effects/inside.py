"""What performing an effect means inside a running node: receipts returned, errors raised, pauses latched."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from lawful.core.context import Run, Slot
from lawful.core.errors import ConfigurationError, EffectConflicted, EffectDenied, EffectRefused, ToolError
from lawful.core.questions import Approved, Principal, Question
from lawful.core.signals import GraphInterrupt, OutcomeUnknown, latch
from lawful.effects import events as ev
from lawful.effects import states as st
from lawful.effects.contract import Intent
from lawful.effects.evidence import Approval
from lawful.effects.intents import IntentRecord
from lawful.effects.log import load, write
from lawful.effects.moves import Claimant
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
    Succeeded,
    Unknown,
)
from lawful.effects.presence import LEASE, presence
from lawful.effects.protocol import Do, Kit, Steps, execute
from lawful.journal.port import EffectTx
from lawful.journal.records import Lease

C = TypeVar("C")
R = TypeVar("R")


def kit_of(run: Run, tool: str) -> Kit:
    """What an effect performed in ``run`` works with: the run's journal, clock and lease.

    Raises: ConfigurationError, if the run has no journal to write the claim to.
    """
    if run.journal is None:
        raise ConfigurationError(
            f"effect {tool!r} needs a journal to write its claim to: compile the graph with checkpointer=...",
            component=tool,
            operation="perform",
        )
    return Kit(run.journal, run.clock, None, lambda: claimant_of(run))


def claimant_of(run: Run) -> Claimant:
    """The run as a claimant: its thread's lease tells others whether it is still at work."""
    lease = run.root.lease
    if isinstance(lease, Lease):
        return Claimant(lease.owner, LEASE, lease.thread, lease.fence)
    held = presence(run.journal, run.clock)
    run.shared["effects:presence"] = held  # for as long as the run lasts
    return held.claimant()


@contextmanager
def alone(slot: Slot, record: IntentRecord, unnamed: bool) -> Generator[None]:
    """Refuse an effect without key or name beside another such: arrival order would become part of its id.

    Raises: ConfigurationError.
    """
    if not unnamed:
        yield
        return
    slot.count("effects")
    counts = slot.counts
    assert counts is not None
    if counts.get("effects:open", 0):
        raise ConfigurationError(
            f"effect {record.tool!r} runs beside another effect without a key in node {slot.node!r}:"
            " give each a name, effect.named('...')",
            component=record.tool,
            operation="perform",
            details={"node": slot.node},
        )
    counts["effects:open"] = 1
    try:
        yield
    finally:
        counts["effects:open"] = 0


def perform_here(slot: Slot, kit: Kit, intent: Intent[C, R]) -> Steps[Outcome[R]]:
    """Execute ``intent`` for a running node, taking along approvals that were answered meanwhile."""
    slot.planned = True
    while True:
        outcome: Outcome[R] = yield from execute(kit, intent)
        if not isinstance(outcome, AwaitingApproval):
            return outcome
        waiting = outcome
        given = answered(slot, _approval_id(slot, kit, intent))
        if given is None:
            return outcome
        yield Do(lambda waiting=waiting, given=given: _record(slot, kit, intent, waiting, given))


def receipt_or_raise(slot: Slot, kit: Kit, intent: Intent[Any, R], outcome: Outcome[R]) -> R:
    """The receipt, or the outcome as an error or a signal that is latched before it is raised."""
    told = {"op_id": intent.op_id, "tool": intent.record.tool}
    where: Mapping[str, Any] = {"component": intent.record.tool, "operation": f"node {slot.node!r}"}
    match outcome:
        case Succeeded(receipt):
            return receipt
        case Denied() | Abandoned():
            raise _denied(outcome, intent.record.tool, where, told)
        case AwaitingEvidence(_, kinds):
            missing = ", ".join(kinds)
            raise EffectDenied(
                f"effect {intent.record.tool!r} lacks evidence: {missing}", **where, details={**told, "kinds": missing}
            )
        case Refused(_, code, message, retryable):
            raise EffectRefused(message, **where, details={**told, "code": code}, retryable=retryable)
        case Conflicted(_, reason):
            raise EffectConflicted(f"effect {intent.record.tool!r}: {reason}", **where, details=told)
        case ResultLost():
            raise ToolError(
                f"effect {intent.record.tool!r} happened, but its answer could not be written down",
                **where,
                details=told,
            )
        case AwaitingApproval():
            raise _latched(slot, GraphInterrupt((_question(slot, kit, intent, outcome),)))
        case Unknown(op_id, reason):
            raise _latched(slot, OutcomeUnknown(op_id, intent.record.tool, reason))
        case InProgress(op_id, owner):
            raise _latched(slot, OutcomeUnknown(op_id, intent.record.tool, f"{owner} is at it"))


def _denied(outcome: Denied | Abandoned, tool: str, where: Mapping[str, Any], told: dict[str, str]) -> EffectDenied:
    match outcome:
        case Denied(_, reason, lasting):
            return EffectDenied(f"effect {tool!r} is denied: {reason}", **where, details=told, retryable=not lasting)
        case Abandoned(_, reason):
            return EffectDenied(f"effect {tool!r} was abandoned: {reason}", **where, details=told)


def _latched(slot: Slot, signal: Any) -> BaseException:
    latch(slot, signal)
    return signal


# Approvals asked from inside a node


def _approval_id(slot: Slot, kit: Kit, intent: Intent[Any, Any]) -> str:
    """The question's id: of the lineage, the visit, the operation and how many decisions it has already."""
    state = kit.journal.read(lambda tx: load(tx, intent.op_id))
    n = 0 if isinstance(state, st.Unplanned) else len(state.facts.approvals)
    text = f"{slot.run.lineage}\x1f{slot.step_key}\x1f{slot.visit}\x1fapproval:{intent.op_id}:{n}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def answered(slot: Slot, question: str) -> Approved | None:
    """The answer to ``question`` that the graph's task holds, if any."""
    held: Any = getattr(getattr(slot, "base", None), "answers", {}).get(question)
    if held is None:
        return None
    given, by = held[0], held[2] if len(held) > 2 else ""
    if isinstance(given, Approved):
        return given if given.by else Approved(given.granted, by, given.reason)
    return Approved(given is True or given in ("yes", "y", "approve", "approved"), by)


def _question(slot: Slot, kit: Kit, intent: Intent[Any, Any], waiting: AwaitingApproval) -> Question:
    record, base = intent.record, getattr(slot, "base", None)
    return Question(
        id=_approval_id(slot, kit, intent),
        value={
            "effect": record.tool,
            "op_id": record.op_id,
            "args": record.args,
            "revision": record.revision,
            "role": waiting.role,
        },
        node=slot.node,
        name=f"approve {record.tool}",
        kind="approval",
        answer_type="approved",
        digest=waiting.binding[:32],
        ns=getattr(base, "ns", ""),
        checkpoint=getattr(base, "checkpoint", ""),
        task=getattr(slot, "id", ""),
        details={"op_id": record.op_id, "binding": waiting.binding, "role": waiting.role},
    )


def _record(slot: Slot, kit: Kit, intent: Intent[Any, Any], waiting: AwaitingApproval, given: Approved) -> None:
    """Write a person's answer down as an approval of exactly this operation."""
    question = _approval_id(slot, kit, intent)
    roles = (waiting.role,) if waiting.role else ()

    def work(tx: EffectTx) -> None:
        state, now = load(tx, intent.op_id), tx.now()
        approval = Approval(
            question,
            waiting.binding,
            Principal(given.by or "unnamed", roles),
            role=waiting.role,
            granted=given.granted,
            granted_at=now,
        )
        write(tx, state, (ev.ApprovalGranted(intent.op_id, now, approval),))

    kit.journal.transact(work)
