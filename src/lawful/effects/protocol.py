"""The order of steps by which an operation is performed or reconciled, written once for both drivers.

Each function is a generator: it yields what is to be done and is sent what came of it. It never calls a provider itself.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar, final

from msgspec.structs import replace

from lawful.core.clock import Clock
from lawful.core.errors import InvalidTransition, StoreError, ValidationError
from lawful.effects import events as ev
from lawful.effects import states as st
from lawful.effects.aggregates import tool_of, total
from lawful.effects.capability import (
    AskOperator,
    Conclusion,
    Fence,
    Found,
    NotFound,
    Seen,
    Unavailable,
    Wait,
    conclude,
    promise,
)
from lawful.effects.contract import EffectContext, Intent
from lawful.effects.intents import IntentRecord, idempotency_key
from lawful.effects.log import claim_of, load, read_events, write
from lawful.effects.marks import doubted, frozen, quarantine
from lawful.effects.moves import (
    Claimant,
    Held,
    Move,
    Reply,
    Settled,
    Taken,
    Unsettled,
    Waiting,
    claim,
    history_of,
    join,
    reconcile,
    settle,
)
from lawful.effects.outcomes import (
    Outcome,
    Succeeded,
    Unknown,
)
from lawful.effects.policy import OPEN, Policy
from lawful.effects.replies import Ended, receipt_of, redacted, reply_of
from lawful.effects.spool import Spool, Spooled, spool_of
from lawful.effects.states import State
from lawful.effects.telling import outcome_of
from lawful.effects.witness import witness_of
from lawful.journal.port import EffectTx, Journal
from lawful.journal.records import Lease

C = TypeVar("C")
R = TypeVar("R")


@final
@dataclass(frozen=True)
class Do:
    """Work on the store: short, never to be broken off half-way."""

    work: Callable[[], Any]
    retry: bool = False
    """An outcome: worth several tries where the store is in trouble."""


@final
@dataclass(frozen=True)
class Call(Generic[C, R]):
    """Perform the effect; wants an `Ended`."""

    intent: Intent[C, R]
    ctx: EffectContext
    late: Callable[[Ended], object]
    """Takes the reply that comes after the driver has given up waiting."""


@final
@dataclass(frozen=True)
class Look(Generic[C, R]):
    """Look the effect up; wants what was seen, an error being `Unavailable`."""

    intent: Intent[C, R]
    ctx: EffectContext
    bar: bool = False
    """Fence earlier attempts off first."""


Step: TypeAlias = Do | Call[Any, Any] | Look[Any, Any]
Steps: TypeAlias = Generator[Step, Any, R]


class Kit:
    """What performing needs: the journal, the clock, the policy, who claims, and whether that one may perform at all."""

    __slots__ = ("claimant", "clock", "journal", "performs", "policy", "spool")

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        policy: Policy | None,
        claimant: Callable[[], Claimant],
        *,
        performs: bool = True,
        spool: Spool | None = None,
    ) -> None:
        self.journal = journal
        self.clock = clock
        self.policy = policy
        self.claimant = claimant
        self.performs = performs
        self.spool = spool if spool is not None else spool_of(journal)

    def rules(self, intent: Intent[Any, Any]) -> Policy:
        """The effect's policy and the ledger's, both."""
        own = intent.effect.rules
        if own is None:
            return self.policy if self.policy is not None else OPEN
        return own.joined_with(self.policy)


# Performing


def execute(kit: Kit, intent: Intent[C, R]) -> Steps[Outcome[R]]:
    """Plan, claim, call, settle; an unsettled earlier attempt is reconciled first, and sent again only where that is safe."""
    rules = kit.rules(intent)
    record = _recorded(kit, intent, rules)
    while True:
        before = kit.clock.monotonic()
        state, move = yield Do(lambda: _begin(kit, intent, record, rules))
        result: Move = move
        match result:
            case Taken(fence):
                ctx = _context(kit, state.facts.intent, fence, before + record.send_budget, state.facts.version)
                ended = yield Call(intent, ctx, lambda ended, fence=fence: _settle(kit, intent, fence, ended))
                try:
                    state = yield Do(lambda fence=fence, ended=ended: _settle(kit, intent, fence, ended), retry=True)
                except StoreError as error:
                    # The claim stands, so whoever comes next takes the outcome from the spool, or looks the effect up.
                    kit.spool.keep(Spooled(record.scope, record.op_id, fence, reply_of(intent, ended)))
                    return Unknown(record.op_id, f"what came of it could not be written down: {error.message}")
                if isinstance(state, st.Succeeded) and ended.error is None and not ended.cause:
                    return Succeeded(ended.value, record.op_id)
                if ended.stop or not isinstance(state, st.Unknown):
                    return outcome_of(state, intent, None)
            case Unsettled():
                outcome, again = yield from settle_unknown(kit, intent)
                if not again:
                    return outcome
            case Waiting() | Held() | Settled():
                return outcome_of(state, intent, move, rules)


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


def _begin(kit: Kit, intent: Intent[Any, Any], record: IntentRecord, rules: Policy) -> tuple[State, Move]:
    """Plan and claim in one durable transaction, as far as that goes now."""
    who = kit.claimant()
    own = intent.effect.judge(intent.command)
    witness = witness_of(kit.journal)
    number = 0
    if witness is not None:
        witness.look(kit.journal, kit.clock)

    def work(tx: EffectTx) -> tuple[State, Move]:
        nonlocal number
        number, now = 0, tx.now()
        state = doubted(tx, record.op_id, _joined(tx, record))
        events, move = claim(state, rules, own, who, now, totals_of(tx, rules, record, now) if rules.reads else None)
        if isinstance(move, Taken) and (why := _barred(kit, tx, record)) is not None:
            return state, Held(why)
        if isinstance(move, Taken) and witness is not None:
            number = witness.count(tx)
        return write(tx, state, events), move

    begun = kit.journal.transact(work)
    if witness is not None and number:
        witness.note(number)
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


def settle_reply(kit: Kit, op_id: str, fence: int, reply: Reply) -> State:
    """Write a reply to attempt ``fence`` down."""

    def work(tx: EffectTx) -> State:
        state = load(tx, op_id)
        return write(tx, state, settle(state, fence, reply, tx.now()))

    return kit.journal.transact(work)


# Reconciling


def settle_unknown(kit: Kit, intent: Intent[C, R]) -> Steps[tuple[Outcome[R], bool]]:
    """Find out what became of an earlier attempt; never sends.

    Gives the outcome, and whether the operation may be claimed (again) at once.
    """
    yield Do(lambda: despool(kit, intent.op_id))
    state: State = yield Do(lambda: _unclaim(kit, intent.op_id))
    if not isinstance(state, st.Unknown):
        return outcome_of(state, intent, None), isinstance(state, (st.Granted, st.Refused))
    asked_at = kit.journal.read(lambda tx: tx.now())
    seen: Seen[R] | None = None
    if intent.effect.looks:
        seen = yield Look(intent, _looking(kit, state, 0))
    if _to_be_fenced(state, seen, asked_at):
        seen = yield Look(intent, _looking(kit, state, state.facts.fence), bar=True)
    if isinstance(seen, Unavailable):
        seen = Unavailable(redacted(intent, seen.reason))
    held = state.facts.version
    state, concluded = yield Do(lambda: _conclude(kit, intent, seen, asked_at, held), retry=True)
    outcome = outcome_of(state, intent, None, concluded=concluded)
    if isinstance(state, st.Succeeded) and isinstance(seen, Found):
        outcome = Succeeded(seen.receipt, intent.op_id, True)
    return outcome, isinstance(state, (st.Granted, st.Refused))


def _looking(kit: Kit, state: st.Unknown, fence: int) -> EffectContext:
    record, never = state.facts.intent, float("-inf")
    return EffectContext(
        record, fence=fence, send_deadline=never, clock=kit.clock, current=lambda: "a look-up sends nothing"
    )


def _to_be_fenced(state: st.Unknown, seen: Seen[Any] | None, asked_at: float) -> bool:
    """Whether nothing else settles it and the provider can make its absence final."""
    capability = state.facts.intent.capability
    if promise(capability, Fence) is None or not isinstance(seen, (NotFound, Unavailable, type(None))):
        return False
    return isinstance(conclude(capability, history_of(state.facts), seen, asked_at), (Wait, AskOperator))


def despool(kit: Kit, op_id: str) -> None:
    """Write down what the journal would not take earlier. Raises: StoreError, if it still does not."""
    for each in kit.spool.of(kit.journal.scope, op_id):
        settle_reply(kit, op_id, each.fence, each.reply)
        kit.spool.drop((each,))


def _conclude(
    kit: Kit, intent: Intent[Any, Any], seen: Seen[Any] | None, asked_at: float, version: int
) -> tuple[State, Conclusion | None]:
    receipt = receipt_of(intent, seen.receipt, "lookup") if isinstance(seen, Found) else None

    def work(tx: EffectTx) -> tuple[State, Conclusion | None]:
        state = load(tx, intent.op_id)
        if not isinstance(state, st.Unknown) or state.facts.version != version:
            return state, None
        events, concluded = reconcile(state, seen, asked_at, receipt, tx.now())
        return write(tx, state, events), concluded

    return kit.journal.transact(work)


def _unclaim(kit: Kit, op_id: str) -> State:
    """Where the operation stands, a claim being made unknown if its claimant is gone or its lease is over."""
    state, claimed, now, doubt = kit.journal.read(
        lambda tx: (load(tx, op_id), claim_of(read_events(tx.events(op_id))), tx.now(), quarantine(tx))
    )
    if doubt is not None:
        state = kit.journal.transact(lambda tx: doubted(tx, op_id, load(tx, op_id)))
    if isinstance(state, st.Granted) and state.valid_until is not None and now >= state.valid_until:
        return _append(kit, op_id, state, lambda at: ev.RetryVoided(op_id, at, "its time passed unused"))
    if not isinstance(state, st.InFlight) or claimed is None:
        return state
    expired = now >= claimed.lease_until
    if not expired and not gone(kit, claimed):
        return state
    cause = "lease_expired" if expired else "crash"
    return _append(kit, op_id, state, lambda at: ev.OutcomeLost(op_id, at, claimed.fence, cause, claimed.owner))


def _append(kit: Kit, op_id: str, seen: State, event: Callable[[float], ev.Event]) -> State:
    """Add one event, unless the operation has moved on in between."""

    def work(tx: EffectTx) -> State:
        state = load(tx, op_id)
        return write(tx, state, (event(tx.now()),)) if state == seen else state

    return kit.journal.transact(work)


def gone(kit: Kit, claimed: ev.Claimed) -> bool:
    """Whether the claimant can be shown to be at work no longer: its journal lease is free, or ours by now."""
    who = kit.claimant()
    if not claimed.lease_thread:
        return False
    if claimed.lease_thread == who.lease_thread:
        return claimed.lease_fence < who.lease_fence
    got = kit.journal.acquire(claimed.lease_thread, who.owner, 1.0)
    if not isinstance(got, Lease):
        return False
    kit.journal.release(got)
    return True
