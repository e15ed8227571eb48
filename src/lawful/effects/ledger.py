"""`Ledger`: the view of a journal that plans, performs, reconciles and explains operations."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, ref

from msgspec import Struct

from lawful.core.clock import SYSTEM, Clock
from lawful.core.errors import StaleEvidence, ToolError, nearest
from lawful.core.questions import Principal
from lawful.effects import events as ev
from lawful.effects import states as st
from lawful.effects.contract import Intent, Performer
from lawful.effects.drive import no_loop_here, run_async, run_sync
from lawful.effects.events import Event, Ruling
from lawful.effects.evidence import Approval, Evidence, approval_stale, evidence_stale
from lawful.effects.log import load, read_events, write
from lawful.effects.moves import Claimant, matter_of
from lawful.effects.outcomes import Outcome
from lawful.effects.policy import OPEN, Finding, Policy, Verdict, joined
from lawful.effects.protocol import Kit, execute, plan, settle_unknown
from lawful.effects.states import OPEN as OPEN_STATES
from lawful.effects.states import State, name_of
from lawful.journal.leases import Held, keeper, owner_of
from lawful.journal.port import EffectTx, Journal
from lawful.journal.records import Lease, Operation

C = TypeVar("C")
R = TypeVar("R")

LEASE = 30.0
"""Seconds after which a claim may be reconciled though its claimant may still be alive."""


class Explanation(Struct, frozen=True):
    """Where an operation stands and why."""

    op_id: str
    tool: str
    state: str
    version: int
    args: Any
    revision: str | None
    verdict: Verdict
    """What the policy says now."""
    findings: tuple[Finding, ...]
    """One for each conjunct, stale evidence and approvals with their reasons."""
    stale: tuple[str, ...]
    """Every piece of evidence and every approval that does not count, asked for or not."""
    attempts: int
    seen: str
    """What the newest look-up reported."""
    next_step: str
    """The one thing that can be done, in words."""


class Presence:
    """The journal lease by which others can tell whether this process's claims may still be at work."""

    def __init__(self, journal: Journal, token: str) -> None:
        self._journal = journal
        self._token = token
        self._lock = threading.Lock()
        self._held: Held | None = None
        self._owner = ""
        self._pid = 0

    def claimant(self) -> Claimant:
        """Who we are; the lease is taken at the first claim and renewed while the ledger lives."""
        with self._lock:
            if self._pid != os.getpid() or self._held is None or self._held.lost:
                self._take()
            fence = self._held.lease.fence if self._held is not None else 0
            return Claimant(self._owner, LEASE, self._thread if self._held is not None else "", fence)

    def _take(self) -> None:
        self._pid = os.getpid()
        self._owner = owner_of(self._token)
        self._thread = f"effects {self._owner}"
        got = self._journal.acquire(self._thread, self._owner, LEASE)
        self._held = keeper.hold(self._journal, got, LEASE) if isinstance(got, Lease) else None


_presences: WeakKeyDictionary[Journal, ref[Presence]] = WeakKeyDictionary()
_presences_lock = threading.Lock()


def presence(journal: Journal, clock: Clock) -> Presence:
    """This process's presence in ``journal``: one for all ledgers that live over the same handle.

    It lasts as long as someone holds it; the lease is left to expire then.
    """
    with _presences_lock:
        known = _presences.get(journal)
        found = known() if known is not None else None
        if found is None:
            found = Presence(journal, clock.token())
            _presences[journal] = ref(found)
        return found


