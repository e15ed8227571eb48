"""The order of steps by which an operation is performed or reconciled, written once for both drivers.

Each function is a generator: it yields what is to be done and is sent what came of it. It never calls a provider itself.
"""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec.structs import replace

from lawful.core.errors import InvalidTransition, StoreError, ValidationError
from lawful.effects import states as st
from lawful.effects.aggregates import tool_of, total
from lawful.effects.capability import Found, Seen, Unavailable
from lawful.effects.contract import EffectContext, Intent
from lawful.effects.intents import IntentRecord, idempotency_key
from lawful.effects.log import load, write
from lawful.effects.marks import doubted, frozen
from lawful.effects.moves import (
    Held,
    Move,
    Moved,
    Present,
    Settled,
    Taken,
    Unread,
    Unsettled,
    Waiting,
    claim,
    join,
)
from lawful.effects.outcomes import (
    Denied,
    Outcome,
    Succeeded,
    Unknown,
)
from lawful.effects.policy import Policy
from lawful.effects.reconciling import looking, settle_reply, settle_unknown
from lawful.effects.replies import Ended, redacted, reply_of
from lawful.effects.spool import Spooled
from lawful.effects.states import State
from lawful.effects.steps import Call, Do, Kit, Look, Steps
from lawful.effects.telling import outcome_of
from lawful.effects.witness import Looked, Newest, witness_of
from lawful.journal.port import EffectTx

C = TypeVar("C")
R = TypeVar("R")


# Performing


def execute(kit: Kit, intent: Intent[C, R]) -> Steps[Outcome[R]]:
    """Plan, claim, call, settle; an unsettled earlier attempt is reconciled first, and sent again only where that is safe."""
    rules = kit.rules(intent)
    record = _recorded(kit, intent, rules)
    unread = Present(read=False) if intent.effect.reads_revision else None
    present = unread
    while True:
        before = kit.clock.monotonic()
        state, move = yield Do(lambda present=present: _begin(kit, intent, record, rules, present))
        result: Move = move
        present = unread
        match result:
            case Taken(fence):
                ctx = _context(kit, state.facts.intent, fence, before + record.send_budget, state.facts.version)
                ended_as = yield from _attempted(kit, intent, ctx)
                if ended_as is not None:
                    return ended_as
            case Unsettled():
                outcome, again = yield from settle_unknown(kit, intent)
                if not again:
                    return outcome
            case Unread():
                seen: Seen[str | None] = yield Look(intent, looking(kit, record, 0), at="revision")
                if isinstance(seen, Unavailable):
                    why = redacted(intent, seen.reason)
                    return Denied(record.op_id, f"its target's revision cannot be read: {why}", lasting=False)
                assert isinstance(seen, Found)
                present = Present(seen.receipt)
            case Waiting() | Held() | Moved() | Settled():
                return outcome_of(state, intent, move, rules)


def _attempted(kit: Kit, intent: Intent[C, R], ctx: EffectContext) -> Steps[Outcome[R] | None]:
    """Perform what is claimed and write its end down; None where it is to be found out first how it ended."""
    op_id, fence = intent.op_id, ctx.fence
    ended: Ended = yield Call(intent, ctx, lambda ended: _settle(kit, intent, fence, ended))
    try:
        state: State = yield Do(lambda: _settle(kit, intent, fence, ended), retry=True)
    except StoreError as error:
        # The claim stands, so whoever comes next takes the outcome from the spool, or looks the effect up.
        kit.spool.keep(Spooled(kit.journal.scope, op_id, fence, reply_of(intent, ended)))
        return Unknown(op_id, f"what came of it could not be written down: {error.message}")
    if isinstance(state, st.Succeeded) and ended.error is None and not ended.cause:
        return Succeeded(ended.value, op_id)
    return outcome_of(state, intent, None) if ended.stop or not isinstance(state, st.Unknown) else None


def plan(kit: Kit, intent: Intent[C, R]) -> Steps[State]:
    """Write the intent down, without claiming it."""
    record = _recorded(kit, intent, kit.rules(intent))

    def work(tx: EffectTx) -> State:
        return _joined(tx, record)

    return (yield Do(lambda: kit.journal.transact(work)))


