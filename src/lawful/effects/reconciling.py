"""Finding out what became of an earlier attempt: claims of the dead made unknown, look-ups, and what they are concluded to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from lawful.effects import events as ev
from lawful.effects import states as st
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
from lawful.effects.intents import IntentRecord
from lawful.effects.log import claim_of, load, read_events, write
from lawful.effects.marks import doubted, quarantine
from lawful.effects.moves import Reply, history_of, reconcile, settle
from lawful.effects.outcomes import Outcome, Succeeded
from lawful.effects.replies import receipt_of, redacted
from lawful.effects.states import State
from lawful.effects.steps import Do, Kit, Look, Steps
from lawful.effects.telling import outcome_of
from lawful.journal.port import EffectTx
from lawful.journal.records import Lease

C = TypeVar("C")
R = TypeVar("R")


def settle_reply(kit: Kit, op_id: str, fence: int, reply: Reply) -> State:
    """Write a reply to attempt ``fence`` down."""

    def work(tx: EffectTx) -> State:
        state = load(tx, op_id)
        return write(tx, state, settle(state, fence, reply, tx.now()))

    return kit.journal.transact(work)


def settle_unknown(kit: Kit, intent: Intent[C, R]) -> Steps[tuple[Outcome[R], bool]]:
    """Find out what became of an earlier attempt; never sends.

    Gives the outcome, and whether the operation may be claimed (again) at once.
    """
    sought: Sought[R] = yield from seek(kit, intent)
    if sought.asked_at is None:
        return outcome_of(sought.state, intent, None), isinstance(sought.state, (st.Granted, st.Refused))
    state, concluded = yield Do(lambda: kit.journal.transact(lambda tx: conclude_in(tx, intent, sought)), retry=True)
    return told(intent, sought, state, concluded), isinstance(state, (st.Granted, st.Refused))


class Sought(Generic[R]):
    """What a look-up has seen, still to be written down; nothing where there was nothing to look for."""

    __slots__ = ("asked_at", "seen", "state")

    def __init__(self, state: State, seen: Seen[R] | None, asked_at: float | None) -> None:
        self.state = state
        """As it stood before the look-up."""
        self.seen = seen
        self.asked_at = asked_at
        """By the store's clock; None where the operation is not unknown."""


def seek(kit: Kit, intent: Intent[C, R]) -> Steps[Sought[R]]:
    """Make a claim unknown whose claimant is gone, and look an unknown operation up; never sends."""
    yield Do(lambda: despool(kit, intent.op_id))
    state, asked_at = yield Do(lambda: _unclaim(kit, intent.op_id))
    if not isinstance(state, st.Unknown):
        return Sought(state, None, None)
    record = state.facts.intent
    seen: Seen[R] | None = None
    if intent.effect.looks:
        seen = yield Look(intent, looking(kit, record, 0))
    if _to_be_fenced(state, seen, asked_at):
        seen = yield Look(intent, looking(kit, record, state.facts.fence), at="fence")
    if isinstance(seen, Unavailable):
        seen = Unavailable(redacted(intent, seen.reason))
    return Sought(state, seen, asked_at)


def told(intent: Intent[C, R], sought: Sought[R], state: State, concluded: Conclusion | None) -> Outcome[R]:
    """The outcome, once what was seen is written down."""
    if isinstance(state, st.Succeeded) and isinstance(sought.seen, Found):
        return Succeeded(sought.seen.receipt, intent.op_id, True)
    return outcome_of(state, intent, None, concluded=concluded)


def looking(kit: Kit, record: IntentRecord, fence: int) -> EffectContext:
    """The context of a look-up, which may send nothing that has an effect."""
    never = float("-inf")
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


def conclude_in(tx: EffectTx, intent: Intent[Any, R], sought: Sought[R]) -> tuple[State, Conclusion | None]:
    """Write down what was seen, unless the operation has moved on since."""
    before, seen, asked_at = sought.state, sought.seen, sought.asked_at
    assert isinstance(before, st.Unknown)
    assert asked_at is not None
    receipt = receipt_of(intent, seen.receipt, "lookup") if isinstance(seen, Found) else None
    state = load(tx, intent.op_id)
    if not isinstance(state, st.Unknown) or state.facts.version != before.facts.version:
        return state, None
    events, concluded = reconcile(state, seen, asked_at, receipt, tx.now())
    return write(tx, state, events), concluded


def _unclaim(kit: Kit, op_id: str) -> tuple[State, float]:
    """Where the operation stands, a claim being made unknown if its claimant is gone or its lease is over; and the time."""
    state, claimed, now, doubt = kit.journal.read(
        lambda tx: (load(tx, op_id), claim_of(read_events(tx.events(op_id))), tx.now(), quarantine(tx))
    )
    if doubt is not None:
        state = kit.journal.transact(lambda tx: doubted(tx, op_id, load(tx, op_id)))
    event = overdue(state, claimed, now, lambda claim: gone(kit, claim))
    if event is None:
        return state, now

    def work(tx: EffectTx) -> State:
        held = load(tx, op_id)
        return write(tx, held, (event,)) if held == state else held

    return kit.journal.transact(work), now


def overdue(
    state: State, claimed: ev.Claimed | None, now: float, dead: Callable[[ev.Claimed], bool]
) -> ev.Event | None:
    """What makes a claim unknown whose lease is over or whose claimant is dead, or a grant void that nobody used; else None."""
    if isinstance(state, st.Granted) and state.valid_until is not None and now >= state.valid_until:
        return ev.RetryVoided(state.facts.op_id, now, "its time passed unused")
    if not isinstance(state, st.InFlight) or claimed is None:
        return None
    expired = now >= claimed.lease_until
    if not expired and not dead(claimed):
        return None
    cause = "lease_expired" if expired else "crash"
    return ev.OutcomeLost(state.facts.op_id, now, claimed.fence, cause, claimed.owner)


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
