"""Freezes, quarantine, workers that may not perform, the spool: nothing sent that must not be, no outcome lost."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from lawful.core.clock import FixedClock
from lawful.core.errors import StoreFull
from lawful.core.questions import Principal
from lawful.effects import (
    Denied,
    EffectContext,
    Happened,
    InProgress,
    Ledger,
    Natural,
    Opaque,
    Refused,
    Succeeded,
    Unknown,
    recover_sync,
)
from lawful.effects import states as st
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from lawful.stores.sqlite import SQLiteJournal
from support.effects import KEYED, STRONG, Forge, Publish, PullRequest

pytestmark = pytest.mark.unit

ACME = PullRequest("acme")
OP = "publish:acme@abc"
ALICE = Principal("alice")


@pytest.mark.parametrize("pattern", ["*", "publish", "publish:acme@*"])
def test_nothing_that_is_frozen_is_claimed_and_nothing_is_given_up(pattern: str) -> None:
    journal, forge = MemoryJournal(), Forge()
    other = Ledger(journal)
    assert other.freeze(pattern, by=ALICE, reason="incident 7") == ()
    ledger = Ledger(journal, effects=[Publish(forge)])
    held = ledger.execute_sync(Publish(forge).plan(ACME))
    assert isinstance(held, Denied)
    assert not held.lasting
    assert "incident 7" in held.reason
    assert "incident 7" in ledger.explain(OP).held
    assert (forge.calls, st.name_of(ledger.state(OP))) == (0, "Planned")
    assert [each.pattern for each in ledger.freezes()] == [pattern]
    assert not other.thaw("something else")
    assert other.thaw(pattern)
    assert isinstance(ledger.execute_sync(Publish(forge).plan(ACME)), Succeeded)


def test_a_freeze_of_something_else_holds_nothing_up() -> None:
    journal, forge = MemoryJournal(), Forge()
    Ledger(journal).freeze("mail*", by=ALICE, reason="x")
    assert isinstance(Ledger(journal).execute_sync(Publish(forge).plan(ACME)), Succeeded)


def test_what_was_claimed_before_a_freeze_is_not_sent_after_it() -> None:
    journal, forge = MemoryJournal(), Forge()
    flying: list[str] = []

    class Slow(Publish):
        async def perform(self, command: PullRequest, ctx: EffectContext) -> str:
            flying.extend(row.op_id for row in Ledger(journal).freeze("*", by=ALICE, reason="stop"))
            return await super().perform(command, ctx)

    outcome = Ledger(journal).execute_sync(Slow(forge, Opaque()).plan(ACME))
    assert isinstance(outcome, Refused)
    assert outcome.retryable
    assert "stop" in outcome.message
    assert (flying, forge.calls) == ([OP], 0)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_four_workers_send_nothing_after_a_freeze(kind: str, tmp_path: Path) -> None:
    journal: Journal = MemoryJournal() if kind == "memory" else SQLiteJournal(tmp_path / "j.db")
    frozen, late = threading.Event(), list[str]()
    sending = threading.Lock()

    class Watched(Publish):
        async def perform(self, command: PullRequest, ctx: EffectContext) -> str:
            with sending:  # so that no freeze falls between the check and the packet
                ctx.before_send()
                if frozen.is_set():
                    late.append(command.repo)
            return command.repo

    forge, ends = Forge(), list[str]()
    publish = Watched(forge, Natural())

    def work(worker: int) -> None:
        ledger = Ledger(journal)
        for n in range(20):
            ends.append(type(ledger.execute_sync(publish.plan(PullRequest(f"acme-{worker}-{n}")))).__name__)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    while len(ends) < 20:
        pass
    with sending:
        Ledger(journal).freeze("*", by=ALICE, reason="stop")
        frozen.set()
    for thread in threads:
        thread.join(30)
    assert late == []
    assert ends.count("Denied") + ends.count("Refused") >= 1
    assert set(ends) <= {"Succeeded", "Denied", "Refused"}
    journal.close()


def test_a_worker_plans_and_the_coordinator_performs() -> None:
    """Rows: S2-028, S2-015"""
    journal, forge = MemoryJournal(), Forge()
    publish = Publish(forge, STRONG)
    coordinator = Ledger(journal, effects=[publish])
    worker = coordinator.worker()
    held = worker.execute_sync(publish.plan(ACME))
    assert isinstance(held, Denied)
    assert not held.lasting
    assert "coordinator" in held.reason
    assert forge.calls == 0
    assert isinstance(coordinator.execute_sync(coordinator.intent(OP)), Succeeded)
    assert worker.execute_sync(publish.plan(ACME)) == Succeeded("https://forge/acme", OP, recorded=True)
    assert forge.calls == 1


# A journal restored from a copy


def restored(capability: Any, *, happened: bool, age: float = 100.0) -> tuple[Ledger, Publish, FixedClock]:
    """A ledger whose file was copied ``age`` seconds ago, and what may have happened since."""
    clock = FixedClock()
    forge = Forge(applied=["acme"] if happened else [])
    publish = Publish(forge, capability)
    ledger = Ledger(MemoryJournal(clock=clock), clock=clock, effects=[publish])
    ledger.quarantine(since=clock.now() - age, by=ALICE, reason="restored")
    return ledger, publish, clock


@pytest.mark.parametrize("planned", [False, True])
def test_in_quarantine_what_happened_after_the_copy_is_found_and_not_sent_again(planned: bool) -> None:
    ledger, publish, _ = restored(STRONG, happened=True)
    if planned:
        ledger.plan(publish.plan(ACME))
    assert ledger.execute_sync(publish.plan(ACME)) == Succeeded("https://forge/acme", OP, recorded=True)
    assert publish.forge.calls == 0


def test_in_quarantine_absence_is_final_only_after_what_was_in_flight() -> None:
    ledger, publish, clock = restored(STRONG, happened=False)
    assert isinstance(ledger.execute_sync(publish.plan(ACME)), Unknown)
    assert publish.forge.calls == 0
    clock.advance(61.0)
    assert isinstance(ledger.execute_sync(publish.plan(ACME)), Succeeded)
    assert publish.forge.calls == 1


@pytest.mark.parametrize("age, calls", [(100.0, 1), (3600.0, 0)])
def test_in_quarantine_a_key_counts_from_the_copy(age: float, calls: int) -> None:
    ledger, publish, _ = restored(KEYED, happened=False, age=age)
    publish.forge.sight = ["down"] * 5
    ledger.execute_sync(publish.plan(ACME))
    assert publish.forge.calls == calls


def test_in_quarantine_a_person_is_asked_where_nothing_can_be_looked_up() -> None:
    ledger, publish, _ = restored(Opaque(), happened=True)
    outcome = ledger.execute_sync(publish.plan(ACME))
    assert isinstance(outcome, Unknown)
    assert outcome.next_step == "resolve"
    assert publish.forge.calls == 0
    [asked] = ledger.questions()
    assert ledger.answer(asked, Happened("seen"), by=ALICE) == "Succeeded"
    assert ledger.end_quarantine()
    assert not ledger.end_quarantine()
    assert isinstance(ledger.execute_sync(publish.plan(PullRequest("acme-2"))), Succeeded)


def test_what_had_ended_before_the_copy_stays_so() -> None:
    journal, forge = MemoryJournal(), Forge()
    publish = Publish(forge, Opaque())
    ledger = Ledger(journal)
    ledger.execute_sync(publish.plan(ACME))
    ledger.quarantine(since=0.0, by=ALICE, reason="restored")
    assert ledger.execute_sync(publish.plan(ACME)) == Succeeded("https://forge/acme", OP, recorded=True)
    assert forge.calls == 1


# Outcomes that the journal would not take


def full_at_the_outcome(journal: Any) -> None:
    """Refuse every transaction after the claim's until told otherwise."""
    inner, count = journal.transact, [0]

    def transact(work: Any, *, durable: bool = True) -> Any:
        count[0] += 1
        if count[0] > 1:
            raise StoreFull("the disk is full", component="journal")
        return inner(work, durable=durable)

    journal.transact = transact