class Ledger:
    """Operations of one scope of a journal.

    ``policy`` is asked about every operation, beside the effect's own. ``effects`` are those that can be looked up by
    their operation's id alone. Sync and async forms run the same steps.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        clock: Clock = SYSTEM,
        policy: Policy | None = None,
        effects: Sequence[Performer[Any, Any]] = (),
        claimant: Callable[[], Claimant] | None = None,
    ) -> None:
        self.journal = journal
        self._policy = policy
        self._effects = {effect.tool: effect for effect in effects}
        self.kit = Kit(journal, clock, policy, claimant or presence(journal, clock).claimant)

    # Performing

    async def execute(self, intent: Intent[C, R]) -> Outcome[R]:
        """Plan, claim, call and settle; every way in which that can end is a value.

        Raises: OperationConflict, OperationExists, and StoreError where the journal fails.
        """
        return await run_async(self.journal, execute(self.kit, intent))

    def execute_sync(self, intent: Intent[C, R]) -> Outcome[R]:
        """As `execute`. Raises also: ConfigurationError for an async effect where an event loop runs in this thread."""
        self._may_block(intent)
        return run_sync(execute(self.kit, intent))

    def plan(self, intent: Intent[C, R]) -> str:
        """Write the intent down, durably, without claiming it; gives the operation's id."""
        run_sync(plan(self.kit, intent))
        return intent.op_id

    async def reconcile(self, op: str | Intent[Any, Any]) -> Outcome[Any]:
        """Find out what became of an operation; never sends.

        Raises: ToolError, if ``op`` is an id whose effect this ledger was not given or that was never planned.
        """
        outcome, _ = await run_async(self.journal, settle_unknown(self.kit, self.intent(op)))
        return outcome

    def reconcile_sync(self, op: str | Intent[Any, Any]) -> Outcome[Any]:
        """As `reconcile`."""
        intent = self.intent(op)
        self._may_block(intent)
        outcome, _ = run_sync(settle_unknown(self.kit, intent))
        return outcome

    def intent(self, op: str | Intent[Any, Any]) -> Intent[Any, Any]:
        """The intent of a planned operation, as it was written down. Raises: ToolError, ValidationError."""
        if isinstance(op, Intent):
            return op
        record = self._facts(op).intent
        effect = self._effects.get(record.tool)
        if effect is None:
            raise ToolError(
                f"operation {op} belongs to effect {record.tool!r}, which this ledger was not given: Ledger(...,"
                f" effects=[...]).{nearest(record.tool, self._effects)}",
                component="effects",
                operation="reconcile",
                details={"op_id": op, "tool": record.tool},
            )
        return Intent(record, effect, effect.read_command(record.args))

    def _may_block(self, intent: Intent[Any, Any]) -> None:
        if intent.effect.needs_loop:
            no_loop_here(f"effect {intent.effect.tool!r}")

    # Authority

    def add_evidence(self, op_id: str, evidence: Evidence) -> None:
        """Attach ``evidence``. Raises: StaleEvidence, if it is about another revision or has expired; ToolError."""

        def fact(facts: st.Facts, now: float) -> Event:
            _refuse_stale(evidence_stale(evidence, facts.intent, now), op_id)
            return ev.EvidenceAdded(op_id, now, evidence)

        self._append(op_id, fact)

    def approve(self, op_id: str, approval: Approval) -> None:
        """Attach ``approval`` (yes or no). Raises: StaleEvidence, if it is bound to something else or expired; ToolError."""

        def fact(facts: st.Facts, now: float) -> Event:
            _refuse_stale(approval_stale(approval, facts.intent, now), op_id)
            return ev.ApprovalGranted(op_id, now, approval)

        self._append(op_id, fact)

    def revoke(self, op_id: str, approval_id: str, *, by: Principal | None = None) -> None:
        """Take an approval back: it stops every claim from now on, not a call under way. Raises: InvalidTransition."""
        who = by.id if by is not None else ""
        self._append(op_id, lambda _, now: ev.ApprovalRevoked(op_id, now, approval_id, who))

    def cancel(self, op_id: str, *, reason: str, by: Principal | None = None) -> None:
        """Withdraw an operation of which nothing was sent. Raises: InvalidTransition."""
        who = by.id if by is not None else ""
        self._append(op_id, lambda _, now: ev.Cancelled(op_id, now, reason, who))

    def resolve(self, op_id: str, *, expected_version: int, decision: Ruling, by: Principal, reason: str) -> str:
        """Let a person settle an unknown outcome; gives the new state's name.

        Raises: InvalidTransition, if the operation is not unknown or no longer at ``expected_version``.
        """
        return name_of(
            self._append(
                op_id, lambda _, now: ev.OperatorDecided(op_id, now, expected_version, decision, by.id, reason)
            )
        )

    def _append(self, op_id: str, fact: Callable[[st.Facts, float], Event]) -> State:
        def work(tx: EffectTx) -> State:
            state = load(tx, op_id)
            if isinstance(state, st.Unplanned):
                raise _not_planned(op_id)
            return write(tx, state, (fact(state.facts, tx.now()),))

        return self.journal.transact(work)

    # Reading

    def state(self, op_id: str) -> State:
        """Where the operation stands: the fold of its events. Raises: CorruptRecord."""
        return self.journal.read(lambda tx: load(tx, op_id))

    def events(self, op_id: str) -> tuple[Event, ...]:
        """Its events in order, their chain verified. Raises: CorruptRecord."""
        return self.journal.read(lambda tx: read_events(tx.events(op_id)))

    def unresolved(self, *, thread: str | None = None) -> tuple[Operation, ...]:
        """Operations whose effect may have happened unseen, oldest first."""
        return self.journal.read(lambda tx: tuple(tx.operations(states=OPEN_STATES, thread=thread)))

    def verify(self, op_id: str) -> bool:
        """Whether the listed row is what the events fold to. Raises: CorruptRecord, if the events themselves are broken."""

        def work(tx: EffectTx) -> bool:
            row, state = tx.operation(op_id), load(tx, op_id)
            if row is None or isinstance(state, st.Unplanned):
                return row is None and isinstance(state, st.Unplanned)
            return (row.state, row.version, row.args_hash) == (
                name_of(state),
                state.facts.version,
                state.facts.intent.args_hash,
            )

        return self.journal.read(work)

    def explain(self, op_id: str, policy: Policy | None = None) -> Explanation:
        """Why an operation stands where it does, each conjunct of its policy with what it found. Raises: ToolError."""
        now = self.journal.read(lambda tx: tx.now())
        state = self.state(op_id)
        facts = self._facts(op_id)
        effect = self._effects.get(facts.intent.tool)
        own = effect.rules if effect is not None else None
        rules = policy or (own.joined_with(self._policy) if own is not None else self._policy) or OPEN
        matter = matter_of(facts, rules, now)
        findings = rules.explain(matter)
        old = [evidence_stale(each, matter.intent, now) for each in facts.evidence]
        old += [approval_stale(each, matter.intent, now) for each in facts.approvals]
        return Explanation(
            op_id=op_id,
            tool=facts.intent.tool,
            state=name_of(state),
            version=facts.version,
            args=facts.intent.args,
            revision=facts.intent.revision,
            verdict=joined(finding.verdict for finding in findings),
            findings=findings,
            stale=tuple(why for why in old if why is not None),
            attempts=len(facts.attempts),
            seen=facts.seen,
            next_step=next_step(state),
        )

    def _facts(self, op_id: str) -> st.Facts:
        state = self.state(op_id)
        if isinstance(state, st.Unplanned):
            raise _not_planned(op_id)
        return state.facts


def next_step(state: State) -> str:
    """The one thing that can be done about an operation, in words."""
    match state:
        case st.Unplanned():
            return "plan it"
        case st.Planned():
            return "add what its policy asks for, then execute it"
        case st.Permitted() | st.Granted():
            return "execute it"
        case st.InFlight(facts):
            return f"wait for {facts.attempts[-1].owner}, or reconcile it once that is gone"
        case st.Unknown():
            return "reconcile it; if that stays without result, resolve it"
        case st.Refused(retryable=retryable):
            return "execute it again" if retryable else "nothing: it was refused"
        case st.Conflicted():
            return "look at the provider: what is known contradicts itself"
        case st.Succeeded() | st.Failed() | st.Cancelled() | st.Abandoned():
            return "nothing: it has ended"


def _refuse_stale(why: str | None, op_id: str) -> None:
    if why is not None:
        raise StaleEvidence(why, component="effects", operation="authority", details={"op_id": op_id})


def _not_planned(op_id: str) -> ToolError:
    return ToolError(f"no operation {op_id} was planned", component="effects", details={"op_id": op_id})
