"""Looking back: chains and rows audited, heads kept elsewhere, old decisions put to new policies, look-alikes told."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from lawful.core.clock import FixedClock
from lawful.core.questions import Principal
from lawful.core.result import Ok
from lawful.effects import (
    Approval,
    Decision,
    Ledger,
    Limit,
    Natural,
    Opaque,
    Policy,
    RequireApproval,
    days,
    effect,
    policy,
    replay,
    spent,
)
from lawful.effects.audit import audit
from lawful.effects.policy import Matter
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import EffectTx
from lawful.journal.records import Operation
from lawful.stores.sqlite import SQLiteJournal
from support.effects import Forge, Publish, PullRequest

pytestmark = pytest.mark.unit

ACME = PullRequest("acme")
OP = "publish:acme@abc"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "j.db"
    journal = SQLiteJournal(made)
    ledger = Ledger(journal)
    for n in range(3):
        ledger.execute_sync(Publish(Forge()).plan(PullRequest(f"acme-{n}")))
    journal.close()
    return made


def changed(path: Path, *statements: str) -> None:
    """As somebody would who has the file and no respect for its triggers."""
    db = sqlite3.connect(path)
    for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='trigger'").fetchall():
        db.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        assert db.execute(statement).rowcount > 0
    db.commit()
    db.close()


def test_all_is_well(path: Path) -> None:
    journal = SQLiteJournal(path)
    found = Ledger(journal).audit(Ledger(journal).heads())
    assert found.clean
    assert str(found) == "3 operations, 12 events: all chains and rows hold"
    journal.close()


def test_a_row_that_is_not_the_fold_of_its_events_is_told() -> None:
    """Ledger: L2"""
    journal = MemoryJournal()
    Ledger(journal).execute_sync(Publish(Forge()).plan(ACME))

    class Lying:
        """A transaction whose rows say something else."""

        def __init__(self, tx: EffectTx) -> None:
            self.events = tx.events
            self.rows = [replace(row, state="Failed", claimed_at=0.0) for row in tx.operations()]

        def operations(self) -> list[Operation]:
            return self.rows

    [wrong] = journal.read(lambda tx: audit(cast("EffectTx", Lying(tx)))).wrong
    assert wrong.op_id == OP
    assert "state, claimed_at" in wrong.why


def test_a_broken_chain_is_told_and_the_others_are_checked_all_the_same(path: Path) -> None:
    changed(path, "UPDATE event SET digest = zeroblob(32) WHERE operation = 2 AND seq = 3")
    journal = SQLiteJournal(path)
    found = Ledger(journal).audit()
    assert [wrong.op_id for wrong in found.wrong] == ["publish:acme-1@abc"]
    assert found.operations == 3
    journal.close()


def test_heads_kept_elsewhere_show_what_was_cut_off(path: Path) -> None:
    journal = SQLiteJournal(path)
    ledger = Ledger(journal)
    kept = ledger.heads()
    assert [(head.op_id, head.version) for head in kept] == [(f"publish:acme-{n}@abc", 4) for n in range(3)]
    longer = [replace(kept[0], version=5), replace(kept[1], digest="00" * 32), replace(kept[2], op_id="gone")]
    told = {wrong.op_id: wrong.why for wrong in ledger.audit(longer).wrong}
    assert "had 5 events" in told["publish:acme-0@abc"]
    assert "not those whose head was kept" in told["publish:acme-1@abc"]
    assert "has 0" in told["gone"]
    journal.close()


def test_replay_is_a_fold_that_calls_nobody() -> None:
    """Rows: S2-022"""
    forge = Forge()
    ledger = Ledger(MemoryJournal())
    ledger.execute_sync(Publish(forge).plan(ACME))
    assert replay(ledger.events(OP)) == Ok(ledger.state(OP))
    assert (forge.calls, forge.looks) == (1, 0)


# Another policy


@policy("small")
def small(matter: Matter) -> Decision:
    return Decision.allow() if matter.intent.labels["amount"] <= 50 else Decision.refuse("too much")


def test_old_decisions_are_put_to_a_new_policy() -> None:
    """Rows: S2-006"""
    rules = Policy("old", (RequireApproval(),))

    @effect("charge", capability=Natural(), policy=rules, amount="cents")
    def refund(charge: str, cents: int) -> str:
        return charge

    ledger = Ledger(MemoryJournal(), effects=[refund])
    for n in range(4):
        intent = refund.plan(f"c{n}", n * 30)
        ledger.plan(intent)
        if n:
            [asked] = [q for q in ledger.questions() if q.details["op_id"] == intent.op_id]
            ledger.answer(asked, True, by=Principal("ann"))
        ledger.execute_sync(intent)
    found = ledger.compare_policies(rules, Policy("new", (*rules.rules, *small.rules)))
    assert str(found) == "the new rule flips 2 of 4"
    assert [flip.op_id for flip in found.flips] == ["refund:c2", "refund:c3"]
    assert [type(flip.after).__name__ for flip in found.flips] == ["Denied", "Denied"]
    assert not ledger.compare_policies(rules, rules).flips
    strict = ledger.compare_policies(rules, Policy("two", (RequireApproval(count=2),)))
    assert len(strict.flips) == 3  # those that one yes had let through


def test_a_limit_is_compared_as_of_the_moment_of_each_decision() -> None:
    clock = FixedClock()

    @effect("charge", capability=Natural(), amount="cents")
    def refund(charge: str, cents: int) -> str:
        return charge

    ledger = Ledger(MemoryJournal(clock=clock), clock=clock)
    for n in range(6):
        ledger.execute_sync(refund.plan(f"c{n}", 40))
        clock.advance(days(0.3))
    new = Policy("limit", (Limit(spent(window=days(1)), 100),))
    flipped = [flip.op_id for flip in ledger.compare_policies(Policy("open"), new).flips]
    assert flipped == ["refund:c2", "refund:c3", "refund:c4", "refund:c5"]


def test_approvals_that_were_stale_then_stay_so() -> None:
    clock = FixedClock()
    rules = Policy("old", (RequireApproval(),))
    ledger = Ledger(MemoryJournal(clock=clock), clock=clock, policy=rules)
    intent = Publish(Forge()).plan(ACME)
    ledger.plan(intent)
    [asked] = ledger.questions()
    ledger.approve(OP, Approval("a", str(asked.details["binding"]), Principal("ann"), expires_at=clock.now() + 5))
    clock.advance(6)
    ledger.execute_sync(intent)
    ledger.cancel(OP, reason="enough")
    found = ledger.compare_policies(Policy("open"), Policy("new", rules.rules))
    assert str(found) == "the new rule flips 1 of 1"


def test_the_same_wish_under_another_id_is_told_and_not_refused() -> None:
    ledger = Ledger(MemoryJournal())
    lost = Publish(Forge(script=["drop"]), Opaque())
    ledger.execute_sync(lost.plan(ACME))
    twin = replace(lost.plan(ACME).record, op_id="publish:twin")
    from lawful.effects.contract import Intent

    again = Intent(twin, lost, ACME)
    assert [row.op_id for row in ledger.similar_open_ops(again)] == [OP]
    assert ledger.similar_open_ops(lost.plan(ACME)) == ()
    assert ledger.similar_open_ops(Publish(Forge()).plan(PullRequest("acme-2"))) == ()
