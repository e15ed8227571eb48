"""A second attempt under the approval of the first: while it has not expired, or after that where the policy says so."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lawful.core.clock import FixedClock
from lawful.core.errors import NetworkError
from lawful.core.questions import Principal
from lawful.effects import Approval, AwaitingApproval, EffectContext, Ledger, Succeeded
from lawful.effects.policy import Matter, Policy, RequireApproval
from lawful.journal.memory import MemoryJournal
from lawful.testing.provider import FakeCommand, FakeEffect, FakeProvider
from support.effects import approval, record

pytestmark = pytest.mark.unit

ADA = Principal("ada")
ORIGINAL = RequireApproval(retry_under_original_approval=True)


def holds(
    rule: RequireApproval, *, now: float, retry: bool = True, used: bool = True, revoked: float | None = None
) -> bool:
    intent = record()
    yes = replace(approval(intent, expires_at=10.0), revoked_at=revoked)
    return rule.check(Matter(intent, approvals=(yes,), consumed=(yes.id,) if used else (), retry=retry, now=now)).holds


def test_what_the_rule_demands() -> None:
    assert holds(RequireApproval(), now=9.0)
    assert not holds(RequireApproval(), now=10.0)
    assert holds(ORIGINAL, now=10.0)
    assert not holds(ORIGINAL, now=10.0, revoked=9.0), "a revoked one permits no further attempt"
    assert not holds(ORIGINAL, now=10.0, retry=False, used=False), "a first attempt needs one that counts"
    assert not holds(ORIGINAL, now=10.0, used=False), "only the one that was used up by this operation"


def test_it_is_part_of_what_a_policy_demands() -> None:
    assert Policy("p", (ORIGINAL,)).hash != Policy("p", (RequireApproval(),)).hash


@pytest.mark.parametrize("original", [False, True])
@pytest.mark.parametrize("revoked", [False, True])
def test_an_approval_that_expires_between_two_attempts(original: bool, revoked: bool) -> None:
    """Rows: S2-020; Ledger: L8"""
    clock = FixedClock()
    provider = FakeProvider(natural=True, clock=clock)

    class Cut(FakeEffect):
        cut = True

        async def perform(self, command: FakeCommand, ctx: EffectContext) -> str:
            if self.cut:
                self.cut = False
                clock.advance(20)
                if revoked:
                    ledger.revoke(ctx.op_id, "a1", by=ADA)
                raise NetworkError("the request was lost on its way")
            return await super().perform(command, ctx)

    rules = Policy("p", (RequireApproval(retry_under_original_approval=original),))
    effect = Cut(provider, "pay", rules, {"max_attempts": 2, "send_budget": 60.0})
    ledger = Ledger(MemoryJournal(clock=clock), clock=clock, effects=[effect])
    intent = effect.plan(FakeCommand("order-1"))
    waiting = ledger.execute_sync(intent)
    assert isinstance(waiting, AwaitingApproval)
    ledger.approve(intent.op_id, Approval("a1", waiting.binding, ADA, expires_at=clock.now() + 10))
    outcome = ledger.execute_sync(intent)
    if original and not revoked:
        assert isinstance(outcome, Succeeded)
    else:
        assert isinstance(outcome, AwaitingApproval)
    assert provider.calls == int(original and not revoked)
