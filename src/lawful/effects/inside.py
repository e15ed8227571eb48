"""What performing an effect means inside a running node: receipts returned, errors raised, pauses latched."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from msgspec.structs import replace

from lawful.core.context import Slot
from lawful.core.errors import (
    ConfigurationError,
    EffectConflicted,
    EffectDenied,
    EffectRefused,
    EffectStale,
    OperationConflict,
    ToolError,
)
from lawful.core.questions import Approved, Principal, Question, id_of, recovery_id
from lawful.core.replay import gap, recorded_in
from lawful.core.signals import GraphInterrupt, OutcomeUnknown, latch
from lawful.effects import events as ev
from lawful.effects import states as st
from lawful.effects.contract import Intent
from lawful.effects.evidence import Approval
from lawful.effects.inbox import approval_question, ruling_of
from lawful.effects.intended import intended
from lawful.effects.intents import IntentRecord, idempotency_key
from lawful.effects.log import load, write
from lawful.effects.movement import telling
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
from lawful.effects.presence import claimant_of
from lawful.effects.protocol import execute
from lawful.effects.recover import RECOVERED
from lawful.effects.states import State
from lawful.effects.steps import Do, Kit, Steps
from lawful.effects.telling import outcome_of
from lawful.journal.port import EffectTx
from lawful.journal.records import Batch

C = TypeVar("C")
R = TypeVar("R")


def kit_of(slot: Slot, tool: str) -> Kit:
    """What an effect performed in ``slot`` works with: the run's journal, clock and lease, and whether it may perform.

    Raises: ConfigurationError, if the run has no journal to write the claim to.
    """
    run = slot.run
    if run.journal is None:
        raise ConfigurationError(
            f"effect {tool!r} needs a journal to write its claim to: compile the graph with checkpointer=...",
            component=tool,
            operation="perform",
        )
    return Kit(run.journal, run.clock, None, lambda: claimant_of(run), performs=slot.may_perform())


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
    slot.plans()
    if recorded_in(slot.run) is not None:
        return (yield Do(lambda: _from_record(slot, kit, intent)))
    notes = slot.unwritten()
    if notes:  # the intent may be made of them, so they are as durable before it is
        batch = Batch(slot.run.thread or "", tuple(notes), slot.run.root.lease, durable=True)
        yield Do(lambda: kit.journal.commit(batch))
    return (yield from _told(slot, kit, intent))


def _told(slot: Slot, kit: Kit, intent: Intent[C, R]) -> Steps[Outcome[R]]:
    """The same, forks settled, and the run's listeners told how the operation moves."""
    while True:
        steps = _perform(slot, kit, intent)
        try:
            return (yield from steps if slot.run.teller is None else telling(slot.run, kit, intent, steps))
        except OperationConflict as conflict:
            state: State = yield Do(lambda op_id=intent.op_id: kit.journal.read(lambda tx: load(tx, op_id)))
            intent = forked(slot, intent, state, conflict)


def _perform(slot: Slot, kit: Kit, intent: Intent[C, R]) -> Steps[Outcome[R]]:
    if getattr(getattr(slot, "base", None), "answers", None):
        yield Do(lambda: _ruled(slot, kit, intent))
    left: Unknown | None = slot.run.shared.get(RECOVERED, {}).pop(intent.op_id, None)
    if left is not None and left.next_step != "execute":
        row: Any = yield Do(lambda: kit.journal.read(lambda tx: tx.operation(intent.op_id)))
        if row is not None and row.version == left.version:
            return left  # looked up a moment ago, at the start of this run
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
        case Denied() | Abandoned() | RevisionMoved():
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
        case Unknown(op_id, reason, next_step):
            state = kit.journal.read(lambda tx: load(tx, op_id))
            fence = 0 if isinstance(state, st.Unplanned) else state.facts.fence
            tool = intent.record.tool
            raise _latched(slot, OutcomeUnknown(op_id, tool, reason, fence=fence, next_step=next_step))
        case InProgress(op_id, owner):
            raise _latched(slot, OutcomeUnknown(op_id, intent.record.tool, f"{owner} is at it"))


def _denied(
    outcome: Denied | Abandoned | RevisionMoved, tool: str, where: Mapping[str, Any], told: dict[str, str]
) -> EffectDenied:
    match outcome:
        case Denied(_, reason, lasting):
            return EffectDenied(f"effect {tool!r} is denied: {reason}", **where, details=told, retryable=not lasting)
        case Abandoned(_, reason):
            return EffectDenied(f"effect {tool!r} was abandoned: {reason}", **where, details=told)
        case RevisionMoved(_, approved, present):
            seen = {"approved": approved or "", "present": present or ""}
            why = f"it acts on revision {approved or '(none)'}, and its target is at {present or '(none)'}"
            return EffectStale(f"effect {tool!r} is denied: {why}", **where, details={**told, **seen})


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


def answered(slot: Slot, question: str) -> tuple[Approved, Principal] | None:
    """The answer to ``question`` that the graph's task holds, and who gave it: never a name that the answer itself claims."""
    held: Any = getattr(getattr(slot, "base", None), "answers", {}).get(question)
    if held is None:
        return None
    given, by, roles = held[0], held[2] if len(held) > 2 else "", held[3] if len(held) > 3 else ()
    who = Principal(by or "unnamed", tuple(roles))
    if isinstance(given, Approved):
        return given, who
    return Approved(given is True or given in ("yes", "y", "approve", "approved"), by), who