def _joined(tx: EffectTx, record: IntentRecord) -> State:
    """Plan it, or take part in it.

    Raises: OperationConflict, OperationExists; InvalidTransition for a compensation of what has not happened.
    """
    state = load(tx, record.op_id)
    if isinstance(state, st.Unplanned) and record.compensates is not None:
        undone = load(tx, record.compensates)
        if not isinstance(undone, (st.Succeeded, st.Conflicted)):
            raise InvalidTransition(
                f"{record.compensates} stands at {st.name_of(undone)}: only what has happened can be compensated",
                component=record.tool,
                operation="compensate",
                details={"op_id": record.compensates, "state": st.name_of(undone)},
            )
    return write(tx, state, join(state, record, tx.now()))


def totals_of(tx: EffectTx, rules: Policy, record: IntentRecord, now: float) -> dict[str, float]:
    """The figures that the policy reads, as this transaction sees them."""
    found: dict[str, float] = {}
    for each in rules.reads:
        labels = {each.by: record.labels[each.by]} if each.by and each.by in record.labels else None
        rows = tx.operations(tool=tool_of(each, record), labels=labels, since=now - each.window)
        found[each.name] = total(each, record, rows, now)
    return found


def _recorded(kit: Kit, intent: Intent[Any, Any], rules: Policy) -> IntentRecord:
    record = intent.record
    if not record.scope:
        scope = kit.journal.scope
        record = replace(record, scope=scope, idempotency_key=idempotency_key(scope, record.op_id))
    elif record.scope != kit.journal.scope:
        raise ValidationError(
            f"the intent was planned for scope {record.scope!r}, the journal is of {kit.journal.scope!r}",
            component=record.tool,
            operation="execute",
        )
    return replace(record, policy=rules.id, policy_hash=rules.hash)


def _begin(
    kit: Kit, intent: Intent[Any, Any], record: IntentRecord, rules: Policy, present: Present | None = None
) -> tuple[State, Move]:
    """Plan and claim in one durable transaction, as far as that goes now."""
    who = kit.claimant()
    own = intent.effect.judge(intent.command)
    witness = witness_of(kit.journal)
    looked: Looked | None = None
    claimed: Newest | None = None

    def work(tx: EffectTx) -> tuple[State, Move]:
        nonlocal looked, claimed
        claimed, now = None, tx.now()
        looked = witness.look(kit.journal, tx, kit.clock, looked.lost if looked is not None else None)
        if looked is not None and not looked.sure:
            return st.Unplanned(), Settled()
        state = doubted(tx, record.op_id, _joined(tx, record))
        totals = totals_of(tx, rules, record, now) if rules.reads else None
        events, move = claim(state, rules, own, who, now, totals, present)
        if isinstance(move, (Taken, Unread)) and (why := _barred(kit, tx, record)) is not None:
            return state, Held(why)
        state = write(tx, state, events)
        if isinstance(move, Taken):
            claimed = witness.claimed(tx, record.op_id)
        return state, move

    begun = kit.journal.transact(work)
    if looked is not None and not looked.sure:
        begun = kit.journal.transact(work)
    witness.committed(looked, claimed)
    return begun


def _barred(kit: Kit, tx: EffectTx, record: IntentRecord) -> str | None:
    if not kit.performs:
        return "this worker may plan and look, not perform: give the operation to the coordinator"
    return frozen(tx, record)


def _context(kit: Kit, record: IntentRecord, fence: int, deadline: float, version: int) -> EffectContext:
    op_id = record.op_id

    def current() -> str | None:
        row, stopped = kit.journal.read(lambda tx: (tx.operation(op_id), frozen(tx, record)))
        if row is None or not (row.version == version or _ours(kit, op_id, fence)):
            return "the operation has moved on without this attempt"
        return stopped

    return EffectContext(record, fence=fence, send_deadline=deadline, clock=kit.clock, current=current)


def _ours(kit: Kit, op_id: str, fence: int) -> bool:
    """Whether attempt ``fence`` is still the one in flight, though other facts came in."""
    state = kit.journal.read(lambda tx: load(tx, op_id))
    return isinstance(state, st.InFlight) and state.facts.fence == fence


def _settle(kit: Kit, intent: Intent[Any, Any], fence: int, ended: Ended) -> State:
    """Write down how attempt ``fence`` ended."""
    return settle_reply(kit, intent.op_id, fence, reply_of(intent, ended))
