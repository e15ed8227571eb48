"""`Ledger`: the view of a journal that plans, performs, reconciles and explains operations."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

from msgspec.structs import replace

from lawful.core.clock import SYSTEM, Clock
from lawful.core.errors import ConfigurationError, ToolError, nearest
from lawful.core.questions import Principal
from lawful.effects import states as st
from lawful.effects.audit import Audit, Head, audit, checked, heads
from lawful.effects.authority import Authority
from lawful.effects.capability import Compensatable, promise
from lawful.effects.compare import Comparison, compare_policies
from lawful.effects.contract import Intent, Performer
from lawful.effects.drive import no_loop_here, run_async, run_sync
from lawful.effects.explaining import Explanation, explained
from lawful.effects.intents import IntentRecord, business_id, idempotency_key
from lawful.effects.log import load, read_events
from lawful.effects.marks import Freeze, Quarantine, freezes, frozen, quarantine, set_freezes, set_quarantine
from lawful.effects.moves import Claimant
from lawful.effects.outcomes import Outcome
from lawful.effects.policy import OPEN, Policy
from lawful.effects.presence import presence
from lawful.effects.protocol import execute, plan, totals_of
from lawful.effects.reconciling import settle_unknown
from lawful.effects.spool import Spool
from lawful.effects.states import OPEN as OPEN_STATES
from lawful.effects.steps import Kit
from lawful.journal.beside import sealer_of
from lawful.journal.port import EffectTx, Journal
from lawful.journal.records import Operation

C = TypeVar("C")
R = TypeVar("R")

_BEGUN = ("Planned", "Permitted", "InFlight", "Unknown", "Granted", "Refused")


class Ledger(Authority):
    """Operations of one scope of a journal.

    ``policy`` is asked about every operation, beside the effect's own. ``effects`` are those that can be looked up by
    their operation's id alone. With ``performs=False`` it is a worker's: it plans, looks and asks, and what it executes
    is planned and comes to `Denied`. ``spool`` is the folder for outcomes that the journal would not take; beside its file,
    if None. Sync and async forms run the same steps.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        clock: Clock = SYSTEM,
        policy: Policy | None = None,
        effects: Sequence[Performer[Any, Any]] = (),
        claimant: Callable[[], Claimant] | None = None,
        performs: bool = True,
        spool: str | os.PathLike[str] | None = None,
    ) -> None:
        self.journal = _journal(journal)
        self._policy = policy
        self._effects = {effect.tool: effect for effect in effects}
        who = claimant or presence(journal, clock).claimant
        kept = Spool(spool, sealer_of(journal)) if spool is not None else None
        self.kit = Kit(journal, clock, policy, who, performs=performs, spool=kept)

    def worker(self) -> Ledger:
        """The same ledger without the capability to perform: for those who propose what a coordinator carries out."""
        kit = self.kit
        return Ledger(
            self.journal,
            clock=kit.clock,
            policy=self._policy,
            effects=tuple(self._effects.values()),
            claimant=kit.claimant,
            performs=False,
            spool=kit.spool.folder,
        )

    # Performing

    async def execute(self, intent: Intent[C, R]) -> Outcome[R]:
        """Plan, claim, call and settle; every way in which that can end is a value.

        Raises: OperationConflict, OperationExists, and StoreError where the journal fails.
        """
        return await run_async(self.journal, execute(self.kit, _planned(intent, "execute")))

    def execute_sync(self, intent: Intent[C, R]) -> Outcome[R]:
        """As `execute`. Raises also: ConfigurationError for an async effect where an event loop runs in this thread."""
        self._may_block(_planned(intent, "execute"))
        return run_sync(execute(self.kit, intent))

    def plan(self, intent: Intent[C, R], *, requester: Principal | None = None) -> str:
        """Write the intent down, durably, without claiming it; gives the operation's id.

        ``requester`` is who asks for it, as the host authenticated them: a policy can exclude them from approving.
        """
        if requester is not None:
            _planned(intent, "plan")
            intent = Intent(replace(intent.record, requester=requester.id), intent.effect, intent.command)
        run_sync(plan(self.kit, _planned(intent, "plan")))
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

    def compensate(self, op_id: str, undo: Intent[C, R]) -> Intent[C, R]:
        """``undo`` as the one operation that compensates ``op_id``, whatever its arguments; nothing is written.

        ``undo`` is of the effect that the operation's capability names: ``Compensatable("refund")``. It can be planned once
        the operation has happened. Raises: ToolError.
        """
        facts = self._facts(op_id)
        promised = promise(facts.intent.capability, Compensatable)
        if promised is None or promised.undo != undo.record.tool:
            told = f"by {promised.undo!r}" if promised is not None else "by nothing"
            raise ToolError(
                f"operation {op_id} of effect {facts.intent.tool!r} is compensated {told}, not by {undo.record.tool!r}",
                component="effects",
                operation="compensate",
                details={"op_id": op_id},
            )
        name = business_id(undo.record.tool, f"undo {op_id}")
        key = idempotency_key(self.journal.scope, name)
        record = replace(undo.record, op_id=name, idempotency_key=key, compensates=op_id, scope=self.journal.scope)
        return Intent(replace(record, key=f"undo {op_id}"), undo.effect, undo.command)

    def intent(self, op: str | Intent[Any, Any]) -> Intent[Any, Any]:
        """The intent of a planned operation, as it was written down. Raises: ToolError, ValidationError."""
        if isinstance(op, Intent):
            return op
        record = self._facts(op).intent
        effect = self._effects.get(record.tool)
        told = {"op_id": op, "tool": record.tool}
        if effect is None:
            raise ToolError(
                f"operation {op} belongs to effect {record.tool!r}, which this ledger was not given: Ledger(...,"
                f" effects=[...]), or at a terminal --effects module:name.{nearest(record.tool, self._effects)}",
                component="effects",
                operation="reconcile",
                details=told,
            )
        if record.secrets:
            raise ToolError(
                f"operation {op} needs {', '.join(record.secrets)}, which no record holds: give its intent, not its id",
                component="effects",
                operation="reconcile",
                details=told,
            )
        return Intent(record, effect, effect.read_command(record.args))

    def _may_block(self, intent: Intent[Any, Any]) -> None:
        if intent.effect.needs_loop:
            no_loop_here(f"effect {intent.effect.tool!r}")

    # For a whole scope

    def freeze(self, pattern: str, *, by: Principal, reason: str) -> tuple[Operation, ...]:
        """Stop claims and sends of every operation whose effect's name or id matches, in every process, at once.

        ``pattern`` is as in a shell: "*", "stripe.*", "refund:ch_1". Gives the operations in flight at that moment: their
        requests may have left, and only they. Freezing a pattern again changes its reason.
        """

        def work(tx: EffectTx) -> tuple[Operation, ...]:
            new = Freeze(pattern, by.id, reason, tx.now())
            set_freezes(tx, (*(each for each in freezes(tx) if each.pattern != pattern), new))
            flying = tx.operations(states=("InFlight",))
            return tuple(row for row in flying if new.stops(_record(load(tx, row.op_id))))

        return self.journal.transact(work)

    def thaw(self, pattern: str) -> bool:
        """End a freeze; whether there was one of exactly this pattern."""

        def work(tx: EffectTx) -> bool:
            held = freezes(tx)
            left = [each for each in held if each.pattern != pattern]
            set_freezes(tx, left)
            return len(left) < len(held)

        return self.journal.transact(work)

    def freezes(self) -> tuple[Freeze, ...]:
        """What is frozen."""
        return self.journal.read(freezes)

    def quarantine(self, *, since: float, by: Principal, reason: str) -> Quarantine:
        """After the journal was restored from a copy made at ``since`` (seconds since 1970 UTC): trust its past no more.

        Every operation that has not ended, and every one that is planned from now on, counts as perhaps sent since then:
        it is looked up, or its key used again, or a person is asked, before anything is sent.
        """

        def work(tx: EffectTx) -> Quarantine:
            now = tx.now()
            made = Quarantine(self.kit.clock.token(), min(since, now), by.id, reason, now)
            set_quarantine(tx, made)
            return made

        return self.journal.transact(work)

    def end_quarantine(self) -> bool:
        """Trust what is planned from now on again; whether there was a quarantine. What it made unknown stays so."""

        def work(tx: EffectTx) -> bool:
            held = quarantine(tx)
            set_quarantine(tx, None)
            return held is not None

        return self.journal.transact(work)

    # Reading

    def unresolved(self, *, thread: str | None = None) -> tuple[Operation, ...]:
        """Operations whose effect may have happened unseen, oldest first."""
        return self.journal.read(lambda tx: tuple(tx.operations(states=OPEN_STATES, thread=thread)))

    def similar_open_ops(self, intent: Intent[Any, Any]) -> tuple[Operation, ...]:
        """Other operations of the same effect with the same arguments that have not ended: perhaps the same wish.

        A warning, no more: nothing is refused for it.
        """
        record = intent.record
        rows = self.journal.read(lambda tx: tuple(tx.operations(states=_BEGUN, tool=record.tool)))
        return tuple(row for row in rows if row.args_hash == record.args_hash and row.op_id != record.op_id)

    def verify(self, op_id: str) -> bool:
        """Whether the listed row is what the events fold to. Raises: CorruptRecord, if the events themselves are broken."""

        def work(tx: EffectTx) -> bool:
            row, state = tx.operation(op_id), load(tx, op_id)
            if row is None or isinstance(state, st.Unplanned):
                return row is None and isinstance(state, st.Unplanned)
            return not checked(tx, row)[1]

        return self.journal.read(work)

    def audit(self, kept: Iterable[Head] = ()) -> Audit:
        """Verify every chain, rebuild every row from its events and compare; ``kept`` are heads exported earlier."""
        wanted = tuple(kept)
        return self.journal.read(lambda tx: audit(tx, wanted))

    def heads(self) -> tuple[Head, ...]:
        """The end of each operation's chain, to be kept (and signed) elsewhere."""
        return self.journal.read(lambda tx: heads(tx, self.journal.scope))

    def compare_policies(self, old: Policy, new: Policy) -> Comparison:
        """What ``new`` would have decided otherwise than ``old``, over all recorded operations."""
        histories = self.journal.read(lambda tx: [read_events(tx.events(row.op_id)) for row in list(tx.operations())])
        return compare_policies(old, new, histories)

    def explain(self, op_id: str, policy: Policy | None = None) -> Explanation:
        """Why an operation stands where it does, each conjunct of its policy with what it found. Raises: ToolError."""

        def work(tx: EffectTx) -> Explanation:
            state, now = self._planned(load(tx, op_id), op_id), tx.now()
            record = state.facts.intent
            rules = policy or self.rules_of(record)
            undone = tuple(row.op_id for row in tx.operations(labels={UNDOES: op_id}))
            totals = totals_of(tx, rules, record, now)
            return explained(state, rules, now, totals, frozen(tx, record) or "", undone)

        return self.journal.read(work)

    def rules_of(self, record: IntentRecord) -> Policy:
        """The policy that this ledger asks about an operation: its effect's and its own."""
        effect = self._effects.get(record.tool)
        own = effect.rules if effect is not None else None
        return (own.joined_with(self._policy) if own is not None else self._policy) or OPEN


def _journal(given: Any) -> Journal:
    """Raises: ConfigurationError for what is no journal."""
    if isinstance(given, type) or not hasattr(given, "transact"):
        meant = f"SQLiteJournal({given!r})" if isinstance(given, str) else "such as SQLiteJournal('journal.db')"
        raise ConfigurationError(
            f"Ledger takes a journal, {meant}, not {given!r:.100}", component="effects", operation="ledger"
        )
    return given


def _planned(given: Any, what: str) -> Intent[Any, Any]:
    """Raises: ConfigurationError for what was not planned."""
    if not isinstance(given, Intent):
        raise ConfigurationError(
            f"Ledger.{what} takes what an effect's plan(...) gives, not {given!r:.100}",
            component="effects",
            operation=what,
        )
    return cast("Intent[Any, Any]", given)


UNDOES = "compensates"
"""The label by which the operations that undo another one are found."""


def _record(state: st.State) -> IntentRecord:
    assert not isinstance(state, st.Unplanned)
    return state.facts.intent
