"""What a policy may demand beside yes: several people, not the requester, sums and rates; all of it read in the claim."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from lawful.core.clock import FixedClock
from lawful.core.errors import AlreadyAnswered, ConfigurationError, EffectDenied, ValidationError
from lawful.core.questions import Principal
from lawful.effects import (
    Approval,
    AwaitingApproval,
    Decision,
    Denied,
    Ledger,
    Limit,
    Natural,
    Opaque,
    Policy,
    RequireApproval,
    Succeeded,
    counted,
    days,
    effect,
    minutes,
    policy,
    rate_limit,
    spent,
)
from lawful.effects.policy import Matter
from lawful.effects.short import SyncEffect
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from lawful.stores.sqlite import SQLiteJournal

pytestmark = pytest.mark.unit

DAILY = Policy("daily", (Limit(spent(by="customer", window=days(1)), 100),))


def refunds(rules: Policy | None, sent: list[int]) -> SyncEffect[[str, str, int], str]:
    @effect("charge", capability=Natural(), policy=rules, labels=["customer"], amount="cents")
    def refund(charge: str, customer: str, cents: int) -> str:
        sent.append(cents)
        return charge

    return refund


def test_a_daily_sum_for_each_customer_holds_what_would_pass_it() -> None:
    clock, sent = FixedClock(), list[int]()
    ledger, refund = Ledger(MemoryJournal(clock=clock), clock=clock), refunds(DAILY, sent)
    assert isinstance(ledger.execute_sync(refund.plan("c1", "ann", 70)), Succeeded)
    held = ledger.execute_sync(refund.plan("c2", "ann", 40))
    assert isinstance(held, Denied)
    assert not held.lasting
    assert "70 + 40 is above 100" in held.reason
    assert isinstance(ledger.execute_sync(refund.plan("c3", "bob", 40)), Succeeded)
    assert isinstance(ledger.execute_sync(refund.plan("c4", "ann", 30)), Succeeded)
    assert isinstance(ledger.execute_sync(refund.plan("c5", "ann", 101)), Denied)
    assert sent == [70, 40, 30]
    # Held is not given up: when the window has moved on, the same operation goes through.
    clock.advance(days(1))
    assert isinstance(ledger.execute_sync(refund.plan("c2", "ann", 40)), Succeeded)
    assert sent == [70, 40, 30, 40]


def test_what_certainly_did_not_happen_does_not_count() -> None:
    sent: list[int] = []

    @effect("charge", capability=Opaque(), policy=DAILY, labels=["customer"], amount="cents")
    def refund(charge: str, customer: str, cents: int) -> str:
        from lawful.core.errors import EffectRefused

        if charge == "refused":
            raise EffectRefused("no such charge")
        if charge == "lost":
            raise ConnectionError("no reply")
        sent.append(cents)
        return charge

    ledger = Ledger(MemoryJournal())
    ledger.execute_sync(refund.plan("refused", "ann", 90))
    assert isinstance(ledger.execute_sync(refund.plan("c1", "ann", 20)), Succeeded)
    ledger.execute_sync(refund.plan("lost", "ann", 60))  # may have happened, so it counts
    assert isinstance(ledger.execute_sync(refund.plan("c2", "ann", 30)), Denied)
    assert isinstance(ledger.execute_sync(refund.plan("c3", "ann", 20)), Succeeded)


def test_a_rate_is_a_count_within_a_window() -> None:
    clock, sent = FixedClock(), list[int]()
    refund = refunds(Policy("rate", (rate_limit(2, per=minutes(1)),)), sent)
    ledger = Ledger(MemoryJournal(clock=clock), clock=clock)
    ends = [type(ledger.execute_sync(refund.plan(f"c{n}", "ann", 1))).__name__ for n in range(3)]
    assert ends == ["Succeeded", "Succeeded", "Denied"]
    clock.advance(59.999)
    assert isinstance(ledger.execute_sync(refund.plan("c2", "ann", 1)), Denied)
    clock.advance(0.001)
    assert isinstance(ledger.execute_sync(refund.plan("c2", "ann", 1)), Succeeded)


def test_an_effect_without_the_labels_of_its_limit_is_denied_for_good() -> None:
    @effect("charge", capability=Natural(), policy=DAILY)
    def refund(charge: str) -> str:
        raise AssertionError("not sent")

    outcome = Ledger(MemoryJournal()).execute_sync(refund.plan("c1"))
    assert isinstance(outcome, Denied)
    assert outcome.lasting
    assert "labels customer, amount" in outcome.reason


def test_a_rule_of_ones_own_reads_what_it_declares_and_nothing_else() -> None:
    today = counted(by="customer", window=days(1))

    @policy("careful", reads=[today])
    def careful(matter: Matter) -> Decision:
        return Decision.needs_approval("boss") if matter.total(today) else Decision.allow()

    sent: list[int] = []
    ledger, refund = Ledger(MemoryJournal()), refunds(careful, sent)
    assert isinstance(ledger.execute_sync(refund.plan("c1", "ann", 1)), Succeeded)
    assert isinstance(ledger.execute_sync(refund.plan("c2", "ann", 1)), AwaitingApproval)

    @policy("sly")
    def sly(matter: Matter) -> Decision:
        return Decision.allow() if matter.total(today) else Decision.refuse("no")

    with pytest.raises(ConfigurationError, match="without declaring"):
        ledger.execute_sync(refunds(sly, sent).plan("c3", "ann", 1))
    assert sent == [1]


def test_labels_are_scalars_and_named_by_arguments() -> None:
    with pytest.raises(ConfigurationError, match="Did you mean 'cents'"):
        effect("charge", amount="cent")(lambda charge, cents: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]

    @effect("charge", labels=["tags"])
    def tag(charge: str, tags: list[str]) -> None: ...

    with pytest.raises(ValidationError, match="label 'tags'"):
        tag.plan("c1", ["a"])


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_two_hundred_refunds_at_once_never_pass_the_daily_limit(kind: str, tmp_path: Path) -> None:
    """Rows: S2-020"""
    journal: Journal = MemoryJournal() if kind == "memory" else SQLiteJournal(tmp_path / "j.db")
    sent: list[int] = []
    refund = refunds(Policy("daily", (Limit(spent(by="customer", window=days(1)), 300),)), sent)
    ledger = Ledger(journal)
    together = threading.Barrier(200)

    def work(n: int) -> None:
        together.wait(30)
        ledger.execute_sync(refund.plan(f"c{n}", "ann", 7))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sum(sent) == 294
    journal.close()


# People


BOTH = Policy("both", (RequireApproval("release", count=2, exclude_requester=True),))
ANN, BOB, CAT = (Principal(name, ("release",)) for name in ("ann", "bob", "cat"))


def test_two_people_of_a_role_and_not_the_requester() -> None:
    """Rows: S2-018, S2-020"""
    sent: list[int] = []
    refund = refunds(BOTH, sent)
    ledger = Ledger(MemoryJournal(), effects=[refund])
    intent = refund.plan("c1", "x", 1)
    ledger.plan(intent, requester=ANN)
    [asked] = ledger.questions(role="release")
    assert (asked.details["count"], asked.details["requester"]) == (2, "ann")
    ledger.answer(asked, True, by=ANN)
    ledger.answer(asked, True, by=BOB)
    waiting = ledger.execute_sync(intent)
    assert isinstance(waiting, AwaitingApproval)
    assert waiting.count == 1
    assert "by the requester" in str(ledger.explain(intent.op_id).findings)
    [asked] = ledger.questions(role="release")
    with pytest.raises(EffectDenied, match="has not the role 'release'"):
        ledger.answer(asked, True, by=Principal("eve", ("sales",)))
    ledger.answer(asked, True, by=CAT)
    assert isinstance(ledger.execute_sync(intent), Succeeded)
    assert ledger.questions() == ()
    assert sent == [1]


def test_the_second_of_two_answers_is_told_whose_stands() -> None:
    refund = refunds(Policy("one", (RequireApproval(),)), [])
    ledger = Ledger(MemoryJournal(), effects=[refund])
    intent = refund.plan("c1", "x", 1)
    ledger.plan(intent)
    [asked] = ledger.questions()
    assert ledger.questions(role="release") == ()
    ledger.answer(asked, False, by=ANN)
    again = Approval("other", str(asked.details["binding"]), ANN)
    with pytest.raises(AlreadyAnswered, match="ann said no"):
        ledger.approve(intent.op_id, again)
    # Taken back, it may be given anew.
    ledger.revoke(intent.op_id, f"{asked.id}:ann", by=ANN)
    ledger.approve(intent.op_id, again)
    assert isinstance(ledger.execute_sync(intent), Succeeded)
    with pytest.raises(AlreadyAnswered, match="ann said yes"):
        ledger.answer(asked, True, by=BOB)


@pytest.mark.parametrize("given", ["yes", 1, None])
def test_only_yes_or_no_answers_an_approval(given: Any) -> None:
    refund = refunds(Policy("one", (RequireApproval(),)), [])
    ledger = Ledger(MemoryJournal(), effects=[refund])
    ledger.plan(refund.plan("c1", "x", 1))
    with pytest.raises(ValidationError, match="True or False"):
        ledger.answer(ledger.questions()[0], given, by=ANN)