@pytest.mark.parametrize("by", ["execute", "recover", "reconcile"])
def test_an_outcome_that_could_not_be_written_is_kept_and_written_later(
    tmp_path: Path, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lawful.effects.drive._PAUSE", 0.0)
    path = tmp_path / "j.db"
    journal = SQLiteJournal(path)
    forge = Forge()
    publish = Publish(forge, Opaque())
    full_at_the_outcome(journal)
    lost = Ledger(journal).execute_sync(publish.plan(ACME))
    assert isinstance(lost, Unknown)
    assert "disk is full" in lost.reason
    assert list((tmp_path / "j.db-spool").glob("*.json"))
    journal.close()
    # Another process: without the spool a person would have to be asked, for nothing can be looked up.
    after = SQLiteJournal(path)
    ledger = Ledger(after, effects=[publish])
    if by == "execute":
        assert ledger.execute_sync(publish.plan(ACME)) == Succeeded("https://forge/acme", OP, recorded=True)
    elif by == "recover":
        recover_sync(after, [publish])
    else:
        ledger.reconcile_sync(OP)
    assert st.name_of(ledger.state(OP)) == "Succeeded"
    assert forge.calls == 1
    assert list((tmp_path / "j.db-spool").glob("*")) == []
    after.close()


def test_an_outcome_is_kept_in_memory_where_the_disk_takes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lawful.effects.drive._PAUSE", 0.0)
    (tmp_path / "file").write_text("")
    journal, forge = MemoryJournal(), Forge()
    publish = Publish(forge, Opaque())
    ledger = Ledger(journal, spool=tmp_path / "file" / "impossible")
    inner = journal.transact
    full_at_the_outcome(journal)
    assert isinstance(ledger.execute_sync(publish.plan(ACME)), Unknown)
    monkeypatch.setattr(journal, "transact", inner)
    assert isinstance(ledger.execute_sync(publish.plan(ACME)), Succeeded)
    assert not isinstance(ledger.execute_sync(publish.plan(ACME)), InProgress)
    assert forge.calls == 1
