"""What no kill shows: a worker paused past its lease, a store that is full, locked or restored from a copy, and races."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from lawful.core.errors import StoreFull, StoreLocked
from lawful.core.questions import Principal
from lawful.effects import EffectContext, InProgress, Ledger, Refused, Succeeded, Unknown
from lawful.effects import states as st
from lawful.stores.sqlite import SQLiteJournal
from lawful.testing.provider import FakeCommand, FakeEffect
from support.connections import connection_of
from support.effect_crashes import KINDS, provider_of
from support.forks import Line, ended, fork, kill

pytestmark = pytest.mark.crash

ORDER = FakeCommand("order-1")
OP = "pay:order-1"


def effect_on(folder: Path, kind: str, **fields: Any) -> FakeEffect:
    given: dict[str, Any] = {"send_budget": 0.15, "timeout": 0.15, **fields}
    return FakeEffect(provider_of(folder, kind), "pay", None, given)


@pytest.fixture(autouse=True)
def short_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a paused worker's claim is over within the test's patience."""
    monkeypatch.setattr("lawful.effects.presence.LEASE", 0.3)


def resolved(ledger: Ledger, effect: FakeEffect, patience: float = 3.0) -> Any:
    """Execute until the outcome is known or a person is asked."""
    until = time.monotonic() + patience
    while True:
        outcome = ledger.execute_sync(effect.plan(ORDER))
        waits = isinstance(outcome, InProgress) or (isinstance(outcome, Unknown) and outcome.next_step != "resolve")
        if not waits or time.monotonic() > until:
            return outcome
        time.sleep(0.1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_worker_that_was_paused_past_its_lease_sends_nothing(kind: str, tmp_path: Path) -> None:
    """C11, by SIGSTOP and SIGCONT. Ledger: L7, L11"""
    path, line = tmp_path / "j.db", Line()

    class Paused(FakeEffect):
        async def perform(self, command: FakeCommand, ctx: EffectContext) -> str:
            line.tell(1)
            time.sleep(0.05)  # the parent stops us here
            return await super().perform(command, ctx)

    def work() -> None:
        provider = provider_of(tmp_path, kind)
        effect = Paused(provider, "pay", None, {"send_budget": 0.15, "timeout": 0.15})
        outcome = Ledger(SQLiteJournal(path)).execute_sync(effect.plan(ORDER))
        assert provider.calls == 0, "it sent after its lease"
        assert not isinstance(outcome, Succeeded) or outcome.recorded

    SQLiteJournal(path).close()
    child = fork(work)
    line.listen()
    os.kill(child, signal.SIGSTOP)
    time.sleep(0.5)
    journal = SQLiteJournal(path)
    outcome = resolved(Ledger(journal), effect_on(tmp_path, kind))
    os.kill(child, signal.SIGCONT)
    assert ended(child) == 0
    effects = provider_of(tmp_path, kind).applied.get("order-1", 0)
    if kind == "neither":
        assert isinstance(outcome, Unknown)
        assert effects == 0
    else:
        assert isinstance(outcome, Succeeded)
        assert effects == 1
    journal.close()


def test_a_receipt_that_comes_after_the_lease_is_taken(tmp_path: Path) -> None:
    """Ledger: L11"""
    path, line = tmp_path / "j.db", Line()

    class Slow(FakeEffect):
        async def perform(self, command: FakeCommand, ctx: EffectContext) -> str:
            receipt = await super().perform(command, ctx)
            line.tell(1)
            time.sleep(0.3)  # the parent stops us here, the reply in hand
            return receipt

    def work() -> None:
        effect = Slow(provider_of(tmp_path, "neither"), "pay", None, {"send_budget": 0.15, "timeout": 0.15})
        Ledger(SQLiteJournal(path)).execute_sync(effect.plan(ORDER))

    SQLiteJournal(path).close()
    child = fork(work)
    line.listen()
    os.kill(child, signal.SIGSTOP)
    time.sleep(0.5)
    journal = SQLiteJournal(path)
    ledger = Ledger(journal)
    assert isinstance(ledger.execute_sync(effect_on(tmp_path, "neither").plan(ORDER)), Unknown)
    os.kill(child, signal.SIGCONT)
    assert ended(child) == 0
    state = ledger.state(OP)
    assert isinstance(state, st.Succeeded)
    assert state.receipt.source == "late_reply"
    journal.close()


# A store in trouble


def fill(journal: SQLiteJournal) -> None:
    con = connection_of(journal)
    con.execute(f"PRAGMA max_page_count={con.execute('PRAGMA page_count').fetchone()[0]}")


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_store_at_the_claim_sends_nothing(kind: str, tmp_path: Path) -> None:
    """C13. Ledger: L3, L7"""
    journal = SQLiteJournal(tmp_path / "j.db")
    effect = effect_on(tmp_path, kind)
    ledger = Ledger(journal)
    ledger.plan(effect.plan(FakeCommand("warm")))
    fill(journal)
    big = effect.plan(FakeCommand("order-1", "x" * 100_000))
    with pytest.raises(StoreFull):
        ledger.execute_sync(big)
    assert effect.provider.calls == 0
    connection_of(journal).execute("PRAGMA max_page_count=1000000")
    assert isinstance(ledger.execute_sync(big), Succeeded)
    assert effect.provider.applied == {"order-1": 1}
    journal.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_locked_store_at_the_claim_sends_nothing(kind: str, tmp_path: Path) -> None:
    """C13. Ledger: L3, L7"""
    path = tmp_path / "j.db"
    journal = SQLiteJournal(path, busy_timeout=0.05)
    effect = effect_on(tmp_path, kind)
    ledger = Ledger(journal)
    ledger.plan(effect.plan(FakeCommand("warm")))
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreLocked):
        ledger.execute_sync(effect.plan(ORDER))
    assert effect.provider.calls == 0
    holder.execute("ROLLBACK")
    holder.close()
    assert isinstance(ledger.execute_sync(effect.plan(ORDER)), Succeeded)
    assert effect.provider.applied == {"order-1": 1}
    journal.close()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["full", "locked"])
