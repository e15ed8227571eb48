"""The ledger's crash points over PostgreSQL, for every kind of provider; and its claims and limits under a crowd."""

from __future__ import annotations

import ast
import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lawful.effects import InProgress, Ledger, Limit, Natural, Policy, Succeeded, days, effect, spent
from lawful.testing.crash import TO_A_PERSON, ForkServer
from support.effect_crashes import KINDS, POINTS, effect_of, provider_of
from support.pg import PgServer, skipped

pytestmark = [pytest.mark.integration, pytest.mark.postgres, pytest.mark.crash, skipped]

EVERYDAY = ("C3", "C6", "C9")


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    from support import pg_effect_crashes

    with ForkServer(pg_effect_crashes.on_postgres) as made:
        yield made


def dies_and_goes_on(server: ForkServer, pg: PgServer, folder: Path, kind: str, point: str) -> None:
    schema = pg.schema()
    told: dict[str, Any] = {}
    for number in range(4):
        ended = server.run(folder, number=number, told=[pg.url(), schema, kind, point])
        if not ended.killed:
            assert ended.code == 0, ended.said
            told = ast.literal_eval(ended.shown)
            break
    effects = provider_of(folder, kind).applied.get("order-1", 0)
    if kind == "neither" and point in ("C4", "C5", "C6", "C7", "C8", "C12"):
        assert (told["values"], told["left"]) == (TO_A_PERSON, ["Unknown"])
        assert effects == (0 if point in ("C4", "C5") else 1)
        return
    assert (effects, told["values"], told["left"]) == (1, {"receipt": "done"}, [])
    if point in ("C9", "C10"):
        assert (told["calls"], told["looks"]) == (0, 0)


@pytest.mark.parametrize(("kind", "point"), list(itertools.product(KINDS, EVERYDAY)))
def test_a_death_at_this_point(server: ForkServer, pg: PgServer, tmp_path: Path, kind: str, point: str) -> None:
    """Ledger: L7; Rows: S2-029"""
    dies_and_goes_on(server, pg, tmp_path, kind, point)


@pytest.mark.full
@pytest.mark.parametrize(("kind", "point"), list(itertools.product(KINDS, POINTS)))
def test_a_death_at_every_point(server: ForkServer, pg: PgServer, tmp_path: Path, kind: str, point: str) -> None:
    """Ledger: L7"""
    dies_and_goes_on(server, pg, tmp_path, kind, point)


def crowd(work: Any, size: int) -> None:
    threads = [threading.Thread(target=work, args=(n,)) for n in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)


def test_of_sixteen_threads_with_handles_of_their_own_one_claims(pg: PgServer, schema: str, tmp_path: Path) -> None:
    """Ledger: L6"""
    from lawful.stores.postgres import PostgresJournal
    from lawful.testing.provider import FakeCommand

    pay = effect_of(provider_of(tmp_path, "neither"))
    pay.policy = None
    pay.send_budget = 30.0
    pay.provider.delay = 0.3
    ends: list[Any] = []

    def work(_: int) -> None:
        journal = PostgresJournal(pg.url(), schema=schema)
        ends.append(Ledger(journal).execute_sync(pay.plan(FakeCommand("order-1"))))
        journal.close()

    crowd(work, 16)
    assert len(ends) == 16
    assert all(isinstance(end, (InProgress, Succeeded)) for end in ends), ends
    assert pay.provider.applied == {"order-1": 1}


def test_two_hundred_refunds_at_once_never_pass_the_daily_limit(pg: PgServer, schema: str) -> None:
    """Rows: S2-020"""
    from lawful.stores.postgres import PostgresJournal

    sent: list[int] = []
    rules = Policy("daily", (Limit(spent(by="customer", window=days(1)), 300),))

    @effect("charge", capability=Natural(), policy=rules, labels=["customer"], amount="cents")
    def refund(charge: str, customer: str, cents: int) -> str:
        sent.append(cents)
        return charge

    def work(worker: int) -> None:
        journal = PostgresJournal(pg.url(), schema=schema)
        for n in range(worker, 200, 8):
            Ledger(journal).execute_sync(refund.plan(f"c{n}", "ann", 7))
        journal.close()

    crowd(work, 8)
    assert sum(sent) == 294