def _question(slot: Slot, kit: Kit, intent: Intent[Any, Any], waiting: AwaitingApproval) -> Question:
    where = {**_where(slot), "id": _approval_id(slot, kit, intent)}
    return approval_question(intent.record, waiting.binding, waiting.role, waiting.count, **where)


def _where(slot: Slot) -> dict[str, Any]:
    base = getattr(slot, "base", None)
    return {
        "node": slot.node,
        "ns": getattr(base, "ns", ""),
        "checkpoint": getattr(base, "checkpoint", ""),
        "task": getattr(slot, "id", ""),
    }


def _record(
    slot: Slot,
    kit: Kit,
    intent: Intent[Any, Any],
    waiting: AwaitingApproval,
    given: tuple[Approved, Principal],
) -> None:
    """Write a person's answer down as an approval of exactly this operation: one record for question and ledger."""
    question, (answer, who) = _approval_id(slot, kit, intent), given

    def work(tx: EffectTx) -> None:
        state, now = load(tx, intent.op_id), tx.now()
        approval = Approval(question, waiting.binding, who, role=waiting.role, granted=answer.granted, granted_at=now)
        write(tx, state, (ev.ApprovalGranted(intent.op_id, now, approval),))

    kit.journal.transact(work)


def _from_record(slot: Slot, kit: Kit, intent: Intent[Any, R]) -> Outcome[R]:
    """The recorded outcome. Raises: ReplayGap, where there is none, or one of other arguments."""
    state = kit.journal.read(lambda tx: load(tx, intent.op_id))
    if not isinstance(state, (*st.TERMINAL, st.Refused)):
        why = f"the record has no outcome of operation {intent.op_id}: it is {st.name_of(state)}"
        raise gap(slot, why, intended(intent, kit.rules(intent), state, slot.node, why))
    if state.facts.intent.args_hash != intent.args_hash:
        why = f"operation {intent.op_id} is recorded with other arguments: {state.facts.intent.args!r:.200}"
        raise gap(slot, why, intended(intent, kit.rules(intent), state, slot.node, why))
    return outcome_of(state, intent, None)


# What people decide about unknown outcomes, and about forks


def _ruled(slot: Slot, kit: Kit, intent: Intent[Any, Any]) -> None:
    """Write down what a person decided about the newest attempt, unless the ledger has found out meanwhile."""
    answers: dict[str, list[Any]] = getattr(getattr(slot, "base", None), "answers", {})
    seen = kit.journal.read(lambda tx: load(tx, intent.op_id))
    if not isinstance(seen, st.Unknown):
        return
    facts = seen.facts
    held = answers.get(recovery_id(slot.run.lineage, slot.step_key, slot.visit, intent.op_id, facts.fence))
    if held is None or (ruling := ruling_of(held[0])) is None:
        return
    by, why = held[2] or "unnamed", "answered where the run asked"

    def work(tx: EffectTx) -> None:
        state = load(tx, intent.op_id)
        if isinstance(state, st.Unknown) and state.facts.fence == facts.fence:
            version = state.facts.version
            write(tx, state, (ev.OperatorDecided(intent.op_id, tx.now(), version, ruling, by, why),))

    kit.journal.transact(work)


def forked(slot: Slot, intent: Intent[Any, Any], state: State, conflict: OperationConflict) -> Intent[Any, Any]:
    """What to go on with where this very place of the lineage has planned the operation with other arguments.

    Raises: ``conflict``, if it is another place (two things under one key), or a fork is forbidden; GraphInterrupt, latched,
    if a person is to say.
    """
    record = intent.record
    if isinstance(state, st.Unplanned):
        raise conflict
    held = state.facts.intent
    same = (held.lineage, held.step_key, held.occurrence, held.tool)
    if same != (record.lineage, record.step_key, record.occurrence, record.tool):
        raise conflict
    mode = getattr(intent.effect, "on_fork", "ask")
    if mode == "ask":
        mode = _fork_answer(slot, intent, held)
    match mode:
        case "new":
            op_id = f"{record.op_id[:180]}~{record.args_hash[:12]}"
            key = idempotency_key(record.scope, op_id)
            return Intent(
                replace(record, op_id=op_id, idempotency_key=key, forked_from=record.op_id),
                intent.effect,
                intent.command,
            )
        case "recorded":
            return Intent(held, intent.effect, intent.effect.read_command(held.args))
        case _:
            raise conflict


def _fork_answer(slot: Slot, intent: Intent[Any, Any], held: IntentRecord) -> str:
    record = intent.record
    qid = id_of(slot.run.lineage, slot.step_key, slot.visit, f"fork\x1f{record.op_id}\x1f{record.args_hash}")
    answer: Any = getattr(getattr(slot, "base", None), "answers", {}).get(qid)
    if answer is not None and answer[0] in ("new", "recorded", "forbid"):
        return str(answer[0])
    question = Question(
        value={
            "effect": record.tool,
            "op_id": record.op_id,
            "recorded": held.args,
            "now": record.args,
            "answers": ["new", "recorded", "forbid"],
        },
        id=qid,
        name=f"{record.tool} with other arguments",
        kind="effect_fork",
        answer_type="str",
        digest=record.args_hash[:32],
        details={"op_id": record.op_id},
        **_where(slot),
    )
    raise _latched(slot, GraphInterrupt((question,)))