def test_a_store_that_fails_at_the_outcome_loses_nothing(
    kind: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C14. Ledger: L7"""
    monkeypatch.setattr("lawful.effects.drive._PAUSE", 0.001)
    path = tmp_path / "j.db"
    journal = SQLiteJournal(path, busy_timeout=0.02)
    holder = sqlite3.connect(path, isolation_level=None)

    class Trouble(FakeEffect):
        async def perform(self, command: FakeCommand, ctx: EffectContext) -> str:
            await super().perform(command, ctx)
            if how == "locked":
                holder.execute("BEGIN IMMEDIATE")
            else:
                fill(journal)
            return "r" * 100_000

    effect = Trouble(provider_of(tmp_path, kind), "pay", None, {"timeout": 5.0})
    outcome = Ledger(journal).execute_sync(effect.plan(ORDER))
    assert isinstance(outcome, Unknown)
    assert "could not be written down" in outcome.reason
    if how == "locked":
        holder.execute("ROLLBACK")
    holder.close()
    journal.close()
    # Another process, the store in order again: the outcome is in the spool, so nobody is asked and nothing is sent.
    after = SQLiteJournal(path)
    again = effect_on(tmp_path, kind)
    told = Ledger(after).execute_sync(again.plan(ORDER))
    assert isinstance(told, Succeeded)
    assert len(told.receipt) == 100_000
    assert (again.provider.calls, again.provider.looks) == (0, 0)
    assert again.provider.applied == {"order-1": 1}
    after.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_journal_restored_from_a_copy_sends_nothing_a_second_time(kind: str, tmp_path: Path) -> None:
    """C15. Ledger: L7"""
    path = tmp_path / "j.db"
    journal = SQLiteJournal(path)
    Ledger(journal).execute_sync(effect_on(tmp_path, kind).plan(FakeCommand("order-0")))
    journal.close()
    shutil.copy(path, tmp_path / "copy.db")
    journal = SQLiteJournal(path)
    assert isinstance(Ledger(journal).execute_sync(effect_on(tmp_path, kind).plan(ORDER)), Succeeded)
    journal.close()
    shutil.move(tmp_path / "copy.db", path)
    for side in ("-wal", "-shm"):
        Path(f"{path}{side}").unlink(missing_ok=True)

    def after() -> None:
        effect = effect_on(tmp_path, kind)
        old = SQLiteJournal(path)
        outcome = Ledger(old).execute_sync(effect.plan(ORDER))
        if kind == "neither":
            assert isinstance(outcome, Unknown), outcome
            assert outcome.next_step == "resolve"
            assert "restored" in outcome.reason
        else:
            assert isinstance(outcome, Succeeded), outcome
        assert isinstance(Ledger(old).execute_sync(effect.plan(FakeCommand("order-0"))), Succeeded)

    assert ended(fork(after)) == 0
    assert provider_of(tmp_path, kind).applied == {"order-0": 1, "order-1": 1}


def test_a_new_journal_in_the_place_of_another_is_no_restored_one(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    journal = SQLiteJournal(path)
    Ledger(journal).execute_sync(effect_on(tmp_path, "neither").plan(ORDER))
    journal.close()
    path.unlink()
    after = SQLiteJournal(path)
    assert isinstance(Ledger(after).execute_sync(effect_on(tmp_path, "neither").plan(FakeCommand("other"))), Succeeded)
    after.close()


# Races


def test_two_processes_of_sixteen_threads_race_for_one_claim(tmp_path: Path) -> None:
    """Ledger: L6"""
    path, go = tmp_path / "j.db", tmp_path / "go"
    SQLiteJournal(path).close()

    class Slow(FakeEffect):
        async def perform(self, command: FakeCommand, ctx: EffectContext) -> str:
            receipt = await super().perform(command, ctx)
            time.sleep(0.3)
            return receipt

    def work() -> None:
        journal = SQLiteJournal(path, busy_timeout=30.0)
        effect = Slow(provider_of(tmp_path, "neither"), "pay", None, {"timeout": 20.0})
        while not go.exists():
            time.sleep(0.001)
        ends: list[Any] = []
        threads = [
            threading.Thread(target=lambda: ends.append(Ledger(journal).execute_sync(effect.plan(ORDER))))
            for _ in range(16)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert len(ends) == 16
        assert all(isinstance(end, (InProgress, Succeeded)) for end in ends), ends

    children = [fork(work) for _ in range(2)]
    go.touch()
    assert [ended(child) for child in children] == [0, 0]
    assert provider_of(tmp_path, "neither").applied == {"order-1": 1}
    journal = SQLiteJournal(path)
    kinds = [type(event).__name__ for event in Ledger(journal).events(OP)]
    assert kinds.count("Claimed") == 1
    journal.close()


def test_a_freeze_of_another_process_stops_four_workers(tmp_path: Path) -> None:
    path, line = tmp_path / "j.db", Line()
    SQLiteJournal(path).close()

    def work(worker: int) -> None:
        journal = SQLiteJournal(path, busy_timeout=30.0)
        effect = effect_on(tmp_path, "neither", timeout=5.0, send_budget=10.0)
        ledger = Ledger(journal)
        for n in range(10_000):
            outcome = ledger.execute_sync(effect.plan(FakeCommand(f"{worker}-{n}")))
            if n == 3:
                line.tell(worker)
            if not isinstance(outcome, Succeeded):
                assert isinstance(outcome, Refused) or not getattr(outcome, "lasting", True), outcome
                return
        raise AssertionError("nobody froze it")

    children = [fork(lambda n=n: work(n)) for n in range(4)]
    for _ in children:
        line.listen()
    journal = SQLiteJournal(path, busy_timeout=30.0)
    ledger = Ledger(journal)
    flying = ledger.freeze("pay", by=Principal("ada"), reason="incident")
    assert [ended(child) for child in children] == [0] * 4
    rows = journal.read(lambda tx: list(tx.operations()))
    [frozen] = ledger.freezes()
    late = [row.op_id for row in rows if row.claimed_at is not None and row.claimed_at > frozen.at]
    assert late == []
    assert sum(provider_of(tmp_path, "neither").applied.values()) == sum(row.state == "Succeeded" for row in rows)
    assert len(flying) <= 4
    journal.close()


def test_a_worker_that_dies_holding_a_freeze_leaves_it_standing(tmp_path: Path) -> None:
    path, line = tmp_path / "j.db", Line()
    SQLiteJournal(path).close()

    def work() -> None:
        Ledger(SQLiteJournal(path)).freeze("*", by=Principal("ada"), reason="x")
        line.tell(1)
        time.sleep(30)

    child = fork(work)
    line.listen()
    kill(child)
    journal = SQLiteJournal(path)
    effect = effect_on(tmp_path, "keyed")
    Ledger(journal).execute_sync(effect.plan(ORDER))
    assert effect.provider.calls == 0
    journal.close()
