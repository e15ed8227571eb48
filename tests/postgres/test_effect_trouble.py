"""Over PostgreSQL what no kill shows: a worker paused past its lease, a store that is locked, full, closed or down."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lawful.core.errors import StoreError, StoreFull, StoreLocked
from lawful.effects import EffectContext, InProgress, Ledger, Succeeded, Unknown
from lawful.effects import states as st
from lawful.testing.provider import FakeCommand, FakeEffect
from support.effect_crashes import KINDS, provider_of
from support.forks import Line, ended, fork
from support.pg import PgServer, skipped

pytestmark = [pytest.mark.integration, pytest.mark.postgres, pytest.mark.crash, skipped]

ORDER = FakeCommand("order-1")


def effect_on(folder: Path, kind: str) -> FakeEffect:
    return FakeEffect(provider_of(folder, kind), "pay", None, {"send_budget": 0.3, "timeout": 0.3})


PATIENT = {"send_budget": 60.0, "timeout": 60.0}


def patient(folder: Path, kind: str) -> FakeEffect:
    """Where nothing is to become final: however busy the machine is, it may send."""
    return FakeEffect(provider_of(folder, kind), "pay", None, PATIENT)


def resolved(ledger: Ledger, effect: FakeEffect) -> Any:
    """Execute until the outcome is known or a person is asked."""
    until = time.monotonic() + 5
    while True:
        outcome = ledger.execute_sync(effect.plan(ORDER))
        waits = isinstance(outcome, InProgress) or (isinstance(outcome, Unknown) and outcome.next_step != "resolve")
        if not waits or time.monotonic() > until:
            return outcome
        time.sleep(0.1)


class Trouble:
    """Ways in which a server takes no writes, begun and ended at any moment."""

    def __init__(self, pg: PgServer, schema: str, how: str) -> None:
        self.pg = pg
        self.schema = schema
        self.how = how

    def begin(self) -> None:
        import psycopg

        schema = self.schema
        match self.how:
            case "locked":
                self._con = psycopg.connect(self.pg.url())
                self._con.execute(f"LOCK TABLE {schema}.operation IN ACCESS EXCLUSIVE MODE".encode())
            case "full":
                raises = "RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE='disk_full'"
                body = f"RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {raises}; END $$"
                at = f"BEFORE INSERT ON {schema}.event FOR EACH ROW EXECUTE FUNCTION {schema}.no_room()"
                self.pg.run(f"CREATE FUNCTION {schema}.no_room() {body}", f"CREATE TRIGGER no_room {at}")
            case "refused":
                self.pg.run(f"REVOKE INSERT ON {schema}.event FROM {role_of(schema)}")
            case _:
                self.pg.stop()

    def end(self) -> None:
        schema = self.schema
        match self.how:
            case "locked":
                self._con.rollback()
                self._con.close()
            case "full":
                self.pg.run(f"DROP TRIGGER no_room ON {schema}.event", f"DROP FUNCTION {schema}.no_room()")
            case "refused":
                self.pg.run(f"GRANT INSERT ON {schema}.event TO {role_of(schema)}")
            case _:
                self.pg.start()


RAISED: dict[str, type[StoreError]] = {
    "locked": StoreLocked,
    "full": StoreFull,
    "refused": StoreError,
    "down": StoreError,
}


def role_of(schema: str) -> str:
    return f"app_{schema}"


@pytest.fixture(scope="module")
def own() -> Iterator[PgServer]:
    """A server of its own, for the others' must not go down."""
    server = PgServer()
    yield server
    server.remove()


@pytest.fixture
def app(own: PgServer) -> Callable[..., Any]:
    """Opens journals on a new schema of that server, as the role that runs graphs."""
    from lawful.stores.postgres import PostgresJournal, grants

    schema = own.schema()
    own.run(f"CREATE ROLE {role_of(schema)} LOGIN", *grants(role_of(schema), schema=schema).splitlines())

    def opened(**more: Any) -> PostgresJournal:
        return PostgresJournal(own.url(user=role_of(schema)), schema=schema, busy_timeout=0.2, **more)

    opened.schema = schema  # pyright: ignore[reportFunctionMemberAccess]
    return opened


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


