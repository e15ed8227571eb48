"""What people and checks add to operations: evidence, approvals, withdrawals, and decisions about unknown outcomes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias

from lawful.core.errors import AlreadyAnswered, EffectDenied, StaleEvidence, ToolError, ValidationError
from lawful.core.questions import Approved, Principal, Question
from lawful.effects import events as ev
from lawful.effects import states as st
from lawful.effects.events import Event, Ruling
from lawful.effects.evidence import Approval, Evidence, approval_stale, evidence_stale
from lawful.effects.inbox import approvals_of, recovery_of, ruling_of
from lawful.effects.intents import IntentRecord
from lawful.effects.log import load, read_events, write
from lawful.effects.policy import Policy
from lawful.effects.protocol import totals_of
from lawful.effects.states import State, name_of
from lawful.effects.transitions import replay
from lawful.journal.port import EffectTx, Journal

_Known: TypeAlias = (
    st.Planned
    | st.Permitted
    | st.InFlight
    | st.Unknown
    | st.Granted
    | st.Refused
    | st.Succeeded
    | st.Failed
    | st.Cancelled
    | st.Abandoned
    | st.Conflicted
)


class Authority(ABC):
    """The part of a ledger by which authority is given, taken and asked for."""

    journal: Journal

    @abstractmethod
    def rules_of(self, record: IntentRecord) -> Policy:
        """The policy that is asked about an operation."""

    def add_evidence(self, op_id: str, evidence: Evidence) -> None:
        """Attach ``evidence``. Raises: StaleEvidence, if it is about another revision or has expired; ToolError."""

        def fact(facts: st.Facts, now: float) -> Event:
            _refuse_stale(evidence_stale(evidence, facts.intent, now), op_id)
            return ev.EvidenceAdded(op_id, now, evidence)

        self._append(op_id, fact)

    def approve(self, op_id: str, approval: Approval) -> None:
        """Attach ``approval`` (yes or no).

        Raises: StaleEvidence, if it is bound to something else or expired; AlreadyAnswered, which tells whose answer won, if
        this approver's decision stands already or the operation was claimed; ToolError.
        """

        def work(tx: EffectTx) -> None:
            state, now = self._planned(load(tx, op_id), op_id), tx.now()
            _refuse_stale(approval_stale(approval, state.facts.intent, now), op_id)
            _refuse_second(state, approval, now)
            write(tx, state, (ev.ApprovalGranted(op_id, now, approval),))

        self.journal.transact(work)

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

    # The inbox

    def questions(self, *, role: str | None = None) -> tuple[Question, ...]:
        """What the scope's operations ask of people, oldest first: approvals in ``role`` (None: in any), and, for None,
        what became of those whose outcome nobody knows. `answer` takes the answers."""

        def work(tx: EffectTx) -> tuple[Question, ...]:
            found: list[Question] = []
            for row in list(tx.operations(states=("Planned", "Permitted", "Unknown"))):
                found += self._asked(tx, load(tx, row.op_id))
            return tuple(each for each in found if role is None or each.details.get("role") == role)

        return self.journal.read(work)

    def _asked(self, tx: EffectTx, state: State) -> list[Question]:
        match state:
            case st.Planned(facts) | st.Permitted(facts):
                rules, now = self.rules_of(facts.intent), tx.now()
                return approvals_of(state, rules, now, totals_of(tx, rules, facts.intent, now))
            case st.Unknown():
                return [recovery_of(state)]
            case _:
                return []

    def answer(self, question: Question, given: Any, *, by: Principal, reason: str = "") -> str:
        """Take a person's answer to a question of `questions`: yes or no to an approval, a ruling on an unknown outcome.

        Gives the operation's state. Raises: EffectDenied, if ``by`` has not the role that was asked for or is excluded as
        the requester; AlreadyAnswered, StaleEvidence, InvalidTransition; ValidationError for an answer of another kind.
        """
        op_id = str(question.details.get("op_id", ""))
        if question.kind == "effect_recovery":
            ruling = ruling_of(given)
            if ruling is None:
                return name_of(self.state(op_id))
            version = int(question.details["version"])
            why = reason or "answered from the inbox"
            return self.resolve(op_id, expected_version=version, decision=ruling, by=by, reason=why)
        if not isinstance(given, (bool, Approved)):
            raise ValidationError(
                f"an approval is answered by True or False, not by {given!r:.100}",
                component="effects",
                operation="answer",
            )
        role = str(question.details.get("role", ""))
        may_answer(question, by)
        bound = str(question.details["binding"])

        def at(tx: EffectTx) -> float:
            return tx.now()

        approval = Approval(f"{question.id}:{by.id}", bound, by, role, bool(given), self.journal.read(at))
        self.approve(op_id, approval)
        return name_of(self.state(op_id))

    # What stands

    def state(self, op_id: str) -> State:
        """Where the operation stands: the fold of its events. Raises: CorruptRecord."""
        return self.journal.read(lambda tx: load(tx, op_id))

    def replay(self, op_id: str, upto: int | None = None) -> State:
        """Where the operation stood after its first ``upto`` events, or stands after all; calls nobody.

        Raises: CorruptRecord, InvalidTransition.
        """
        return replay(self.events(op_id)[:upto]).unwrap()

    def events(self, op_id: str) -> tuple[Event, ...]:
        """Its events in order, their chain verified. Raises: CorruptRecord."""
        return self.journal.read(lambda tx: read_events(tx.events(op_id)))

    def _append(self, op_id: str, fact: Callable[[st.Facts, float], Event]) -> State:
        def work(tx: EffectTx) -> State:
            state = self._planned(load(tx, op_id), op_id)
            return write(tx, state, (fact(state.facts, tx.now()),))

        return self.journal.transact(work)

    def _facts(self, op_id: str) -> st.Facts:
        return self._planned(self.state(op_id), op_id).facts

    @staticmethod
    def _planned(state: State, op_id: str) -> _Known:
        if isinstance(state, st.Unplanned):
            raise ToolError(f"no operation {op_id} was planned", component="effects", details={"op_id": op_id})
        return state


def may_answer(question: Question, by: Principal) -> None:
    """Raises: EffectDenied, where ``by`` has not the role that the question asks for."""
    role = str(question.details.get("role", ""))
    if role and role not in by.roles:
        raise EffectDenied(
            f"{by.id or 'whoever answers'} has not the role {role!r} that this approval asks for",
            component="effects",
            operation="answer",
            details={"question": question.id, "role": role, "by": by.id},
        )


def _refuse_stale(why: str | None, op_id: str) -> None:
    if why is not None:
        raise StaleEvidence(why, component="effects", operation="authority", details={"op_id": op_id})


def _refuse_second(state: _Known, approval: Approval, now: float) -> None:
    """The first decision of an approver stands until it is revoked or expires. Raises: AlreadyAnswered."""
    facts = state.facts
    held = [a for a in facts.approvals if approval_stale(a, facts.intent, now) is None and a.id != approval.id]
    mine = next((a for a in held if (a.approver.id, a.role) == (approval.approver.id, approval.role)), None)
    late = isinstance(state, (st.InFlight, *st.TERMINAL))
    if mine is None and not late:
        return
    won = mine or next(iter(held), None)
    answer = (
        f"{won.approver.id} said {'yes' if won.granted else 'no'}" if won is not None else f"it is {name_of(state)}"
    )
    raise AlreadyAnswered(
        f"operation {facts.op_id} has its answer already: {answer}",
        component="effects",
        operation="approve",
        details={"op_id": facts.op_id, "state": name_of(state), "won": won.id if won is not None else ""},
    )
