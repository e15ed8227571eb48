"""Over PostgreSQL what no kill shows: a worker paused past its lease, a store that is locked, a database from a copy."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lawful.core.errors import StoreError
from lawful.core.questions import Principal
from lawful.effects import EffectContext, InProgress, Ledger, Succeeded, Unknown
from lawful.testing.provider import FakeCommand, FakeEffect
from support.effect_crashes import KINDS, provider_of
from support.forks import Line, ended, fork
from support.pg import PgServer, skipped

pytestmark = [pytest.mark.integration, pytest.mark.postgres, pytest.mark.crash, skipped]

ORDER = FakeCommand("order-1")


def effect_on(folder: Path, kind: str) -> FakeEffect:
    return FakeEffect(provider_of(folder, kind), "pay", None, {"send_budget": 0.3, "timeout": 0.3})


def resolved(ledger: Ledger, effect: FakeEffect) -> Any:
    """Execute until the outcome is known or a person is asked."""
    until = time.monotonic() + 5
    while True:
        outcome = ledger.execute_sync(effect.plan(ORDER))
        waits = isinstance(outcome, InProgress) or (isinstance(outcome, Unknown) and outcome.next_step != "resolve")
        if not waits or time.monotonic() > until:
            return outcome
        time.sleep(0.1)


@contextmanager
def locked(pg: PgServer, schema: str) -> Generator[None]:
    """Nobody else reads or writes operations meanwhile."""
    import psycopg

    with psycopg.connect(pg.url()) as con:
        con.execute(f"LOCK TABLE {schema}.operation IN ACCESS EXCLUSIVE MODE".encode())
        yield
        con.rollback()


@pytest.mark.parametrize("kind", KINDS)
def test_a_worker_that_was_paused_past_its_lease_sends_nothing(
    pg: PgServer, schema: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C11, by SIGSTOP and SIGCONT. Ledger: L7, L11"""
    monkeypatch.setattr("lawful.effects.presence.LEASE", 0.5)
    line = Line()

    class Paused(FakeEffect):
        async def perform(self, command: FakeCommand, ctx: EffectContext) -> str:
            line.tell(1)
            time.sleep(0.1)  # the parent stops us here
            return await super().perform(command, ctx)

    def work() -> None:
        provider = provider_of(tmp_path, kind)
        effect = Paused(provider, "pay", None, {"send_budget": 0.3, "timeout": 0.3})
        outcome = Ledger(pg.journal(schema)).execute_sync(effect.plan(ORDER))
        assert provider.calls == 0, "it sent after its lease"
        assert not isinstance(outcome, Succeeded) or outcome.recorded

    child = fork(work)
    line.listen()
    os.kill(child, signal.SIGSTOP)
    time.sleep(0.7)
    journal = pg.journal(schema)
    outcome = resolved(Ledger(journal), effect_on(tmp_path, kind))
    os.kill(child, signal.SIGCONT)
    assert ended(child) == 0
    effects = provider_of(tmp_path, kind).applied.get("order-1", 0)
    assert (type(outcome), effects) == ((Unknown, 0) if kind == "neither" else (Succeeded, 1))
    journal.close()


def test_a_locked_store_at_the_claim_sends_nothing(pg: PgServer, schema: str, tmp_path: Path) -> None:
    """C13. Ledger: L3, L7"""
    journal = pg.journal(schema, busy_timeout=0.2)
    effect = effect_on(tmp_path, "keyed")
    ledger = Ledger(journal)
    ledger.plan(effect.plan(FakeCommand("warm")))
    with locked(pg, schema), pytest.raises(StoreError):
        ledger.execute_sync(effect.plan(ORDER))
    assert effect.provider.calls == 0
    assert isinstance(ledger.execute_sync(effect.plan(ORDER)), Succeeded)
    journal.close()


@pytest.mark.parametrize("kind", ["lookup", "neither"])
def test_an_outcome_that_cannot_be_written_is_kept_in_memory(
    pg: PgServer, schema: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C14: the process that has it writes it as soon as the store lets it. Ledger: L7"""
    monkeypatch.setattr("lawful.effects.drive._PAUSE", 0.001)
    journal = pg.journal(schema, busy_timeout=0.1)
    lock = locked(pg, schema)

    class Trouble(FakeEffect):
        async def perform(self, command: FakeCommand, ctx: EffectContext) -> str:
            receipt = await super().perform(command, ctx)
            lock.__enter__()
            return receipt

    effect = Trouble(provider_of(tmp_path, kind), "pay", None, {"timeout": 5.0})
    ledger = Ledger(journal)
    outcome = ledger.execute_sync(effect.plan(ORDER))
    assert isinstance(outcome, Unknown)
    assert "could not be written down" in outcome.reason
    lock.__exit__(None, None, None)
    again = effect_on(tmp_path, kind)
    assert isinstance(ledger.execute_sync(again.plan(ORDER)), Succeeded)
    assert (again.provider.calls, again.provider.looks) == (0, 0)
    assert again.provider.applied == {"order-1": 1}
    journal.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_database_from_a_copy_is_trusted_no_more_once_that_is_said(pg: PgServer, kind: str, tmp_path: Path) -> None:
    """C15: nothing beside a server tells a copy from the journal, so whoever restores it says so. Ledger: L7"""
    import psycopg

    from lawful.stores.postgres import PostgresJournal, setup

    old, new = f"old_{kind}_{os.getpid()}", f"new_{kind}_{os.getpid()}"
    admin = psycopg.connect(pg.url(), autocommit=True)
    admin.execute(f"CREATE DATABASE {new}".encode())
    setup(pg.url(database=new))
    journal = PostgresJournal(pg.url(database=new))
    assert isinstance(Ledger(journal).execute_sync(effect_on(tmp_path, kind).plan(FakeCommand("order-0"))), Succeeded)
    journal.close()
    copied = time.time()
    admin.execute(f"CREATE DATABASE {old} TEMPLATE {new}".encode())
    journal = PostgresJournal(pg.url(database=new))
    assert isinstance(Ledger(journal).execute_sync(effect_on(tmp_path, kind).plan(ORDER)), Succeeded)
    journal.close()
    restored = PostgresJournal(pg.url(database=old))
    ledger = Ledger(restored)
    ledger.quarantine(since=copied, by=Principal("ops"), reason="restored from the copy of noon")
    outcome = ledger.execute_sync(effect_on(tmp_path, kind).plan(ORDER))
    assert isinstance(outcome, Unknown if kind == "neither" else Succeeded), outcome
    assert isinstance(ledger.execute_sync(effect_on(tmp_path, kind).plan(FakeCommand("order-0"))), Succeeded)
    assert provider_of(tmp_path, kind).applied == {"order-0": 1, "order-1": 1}
    restored.close()
    for name in (old, new):
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
    admin.close()
