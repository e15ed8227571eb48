"""The order of steps by which an operation is performed or reconciled, written once for both drivers.

Each function is a generator: it yields what is to be done and is sent what came of it. It never calls a provider itself.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar, final

from msgspec.structs import replace

from lawful.core.clock import Clock
from lawful.core.errors import EffectRefused, Failure, StoreError, ValidationError
from lawful.effects import events as ev
from lawful.effects import states as st
from lawful.effects.capability import Conclusion, Found, Seen
from lawful.effects.contract import EffectContext, Intent
from lawful.effects.intents import IntentRecord, idempotency_key
from lawful.effects.log import claim_of, load, read_events, write
from lawful.effects.moves import (
    Claimant,
    Move,
    Reply,
    Settled,
    Taken,
    Unsettled,
    Waiting,
    claim,
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
from lawful.effects.states import State
from lawful.effects.telling import outcome_of
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


@final
@dataclass(frozen=True)
class Ended:
    """How a call ended."""

    value: Any = None
    error: BaseException | None = None
    cause: str = ""
    """With no error: "timeout", "cancel", or "not_started" where it was cancelled before it began."""
    stop: bool = False
    """The worker is being torn down: settle, and do nothing more."""


Step: TypeAlias = Do | Call[Any, Any] | Look[Any, Any]
Steps: TypeAlias = Generator[Step, Any, R]


class Kit:
    """What performing needs: the journal, the clock, the policy, and who claims."""

    __slots__ = ("claimant", "clock", "journal", "policy")

    def __init__(self, journal: Journal, clock: Clock, policy: Policy | None, claimant: Callable[[], Claimant]) -> None:
        self.journal = journal
        self.clock = clock
        self.policy = policy
        self.claimant = claimant

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
                    # The claim stands, so whoever comes next looks the effect up: as if we had died before writing.
                    return Unknown(record.op_id, f"what came of it could not be written down: {error.message}")
                if isinstance(state, st.Succeeded) and ended.error is None and not ended.cause:
                    return Succeeded(ended.value, record.op_id)
                if ended.stop or not isinstance(state, st.Unknown):
                    return outcome_of(state, intent, None)
            case Unsettled():
                outcome, again = yield from settle_unknown(kit, intent)
                if not again:
                    return outcome
            case Waiting() | Settled():
                return outcome_of(state, intent, move, rules)


def plan(kit: Kit, intent: Intent[C, R]) -> Steps[State]:
    """Write the intent down, without claiming it."""
    record = _recorded(kit, intent, kit.rules(intent))

    def work(tx: EffectTx) -> State:
        state = load(tx, record.op_id)
        return write(tx, state, join(state, record, tx.now()))

    return (yield Do(lambda: kit.journal.transact(work)))


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

    def work(tx: EffectTx) -> tuple[State, Move]:
        now = tx.now()
        state = load(tx, record.op_id)
        state = write(tx, state, join(state, record, now))
        events, move = claim(state, rules, own, who, now)
        return write(tx, state, events), move

    return kit.journal.transact(work)


def _context(kit: Kit, record: IntentRecord, fence: int, deadline: float, version: int) -> EffectContext:
    op_id = record.op_id

    def current() -> bool:
        row = kit.journal.read(lambda tx: tx.operation(op_id))
        return row is not None and (row.version == version or _ours(kit, op_id, fence))

    return EffectContext(record, fence=fence, send_deadline=deadline, clock=kit.clock, current=current)


def _ours(kit: Kit, op_id: str, fence: int) -> bool:
    """Whether attempt ``fence`` is still the one in flight, though other facts came in."""
    state = kit.journal.read(lambda tx: load(tx, op_id))
    return isinstance(state, st.InFlight) and state.facts.fence == fence


def _settle(kit: Kit, intent: Intent[Any, Any], fence: int, ended: Ended) -> State:
    """Write down how attempt ``fence`` ended."""
    reply = reply_of(intent, ended)

    def work(tx: EffectTx) -> State:
        state = load(tx, intent.op_id)
        return write(tx, state, settle(state, fence, reply, tx.now()))

    return kit.journal.transact(work)


def reply_of(intent: Intent[Any, Any], ended: Ended) -> Reply:
    """How a call ended, as a fact: only EffectRefused, or never having begun, says that nothing happened."""
    match ended:
        case Ended(error=EffectRefused() as error):
            return Reply("refused", None, error.details.get("code", error.code), error.message, error.retryable)
        case Ended(error=BaseException() as error):
            said = error.message if isinstance(error, Failure) else str(error)
            cause = "timeout" if isinstance(error, TimeoutError) else "exception"
            return Reply("lost", None, cause, f"{type(error).__name__}: {said}"[:500].encode(errors="replace").decode())
        case Ended(cause="not_started"):
            return Reply("refused", None, "not_sent", "cancelled before it began", True)
        case Ended(cause="", value=value):
            return Reply("receipt", receipt_of(intent, value, "reply"))
        case _:
            return Reply("lost", None, ended.cause)


def receipt_of(intent: Intent[Any, Any], value: Any, source: Any) -> st.Receipt:
    """The receipt as it is written down; what cannot be is lost, never the fact that it happened."""
    try:
        return st.Receipt(intent.effect.identify(value), source, intent.effect.told_receipt(value))
    except ValidationError:
        return st.Receipt("", source, None, True)


# Reconciling


def settle_unknown(kit: Kit, intent: Intent[C, R]) -> Steps[tuple[Outcome[R], bool]]:
    """Find out what became of an earlier attempt; never sends.

    Gives the outcome, and whether the operation may be claimed (again) at once.
    """
    state: State = yield Do(lambda: _unclaim(kit, intent.op_id))
    if not isinstance(state, st.Unknown):
        return outcome_of(state, intent, None), isinstance(state, (st.Granted, st.Refused))
    asked_at = kit.journal.read(lambda tx: tx.now())
    seen: Seen[R] | None = None
    if intent.effect.looks:
        ctx = EffectContext(
            state.facts.intent, fence=0, send_deadline=float("-inf"), clock=kit.clock, current=lambda: False
        )
        seen = yield Look(intent, ctx)
    held = state.facts.version
    state, concluded = yield Do(lambda: _conclude(kit, intent, seen, asked_at, held), retry=True)
    outcome = outcome_of(state, intent, None, concluded=concluded)
    if isinstance(state, st.Succeeded) and isinstance(seen, Found):
        outcome = Succeeded(seen.receipt, intent.op_id, True)
    return outcome, isinstance(state, (st.Granted, st.Refused))


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
    state, claimed, now = kit.journal.read(
        lambda tx: (load(tx, op_id), claim_of(read_events(tx.events(op_id))), tx.now())
    )
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
