"""Whatever happens to an operation, its stored row is the fold of its events, and no state is lost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as some
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from lawful.core.clock import FixedClock
from lawful.core.errors import AlreadyAnswered, InvalidTransition, StaleEvidence
from lawful.core.questions import Principal
from lawful.effects import Approval, AwaitingApproval, DidNotHappen, GiveUp, Happened, Ledger, Succeeded
from lawful.effects import states as st
from lawful.effects.policy import Policy, RequireApproval
from lawful.effects.transitions import replay
from lawful.journal.memory import MemoryJournal
from support.effects import CAPABILITIES, Forge, Publish, PullRequest, evidence

pytestmark = pytest.mark.property

OP = "publish:acme@abc"
ALICE = Principal("alice")


class Operations(RuleBasedStateMachine):
    """One operation under a random provider, random time and random people."""

    @initialize(capability=some.sampled_from(list(CAPABILITIES)), approval=some.booleans())
    def begin(self, capability: str, approval: bool) -> None:
        self.capability = capability
        self.clock = FixedClock()
        self.forge = Forge()
        self.publish = Publish(
            self.forge,
            CAPABILITIES[capability],
            Policy("p", (RequireApproval(),)) if approval else None,
            max_attempts=3,
        )
        self.journal = MemoryJournal(clock=self.clock)
        self.ledger = Ledger(self.journal, clock=self.clock, effects=[self.publish])
        self.receipt: Any = None
        self.ruled = False

    @rule(script=some.lists(some.sampled_from(["ok", "lose", "drop", "refuse", "busy"]), max_size=3))
    def execute(self, script: list[str]) -> None:
        self.forge.script[:] = script
        self.forge.sight.clear()
        out = self.ledger.execute_sync(self.publish.plan(PullRequest("acme")))
        if isinstance(out, AwaitingApproval):
            self.binding = out.binding
        if isinstance(out, Succeeded):
            assert self.receipt in (None, out.receipt)
            self.receipt = out.receipt

    @rule(sight=some.lists(some.sampled_from(["none", "down", "true"]), max_size=2))
    def look(self, sight: list[str]) -> None:
        if self.ledger.events(OP) and st.name_of(self.ledger.state(OP)) not in ("Planned", "Permitted"):
            self.forge.sight[:] = sight
            calls = self.forge.calls
            self.ledger.reconcile_sync(OP)
            assert self.forge.calls == calls

    @rule(seconds=some.sampled_from([0.5, 15.0, 80.0, 3600.0]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule(until=some.sampled_from([None, 10.0]), name=some.sampled_from(["a", "b"]))
    def approve(self, until: float | None, name: str) -> None:
        if hasattr(self, "binding"):
            expires = None if until is None else self.clock.now() + until
            self.attempted(lambda: self.ledger.approve(OP, Approval(name, self.binding, ALICE, expires_at=expires)))

    @rule(name=some.sampled_from(["a", "b"]))
    def revoke(self, name: str) -> None:
        if self.ledger.events(OP):
            self.attempted(lambda: self.ledger.revoke(OP, name))

    @rule(revision=some.sampled_from(["abc", "old"]))
    def testify(self, revision: str) -> None:
        if self.ledger.events(OP):
            self.attempted(lambda: self.ledger.add_evidence(OP, evidence(revision=revision)))

    @rule(ruling=some.sampled_from([Happened("https://forge/acme"), DidNotHappen(), DidNotHappen(False), GiveUp()]))
    def decide(self, ruling: Any) -> None:
        state = self.ledger.state(OP)
        if isinstance(state, st.Unknown):
            self.ruled = self.ruled or not isinstance(ruling, GiveUp)
            self.ledger.resolve(OP, expected_version=state.facts.version, decision=ruling, by=ALICE, reason="looked")

    def attempted(self, work: Any) -> None:
        version = len(self.ledger.events(OP))
        try:
            work()
        except (AlreadyAnswered, InvalidTransition, StaleEvidence):
            assert len(self.ledger.events(OP)) == version

    @invariant()
    def the_row_is_the_fold(self) -> None:
        if not hasattr(self, "ledger"):
            return
        assert self.ledger.verify(OP)
        assert replay(self.ledger.events(OP)).unwrap() == self.ledger.state(OP)

    @invariant()
    def at_most_one_effect_unless_a_person_was_wrong(self) -> None:
        if (
            hasattr(self, "ledger")
            and not self.ruled
            and "natural" not in self.capability
            and "keyed" not in self.capability
        ):
            assert len(self.forge.applied) <= 1


def test_the_row_is_the_fold_and_no_effect_is_doubled() -> None:
    """Ledger: L2, L4, L5"""
    run_state_machine_as_test(Operations, settings=settings(max_examples=60, stateful_step_count=20, deadline=None))  # pyright: ignore[reportUnknownMemberType]