def test_a_receipt_that_comes_after_the_lease_is_taken(
    pg: PgServer, schema: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ledger: L11"""
    monkeypatch.setattr("lawful.effects.presence.LEASE", 0.5)
    line = Line()

    class Slow(FakeEffect):
        async def perform(self, command: FakeCommand, ctx: EffectContext) -> str:
            receipt = await super().perform(command, ctx)
            line.tell(1)
            time.sleep(0.1)  # the parent stops us here, the reply in hand
            return receipt

    def work() -> None:
        effect = Slow(provider_of(tmp_path, "neither"), "pay", None, {"send_budget": 2.0, "timeout": 0.1})
        Ledger(pg.journal(schema)).execute_sync(effect.plan(ORDER))

    child = fork(work)
    line.listen()
    os.kill(child, signal.SIGSTOP)
    journal = pg.journal(schema)
    ledger = Ledger(journal)
    until = time.monotonic() + 20
    while not isinstance(outcome := ledger.execute_sync(effect_on(tmp_path, "neither").plan(ORDER)), Unknown):
        assert time.monotonic() < until, outcome
        time.sleep(0.1)
    os.kill(child, signal.SIGCONT)
    assert ended(child) == 0
    state = ledger.state("pay:order-1")
    assert isinstance(state, st.Succeeded)
    assert state.receipt.source == "late_reply"
    journal.close()


CASES = [*((how, kind) for how in ("locked", "full") for kind in KINDS), ("refused", "neither"), ("down", "keyed")]
"""Each kind of provider with what needs no server of its own started anew."""


@pytest.mark.parametrize(("how", "kind"), CASES)
def test_a_store_in_trouble_at_the_claim_sends_nothing(
    own: PgServer, app: Any, how: str, kind: str, tmp_path: Path
) -> None:
    """C13. Ledger: L3, L7"""
    journal = app()
    effect = patient(tmp_path, kind)
    ledger = Ledger(journal)
    ledger.plan(effect.plan(FakeCommand("warm")))
    trouble = Trouble(own, app.schema, how)
    trouble.begin()
    try:
        with pytest.raises(RAISED[how]):
            ledger.execute_sync(effect.plan(ORDER))
    finally:
        trouble.end()
    assert effect.provider.calls == 0
    assert isinstance(ledger.execute_sync(effect.plan(ORDER)), Succeeded)
    assert effect.provider.applied == {"order-1": 1}
    journal.close()


@pytest.mark.parametrize("elsewhere", [False, True], ids=["same process", "another process"])
@pytest.mark.parametrize(
    ("how", "kind"),
    [
        *((how, kind) for how in ("full", "locked") for kind in KINDS),
        *((how, "neither") for how in ("refused", "down")),
        ("down", "keyed"),
    ],
)
def test_an_outcome_that_cannot_be_written_is_kept_and_written_later(
    own: PgServer, app: Any, how: str, kind: str, elsewhere: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C14: whoever comes next writes it, from memory or from the folder beside; nobody looks, asks or sends. Ledger: L7"""
    monkeypatch.setattr("lawful.effects.drive._PAUSE", 0.001)
    monkeypatch.setattr("lawful.stores.postgres_link._ASK", 0.1)
    trouble = Trouble(own, app.schema, how)
    place: dict[str, Any] = {"beside": tmp_path / "beside"} if elsewhere else {}
    journal = app(**place)

    class Hit(FakeEffect):
        async def perform(self, command: FakeCommand, ctx: EffectContext) -> str:
            receipt = await super().perform(command, ctx)
            trouble.begin()
            return receipt

    effect = Hit(provider_of(tmp_path, kind), "pay", None, PATIENT)
    try:
        outcome = Ledger(journal).execute_sync(effect.plan(ORDER))
    finally:
        trouble.end()
    assert isinstance(outcome, Unknown)
    assert "could not be written down" in outcome.reason
    if elsewhere:
        journal.close()
        journal = app(**place)
    again = patient(tmp_path, kind)
    assert isinstance(Ledger(journal).execute_sync(again.plan(ORDER)), Succeeded)
    assert (again.provider.calls, again.provider.looks) == (0, 0)
    assert again.provider.applied == {"order-1": 1}
    journal.close()


def test_an_outcome_is_written_over_a_new_connection_where_the_old_one_is_cut(
    own: PgServer, app: Any, tmp_path: Path
) -> None:
    """Nothing is kept for later: the ledger connects again and writes. Ledger: L7"""

    class Cut(FakeEffect):
        async def perform(self, command: FakeCommand, ctx: EffectContext) -> str:
            receipt = await super().perform(command, ctx)
            own.run(
                f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename='{role_of(app.schema)}'"
            )
            return receipt

    journal = app()
    effect = Cut(provider_of(tmp_path, "neither"), "pay", None, PATIENT)
    assert isinstance(Ledger(journal).execute_sync(effect.plan(ORDER)), Succeeded)
    assert effect.provider.applied == {"order-1": 1}
    journal.close()


def test_a_server_that_cuts_long_statements_off_sends_nothing(own: PgServer, tmp_path: Path) -> None:
    """C13, by the server's statement_timeout. Ledger: L3"""
    from lawful.stores.postgres import PostgresJournal

    schema = own.schema()
    url = f"{own.url()}&options=-c%20statement_timeout%3D150"
    journal = PostgresJournal(url, schema=schema, busy_timeout=20.0)
    effect = patient(tmp_path, "neither")
    trouble = Trouble(own, schema, "locked")
    trouble.begin()
    with pytest.raises(StoreLocked):
        Ledger(journal).execute_sync(effect.plan(ORDER))
    trouble.end()
    assert effect.provider.calls == 0
    journal.close()
