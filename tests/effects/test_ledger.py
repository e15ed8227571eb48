"""The ledger, on both journals and by both drivers: nothing sent before its claim, nothing lost, nothing sent twice blindly."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lawful.core.clock import FixedClock
from lawful.core.errors import (
    CorruptRecord,
    InvalidTransition,
    OperationConflict,
    OperationExists,
    StaleEvidence,
    ToolError,
)
from lawful.core.questions import Principal
from lawful.effects import (
    Abandoned,
    Approval,
    AwaitingApproval,
    AwaitingEvidence,
    Conflicted,
    Denied,
    DidNotHappen,
    EffectContext,
    GiveUp,
    Happened,
    InProgress,
    Ledger,
    Opaque,
    Refused,
    ResultLost,
    Succeeded,
    Unknown,
    recover,
    recover_sync,
)
from lawful.effects import states as st
from lawful.effects.contract import Intent
from lawful.effects.log import load
from lawful.effects.moves import Claimant
from lawful.effects.policy import Policy, RequireApproval, publication_policy
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from lawful.stores.sqlite import SQLiteJournal
from support.effects import KEYED, STRONG, Forge, Publish, PullRequest, evidence

pytestmark = pytest.mark.unit

ACME = PullRequest("acme")
OP = "publish:acme@abc"
ALICE = Principal("alice", ("release",))


@pytest.fixture(params=["memory", "sqlite"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    made: Journal = MemoryJournal() if request.param == "memory" else SQLiteJournal(tmp_path / "journal.db")
    yield made
    made.close()


Run = Callable[[Ledger, Intent[Any, Any]], Any]


@pytest.fixture(params=["async", "sync"])
def run(request: pytest.FixtureRequest) -> Run:
    if request.param == "sync":
        return lambda ledger, intent: ledger.execute_sync(intent)
    return lambda ledger, intent: asyncio.run(ledger.execute(intent))


def kinds(ledger: Ledger, op: str = OP) -> list[str]:
    return [type(event).__name__ for event in ledger.events(op)]


def test_it_happens_once_and_is_recorded(journal: Journal, run: Run) -> None:
    """Rows: S2-014, S2-024; Ledger: L2"""
    forge = Forge()
    ledger = Ledger(journal)
    publish = Publish(forge)
    assert run(ledger, publish.plan(ACME)) == Succeeded("https://forge/acme", OP)
    assert run(ledger, publish.plan(ACME)) == Succeeded("https://forge/acme", OP, recorded=True)
    assert forge.calls == 1
    assert kinds(ledger) == ["Planned", "Authorized", "Claimed", "Confirmed"]
    assert ledger.verify(OP)


def test_planning_does_nothing(journal: Journal) -> None:
    """Rows: S2-013, S2-015"""
    forge = Forge()
    intent = Publish(forge).plan(ACME)
    assert (intent.op_id, intent.revision, intent.record.args) == (
        OP,
        "abc",
        {"repo": "acme", "revision": "abc", "title": "Bump httpx"},
    )
    assert forge.calls == forge.looks == 0
    assert intent.args_hash == Publish(Forge()).plan(ACME).args_hash


def test_a_lost_reply_is_looked_up_and_nothing_is_sent_again(journal: Journal, run: Run) -> None:
    """Rows: S2-001, S2-046, S2-019"""
    forge = Forge(script=["lose"])
    assert run(Ledger(journal), Publish(forge, STRONG).plan(ACME)) == Succeeded("https://forge/acme", OP, recorded=True)
    assert (forge.calls, forge.looks, forge.applied) == (1, 1, ["acme"])


@pytest.mark.parametrize("sight", ["none", "down"])
def test_an_unresolved_lookup_permits_no_retry(journal: Journal, run: Run, sight: str) -> None:
    """Rows: S2-026, S2-047"""
    forge = Forge(script=["lose"], sight=[sight] * 4)
    ledger = Ledger(journal)
    publish = Publish(forge, STRONG)
    for _ in range(3):
        outcome = run(ledger, publish.plan(ACME))
        assert isinstance(outcome, Unknown)
        assert (outcome.op_id, outcome.next_step) == (OP, "reconcile")
        assert outcome.until is not None
    assert forge.calls == 1
    assert isinstance(ledger.reconcile_sync(publish.plan(ACME)), Unknown)
    assert isinstance(ledger.reconcile_sync(publish.plan(ACME)), Succeeded)
    looks = forge.looks
    assert isinstance(run(ledger, publish.plan(ACME)), Succeeded)
    assert (forge.calls, forge.looks, forge.applied) == (1, looks, ["acme"])


def test_final_absence_permits_another_attempt(run: Run) -> None:
    clock = FixedClock()
    forge = Forge(script=["drop", "ok"])
    ledger = Ledger(MemoryJournal(clock=clock), clock=clock)
    publish = Publish(forge, STRONG)
    waiting = run(ledger, publish.plan(ACME))
    assert isinstance(waiting, Unknown)
    assert waiting.until is not None
    clock.advance(waiting.until - clock.now())
    assert run(ledger, publish.plan(ACME)) == Succeeded("https://forge/acme", OP)
    assert forge.applied == ["acme"]
    assert kinds(ledger)[-3:] == ["RetryGranted", "Claimed", "Confirmed"]


def test_a_natural_effect_is_tried_again_at_once_and_stops_after_its_attempts(journal: Journal, run: Run) -> None:
    forge = Forge(script=["drop"] * 9)
    outcome = run(Ledger(journal), Publish(forge, max_attempts=3).plan(ACME))
    assert isinstance(outcome, Unknown)
    assert outcome.next_step == "resolve"
    assert "3 attempts are used up" in outcome.reason
    assert forge.calls == 3


@pytest.mark.parametrize(("after", "calls"), [(3500.0, 1), (3528.0, 1), (3530.0, 1)])
def test_a_key_is_used_again_only_while_it_is_remembered(after: float, calls: int) -> None:
    """Ledger: L9"""
    clock = FixedClock()
    forge = Forge(script=["drop"], sight=["down"] * 9)
    journal = MemoryJournal(clock=clock)
    publish = Publish(forge, KEYED, max_attempts=2)
    first = Ledger(journal, clock=clock)
    first.plan(publish.plan(ACME))
    _claim_and_die(journal, publish)
    clock.advance(after)
    outcome = Ledger(journal, clock=clock).execute_sync(publish.plan(ACME))
    remembered = after < 3600.0 - 10.0 - 60.0 - 1.0
    assert forge.calls == (calls if remembered else 0)
    assert isinstance(outcome, Unknown)


def _claim_and_die(journal: Journal, publish: Publish) -> None:
    """Leave a claim without an outcome, by a claimant whose lease nobody holds."""
    from lawful.effects.log import write
    from lawful.effects.moves import claim
    from lawful.effects.policy import OPEN, Decision

    def work(tx: Any) -> None:
        state = load(tx, OP)
        events, _ = claim(state, OPEN, Decision.allow(), Claimant("dead/1", 30.0, "nobody", 1), tx.now())
        write(tx, state, events)

    journal.transact(work)


def test_a_definite_refusal_is_final_or_may_be_tried_again(journal: Journal, run: Run) -> None:
    forge = Forge(script=["busy", "ok", "refuse"])
    ledger = Ledger(journal)
    publish = Publish(forge)
    refused = run(ledger, publish.plan(ACME))
    assert isinstance(refused, Refused)
    assert refused.retryable
    assert isinstance(run(ledger, publish.plan(ACME)), Succeeded)
    other = PullRequest("acme-2")
    assert run(ledger, publish.plan(other)) == Refused("publish:acme-2@abc", "effect_refused", "the forge says refuse")
    assert isinstance(run(ledger, publish.plan(other)), Refused)
    assert forge.calls == 3


def test_two_effects_under_one_key_are_an_alarm(journal: Journal, run: Run) -> None:
    forge = Forge(script=["lose"], applied=["acme"])
    assert isinstance(run(Ledger(journal), Publish(forge).plan(ACME)), Conflicted)


def test_an_opaque_effect_is_never_sent_again_without_a_person(journal: Journal, run: Run) -> None:
    """Ledger: L4"""
    forge = Forge(script=["drop"])
    ledger = Ledger(journal)
    publish = Publish(forge, Opaque())
    unknown = run(ledger, publish.plan(ACME))
    assert isinstance(unknown, Unknown)
    assert unknown.next_step == "resolve"
    assert isinstance(run(ledger, publish.plan(ACME)), Unknown)
    assert forge.calls == 1
    with pytest.raises(InvalidTransition, match="version"):
        ledger.resolve(OP, expected_version=1, decision=Happened("x"), by=ALICE, reason="seen")
    ledger.resolve(OP, expected_version=unknown.version, decision=DidNotHappen(), by=ALICE, reason="looked")
    assert isinstance(run(ledger, publish.plan(ACME)), Succeeded)
    assert forge.calls == 2


@pytest.mark.parametrize(
    ("ruling", "outcome"),
    [
        (Happened("https://forge/seen"), Succeeded("https://forge/seen", OP, True)),
        (DidNotHappen(retry=False), Refused(OP, "operator", "looked")),
        (GiveUp(), Abandoned(OP, "looked")),
    ],
)
def test_what_a_person_decides_is_the_outcome(journal: Journal, run: Run, ruling: Any, outcome: Any) -> None:
    forge = Forge(script=["drop"])
    ledger = Ledger(journal)
    publish = Publish(forge, Opaque())
    unknown = run(ledger, publish.plan(ACME))
    ledger.resolve(OP, expected_version=unknown.version, decision=ruling, by=ALICE, reason="looked")
    assert run(ledger, publish.plan(ACME)) == outcome
    assert forge.calls == 1


def test_evidence_then_approval_then_once(journal: Journal, run: Run) -> None:
    """Rows: S2-040, S2-042, S2-043, S2-044, S2-045"""
    forge = Forge()
    ledger = Ledger(journal, policy=publication_policy("release"))
    intent = Publish(forge).plan(ACME)
    assert run(ledger, intent) == AwaitingEvidence(OP, ("tests", "security"))
    with pytest.raises(StaleEvidence, match="revision old"):
        ledger.add_evidence(OP, evidence(revision="old"))
    ledger.add_evidence(OP, evidence("e1", "tests", verdict=False))
    ledger.add_evidence(OP, evidence("e2", "security"))
    assert run(ledger, intent) == AwaitingEvidence(OP, ("tests",))
    ledger.add_evidence(OP, evidence("e3", "tests"))
    waiting = run(ledger, intent)
    assert isinstance(waiting, AwaitingApproval)
    assert (waiting.role, waiting.count) == ("release", 1)
    stale = Approval("a0", "bound to something else", ALICE)
    with pytest.raises(StaleEvidence, match="another operation"):
        ledger.approve(OP, stale)
    assert forge.calls == 0
    ledger.approve(OP, Approval("a1", waiting.binding, ALICE, granted_at=0.0))
    assert isinstance(run(ledger, intent), Succeeded)
    assert forge.calls == 1
    done = ledger.state(OP)
    assert isinstance(done, st.Succeeded)
    assert done.facts.consumed == ("a1",)


def test_an_approval_is_checked_again_in_the_claim(run: Run) -> None:
    """Rows: S2-020; Ledger: L8"""
    clock = FixedClock()
    ledger = Ledger(MemoryJournal(clock=clock), clock=clock, policy=Policy("p", (RequireApproval(),)))
    forge = Forge()
    intent = Publish(forge).plan(ACME)
    waiting = run(ledger, intent)
    ledger.approve(OP, Approval("a1", waiting.binding, ALICE, expires_at=clock.now() + 10))
    clock.advance(10)
    assert isinstance(run(ledger, intent), AwaitingApproval)
    ledger.approve(OP, Approval("a2", waiting.binding, ALICE))
    ledger.revoke(OP, "a2", by=ALICE)
    assert isinstance(run(ledger, intent), AwaitingApproval)
    told = ledger.explain(OP)
    assert len(told.stale) == 2
    assert "expired" in told.stale[0]
    assert "revoked" in told.stale[1]
    assert forge.calls == 0


def test_approvals_given_under_another_policy_do_not_count(journal: Journal, run: Run) -> None:
    intent = Publish(Forge()).plan(ACME)
    one = Ledger(journal, policy=Policy("p", (RequireApproval(),)))
    waiting = run(one, intent)
    one.approve(OP, Approval("a1", waiting.binding, ALICE))
    two = Ledger(journal, policy=Policy("p", (RequireApproval(),), version="2"))
    again = run(two, intent)
    assert isinstance(again, AwaitingApproval)
    assert again.binding != waiting.binding
    two.approve(OP, Approval("a2", again.binding, ALICE))
    assert isinstance(run(two, intent), Succeeded)


def test_a_denied_command_is_never_sent(journal: Journal, run: Run) -> None:
    """Rows: S2-041"""
    forge = Forge()
    intent = Publish(forge).plan(PullRequest("elsewhere"))
    ledger = Ledger(journal)
    for _ in range(2):
        assert run(ledger, intent) == Denied("publish:elsewhere@abc", "not our repository")
    assert forge.calls == 0


def test_the_same_key_with_other_arguments_or_from_elsewhere_is_refused(journal: Journal, run: Run) -> None:
    ledger = Ledger(journal)
    publish = Publish(Forge())
    run(ledger, publish.plan(ACME))
    with pytest.raises(OperationConflict):
        run(ledger, publish.plan(PullRequest("acme", title="Other")))
    from msgspec.structs import replace

    def of(thread: str, once: bool) -> Intent[Any, Any]:
        intent = publish.plan(ACME)
        return Intent(replace(intent.record, lineage=thread, once_per_key=once), intent.effect, intent.command)

    with pytest.raises(OperationExists):
        run(ledger, of("t2", False))
    assert isinstance(run(ledger, of("t2", True)), Succeeded)
    run(ledger, of("t2", True))
    assert kinds(ledger).count("Reused") == 1


def test_the_claim_is_durable_before_the_call_and_names_its_fence(tmp_path: Path) -> None:
    """Ledger: L3"""
    path = tmp_path / "journal.db"
    seen: list[tuple[str, int, int]] = []

    class Watched(Publish):
        async def perform(self, command: PullRequest, ctx: EffectContext) -> str:
            other = SQLiteJournal(path)
            state = other.read(lambda tx: load(tx, ctx.op_id))
            other.close()
            assert isinstance(state, st.InFlight)
            seen.append((st.name_of(state), state.facts.fence, ctx.fence))
            return await super().perform(command, ctx)

    journal = SQLiteJournal(path)
    Ledger(journal).execute_sync(Watched(Forge(script=["drop"])).plan(ACME))
    journal.close()
    assert seen == [("InFlight", 1, 1), ("InFlight", 2, 2)]


def test_a_result_that_cannot_be_written_down_still_happened(journal: Journal, run: Run) -> None:
    class Odd(Publish):
        async def perform(self, command: PullRequest, ctx: EffectContext) -> Any:
            self.forge.create(command.repo)
            return threading.Lock()

    forge = Forge()
    ledger = Ledger(journal)
    first = run(ledger, Odd(forge).plan(ACME))
    assert isinstance(first, Succeeded)
    assert run(ledger, Odd(forge).plan(ACME)) == ResultLost(OP)
    assert forge.calls == 1


def test_before_send_refuses_past_its_deadline_and_nothing_is_unknown() -> None:
    clock = FixedClock()

    class Slow(Publish):
        async def perform(self, command: PullRequest, ctx: EffectContext) -> str:
            clock.advance(10.001)
            return await super().perform(command, ctx)

    forge = Forge()
    outcome = Ledger(MemoryJournal(clock=clock), clock=clock).execute_sync(Slow(forge, Opaque()).plan(ACME))
    assert isinstance(outcome, Refused)
    assert outcome.retryable
    assert forge.calls == 0


def test_before_send_refuses_an_attempt_that_was_overtaken(journal: Journal) -> None:
    class Overtaken(Publish):
        async def perform(self, command: PullRequest, ctx: EffectContext) -> str:
            if ctx.fence == 1:
                from lawful.effects import events as ev
                from lawful.effects.log import write

                def lose(tx: Any) -> None:
                    write(tx, load(tx, OP), (ev.OutcomeLost(OP, tx.now(), 1, "lease_expired"),))

                journal.transact(lose)
            return await super().perform(command, ctx)

    forge = Forge()
    Ledger(journal).execute_sync(Overtaken(forge).plan(ACME))
    assert forge.calls == 0


def test_another_workers_claim_is_left_alone_until_its_lease_is_over() -> None:
    """Ledger: L11"""
    clock = FixedClock()
    journal = MemoryJournal(clock=clock)
    forge = Forge()
    publish = Publish(forge, STRONG)
    ledger = Ledger(journal, clock=clock, effects=[publish])

    class Nested(Publish):
        async def perform(self, command: PullRequest, ctx: EffectContext) -> str:
            busy = await ledger.execute(publish.plan(ACME))
            assert isinstance(busy, InProgress)
            assert (await recover(journal, [publish], clock=clock)).left[0].state == "InFlight"
            clock.advance(31.0)
            assert isinstance(await ledger.execute(publish.plan(ACME)), Unknown)
            return self.forge.create(command.repo)

    outcome = Ledger(journal, clock=clock).execute_sync(Nested(forge, STRONG).plan(ACME))
    assert outcome == Succeeded("https://forge/acme", OP)
    state = ledger.state(OP)
    assert isinstance(state, st.Succeeded)
    assert state.receipt.source == "late_reply"


def test_recovery_settles_dead_claims_and_never_sends(journal: Journal) -> None:
    """Rows: S2-025, S2-027, S2-029"""
    forge = Forge(applied=["acme"])
    publish = Publish(forge, STRONG)
    Ledger(journal).plan(publish.plan(ACME))
    _claim_and_die(journal, publish)
    stranger = recover_sync(journal)
    assert [(row.op_id, row.state) for row in stranger.left] == [(OP, "Unknown")]
    assert "was not given" in stranger.left[0].reason
    report = recover_sync(journal, [publish])
    assert [(row.op_id, row.state) for row in report.settled] == [(OP, "Succeeded")]
    assert report.clean
    assert forge.calls == 0
    assert recover_sync(journal, [publish]).settled == ()
    assert forge.looks == 1


def test_a_broken_chain_is_told_and_keeps_the_bytes(tmp_path: Path) -> None:
    import sqlite3

    journal = SQLiteJournal(tmp_path / "j.db")
    Ledger(journal).execute_sync(Publish(Forge()).plan(ACME))
    journal.close()
    db = sqlite3.connect(tmp_path / "j.db")
    for (trigger,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        db.execute(f"DROP TRIGGER {trigger}")
    table = next(
        name
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        if {"digest", "seq", "blob"} <= {row[1] for row in db.execute(f"PRAGMA table_info({name})").fetchall()}
    )
    assert db.execute(f"UPDATE {table} SET blob = replace(blob, 'acme', 'evil') WHERE seq = 1").rowcount == 1
    db.commit()
    db.close()
    journal = SQLiteJournal(tmp_path / "j.db")
    with pytest.raises(CorruptRecord) as caught:
        Ledger(journal).events(OP)
    journal.close()
    assert b"evil" in bytes(caught.value.raw)


def test_scopes_do_not_see_each_other(journal: Journal) -> None:
    forge = Forge()
    publish = Publish(forge)
    Ledger(journal).execute_sync(publish.plan(ACME))
    other = Ledger(journal.scoped("acme-inc"))
    assert other.events(OP) == ()
    other.execute_sync(publish.plan(ACME))
    assert forge.calls == 2
    mine, theirs = Ledger(journal).state(OP), other.state(OP)
    assert isinstance(mine, st.Succeeded)
    assert isinstance(theirs, st.Succeeded)
    assert mine.facts.intent.idempotency_key != theirs.facts.intent.idempotency_key


def test_unknown_operations_and_tools_are_told(journal: Journal) -> None:
    ledger = Ledger(journal, effects=[])
    with pytest.raises(ToolError, match="no operation"):
        ledger.reconcile_sync("nothing")
    with pytest.raises(ToolError, match="no operation"):
        ledger.explain("nothing")
    Ledger(journal).execute_sync(Publish(Forge(script=["drop"]), Opaque()).plan(ACME))
    with pytest.raises(ToolError, match="was not given"):
        ledger.reconcile_sync(OP)
    assert [row.op_id for row in ledger.unresolved()] == [OP]


async def test_cancellation_between_claim_and_outcome_waits_for_the_reply(tmp_path: Path) -> None:
    journal = SQLiteJournal(tmp_path / "j.db")
    started = asyncio.Event()

    class Slow(Publish):
        async def perform(self, command: PullRequest, ctx: EffectContext) -> str:
            started.set()
            await asyncio.sleep(0.1)
            return await super().perform(command, ctx)

    forge = Forge()
    ledger = Ledger(journal)
    task = asyncio.create_task(ledger.execute(Slow(forge, Opaque()).plan(ACME)))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # The call was told to send nothing any more, and did not: a definite refusal, not an unknown outcome.
    assert st.name_of(ledger.state(OP)) == "Refused"
    assert forge.calls == 0
    journal.close()


async def test_a_cancelled_call_that_does_not_end_leaves_an_event_not_a_bare_claim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lawful.effects.drive.GRACE", 0.05)
    journal = SQLiteJournal(tmp_path / "j.db")
    started = asyncio.Event()

    class Stuck(Publish):
        async def perform(self, command: PullRequest, ctx: EffectContext) -> str:
            ctx.before_send()
            started.set()
            await asyncio.sleep(60)
            return ""

    ledger = Ledger(journal)
    task = asyncio.create_task(ledger.execute(Stuck(Forge(), Opaque()).plan(ACME)))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 5)
    assert kinds(ledger)[-1] == "OutcomeLost"
    journal.close()


async def test_a_call_past_its_time_is_an_unknown_outcome() -> None:
    class Stuck(Publish):
        async def perform(self, command: PullRequest, ctx: EffectContext) -> str:
            ctx.before_send()
            await asyncio.sleep(60)
            return ""

    ledger = Ledger(MemoryJournal())
    outcome = await ledger.execute(Stuck(Forge(), Opaque(), timeout=0.05).plan(ACME))
    assert isinstance(outcome, Unknown)
    assert "timeout" in outcome.reason
