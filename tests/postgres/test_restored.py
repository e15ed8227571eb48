"""C15 over PostgreSQL: a database from a dump, a copy, an archive or a standby is noticed, and sends nothing a second time."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lawful.effects import Ledger, Succeeded, Unknown
from lawful.effects.marks import quarantine
from lawful.testing.provider import FakeCommand, FakeEffect
from support.effect_crashes import KINDS, provider_of
from support.forks import ended, fork
from support.pg import PgServer, skipped, unprivileged

pytestmark = [pytest.mark.integration, pytest.mark.postgres, pytest.mark.crash, skipped]

FIRST, ORDER = FakeCommand("order-0"), FakeCommand("order-1")
_NUMBERS = itertools.count()


def effect_on(folder: Path, kind: str) -> FakeEffect:
    return FakeEffect(provider_of(folder, kind), "pay", None, {"send_budget": 60.0, "timeout": 60.0})


def pays(journal: Any, folder: Path, kind: str, *commands: FakeCommand) -> None:
    for command in commands:
        outcome = Ledger(journal).execute_sync(effect_on(folder, kind).plan(command))
        assert isinstance(outcome, Succeeded), outcome


def doubted(journal: Any, folder: Path, kind: str) -> None:
    """The journal, older than the world, notices that and sends nothing again; what it knows of stays as it is."""
    ledger = Ledger(journal)
    outcome = ledger.execute_sync(effect_on(folder, kind).plan(ORDER))
    assert isinstance(outcome, Unknown if kind == "neither" else Succeeded), outcome
    held = journal.read(quarantine)
    assert held is not None
    assert held.by == "the journal itself"
    pays(journal, folder, kind, FIRST)
    assert provider_of(folder, kind).applied == {"order-0": 1, "order-1": 1}


def trusted(journal: Any) -> bool:
    return journal.read(quarantine) is None


@pytest.fixture
def database(pg: PgServer) -> Iterator[Callable[[], str]]:
    """Makes names of databases, which are dropped at the end."""
    made: list[str] = []

    def name() -> str:
        made.append(f"d{os.getpid()}_{next(_NUMBERS)}")
        return made[-1]

    yield name
    for each in made:
        pg.run(f"DROP DATABASE IF EXISTS {each} WITH (FORCE)")


@pytest.mark.parametrize("kind", KINDS)
def test_a_database_from_a_copy(pg: PgServer, database: Callable[[], str], kind: str, tmp_path: Path) -> None:
    """It has another number. Ledger: L7"""
    from lawful.stores.postgres import PostgresJournal, setup

    new, old = database(), database()
    pg.run(f"CREATE DATABASE {new}")
    setup(pg.url(database=new))
    journal = PostgresJournal(pg.url(database=new))
    pays(journal, tmp_path, kind, FIRST)
    journal.close()
    pg.run(f"CREATE DATABASE {old} TEMPLATE {new}")
    journal = PostgresJournal(pg.url(database=new))
    pays(journal, tmp_path, kind, ORDER)
    assert trusted(journal), "it is where it was"
    journal.close()
    restored = PostgresJournal(pg.url(database=old))
    doubted(restored, tmp_path, kind)
    assert Ledger(restored).end_quarantine()
    pays(restored, tmp_path, kind, FakeCommand("order-2"))
    restored.close()
    again = PostgresJournal(pg.url(database=old))
    pays(again, tmp_path, kind, FakeCommand("order-3"))
    assert trusted(again), "it has been told that this is its place now"
    again.close()


def test_a_schema_from_a_dump(pg: PgServer, tmp_path: Path) -> None:
    """Restored over the first one: its tables are others. Ledger: L7"""
    schema = pg.schema()
    journal = pg.journal(schema)
    pays(journal, tmp_path, "lookup", FIRST)
    dump = [pg.programs / "pg_dump", "-n", schema, pg.url()]
    told = subprocess.run(dump, check=True, capture_output=True, text=True).stdout
    pays(journal, tmp_path, "lookup", ORDER)
    journal.close()
    pg.run(f"DROP SCHEMA {schema} CASCADE")
    subprocess.run([pg.programs / "psql", "-q", pg.url()], input=told, check=True, text=True, capture_output=True)
    restored = pg.journal(schema)
    doubted(restored, tmp_path, "lookup")
    restored.close()


def test_a_database_that_is_put_in_the_place_of_an_open_one(
    pg: PgServer, database: Callable[[], str], tmp_path: Path
) -> None:
    """The process goes on over new connections, and notices at its next claim. Ledger: L7"""
    from lawful.stores.postgres import PostgresJournal, setup

    new, old, aside = database(), database(), database()
    pg.run(f"CREATE DATABASE {new}")
    setup(pg.url(database=new))
    first = PostgresJournal(pg.url(database=new))
    pays(first, tmp_path, "lookup", FIRST)
    first.close()
    pg.run(f"CREATE DATABASE {old} TEMPLATE {new}")
    journal = PostgresJournal(pg.url(database=new))
    pays(journal, tmp_path, "lookup", ORDER)
    end = f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname='{new}'"
    pg.run(end, f"ALTER DATABASE {new} RENAME TO {aside}", f"ALTER DATABASE {old} RENAME TO {new}")
    doubted(journal, tmp_path, "lookup")
    journal.close()


@pytest.fixture
def own() -> Iterator[PgServer]:
    server = PgServer()
    yield server
    server.remove()


def copied(data: Path, to: Path) -> None:
    subprocess.run(["cp", "-a", str(data), str(to)], check=True)


@pytest.mark.parametrize("encrypted", [False, True])
def test_a_server_from_a_copy_of_its_files(own: PgServer, tmp_path: Path, encrypted: bool) -> None:
    """Nothing in it tells it from the first; what lies beside the journal does. Ledger: L7"""
    from lawful.stores.encrypted_journal import EncryptedJournal
    from support.ciphers import TestCipher

    schema, data = own.schema(), own.folder / "data"

    def opened() -> Any:
        journal = own.journal(schema, beside=tmp_path / "beside")
        return EncryptedJournal(journal, TestCipher({"k": b"key"}, "k")) if encrypted else journal

    journal = opened()
    pays(journal, tmp_path, "lookup", FIRST)
    journal.close()
    own.stop()
    copied(data, own.folder / "copy")
    own.start()
    journal = opened()
    pays(journal, tmp_path, "lookup", ORDER)
    journal.close()
    own.stop()
    shutil.rmtree(data)
    (own.folder / "copy").rename(data)
    own.start()
    restored = opened()
    doubted(restored, tmp_path, "lookup")
    assert Ledger(restored).end_quarantine()
    restored.close()
    again = opened()
    pays(again, tmp_path, "lookup", FakeCommand("order-2"))
    assert trusted(again), "it is noticed once"
    again.close()


def test_a_standby_that_is_promoted_without_the_newest_claims(own: PgServer, tmp_path: Path) -> None:
    """It goes on along another timeline. So does a server that is recovered from an archive. Ledger: L7"""
    schema, data = own.schema(), own.folder / "data"
    journal = own.journal(schema)
    pays(journal, tmp_path, "lookup", FIRST)
    backup = [
        own.programs / "pg_basebackup",
        "-d",
        own.url(),
        "-D",
        own.folder / "standby",
        "-c",
        "fast",
        "-X",
        "fetch",
    ]
    subprocess.run(backup, check=True, capture_output=True, cwd="/", **unprivileged())
    pays(journal, tmp_path, "lookup", ORDER)
    journal.close()
    own.stop()
    shutil.rmtree(data)
    (own.folder / "standby").rename(data)
    (data / "standby.signal").touch()
    own.start()
    own.run("SELECT pg_promote()")
    restored = own.journal(schema)
    doubted(restored, tmp_path, "lookup")
    held = restored.read(quarantine)
    assert held is not None
    assert "timeline 00000002" in held.reason
    restored.close()


def test_a_role_that_may_ask_nothing_of_the_server_claims_all_the_same(
    pg: PgServer, schema: str, tmp_path: Path
) -> None:
    from lawful.stores.postgres import grants

    role = f"r{os.getpid()}_{next(_NUMBERS)}"
    pg.run(f"CREATE ROLE {role} LOGIN", *grants(role, schema=schema).splitlines())
    functions = ("pg_control_system()", "pg_walfile_name(pg_lsn)")
    for function in functions:
        pg.run(f"REVOKE EXECUTE ON FUNCTION {function} FROM PUBLIC")
    try:
        journal = pg.journal(schema, url=pg.url(user=role))
        pays(journal, tmp_path, "keyed", FIRST)
        assert journal.identity.startswith("cluster ? timeline ? database ")
        journal.close()
    finally:
        for function in functions:
            pg.run(f"GRANT EXECUTE ON FUNCTION {function} TO PUBLIC")
        pg.run(f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_what_many_processes_note_beside_one_journal_is_never_ahead_of_it(
    pg: PgServer, schema: str, tmp_path: Path
) -> None:
    """Each looks while the others claim, and none takes a claim that it cannot see yet for a lost one."""
    go = tmp_path / "go"

    def work(worker: int) -> None:
        while not go.exists():
            time.sleep(0.001)
        for n in range(12):
            journal = pg.journal(schema, beside=tmp_path / "beside")
            pays(journal, tmp_path, "keyed", FakeCommand(f"{worker}-{n}"))
            journal.close()

    children = [fork(lambda n=n: work(n)) for n in range(4)]
    go.touch()
    assert [ended(child) for child in children] == [0] * 4
    journal = pg.journal(schema)
    assert trusted(journal)
    journal.close()
