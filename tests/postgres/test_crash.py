"""The graph of twelve steps over PostgreSQL, its client killed at writes, inside transactions and at random times."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest

pytest.importorskip("psycopg")

from lawful.testing.crash import ForkServer, Place
from support.crash_programs import notes
from support.pg import PgServer, skipped
from support.pg_torn import Where, fate
from support.pg_twelve import Death, Twelve

pytestmark = [pytest.mark.integration, pytest.mark.postgres, pytest.mark.crash, skipped]

PLACES: tuple[Place, ...] = ("before", "after")
INSIDE: tuple[Where, ...] = ("statement", "lock", "commit", "ended")
FATES: dict[Where, set[str]] = {
    "statement": {"aborted"},
    "lock": {"none"},
    "commit": {"committed"},
    "ended": {"aborted"},
}
"""What the server makes of a transaction whose client died there; one that waits for its lock has no number yet."""


@pytest.fixture(scope="module", params=["sync", "async"])
def twelve(request: pytest.FixtureRequest, pg: PgServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twelve]:
    from support import pg_programs

    with ForkServer(pg_programs.on_postgres) as server:
        yield Twelve(server, pg, tmp_path_factory.mktemp(f"postgres-{request.param}"), request.param)


def torn(twelve: Twelve, where: Where, write: int) -> bool:
    """One case that dies inside its write; its transaction must have met the fate of such a death."""
    name = f"{where}-{write}"
    died = twelve.dies(name, {"inside": (write, where)})
    seen = [line["transaction"] for line in notes(twelve.folder / name, "torn")]
    assert len(seen) == died
    assert {"none" if one is None else fate(twelve.pg, one) for one in seen} <= FATES[where]
    return died


@pytest.mark.full
@pytest.mark.parametrize("place", PLACES)
def test_killed_at_every_write_of_the_journal(twelve: Twelve, place: Place) -> None:
    """The state and the history are those of a run that nobody killed, no acknowledged node runs again, one effect.

    Rules: 90, 92, 94, 104, 118, 134, 141. Rows: S0-123, S1-046, S1-047.
    """
    died = 0
    for n in itertools.count(1):
        if not twelve.dies(f"{place}-{n}", {"point": (n, place)}):
            break
        died += 1
    assert died >= 24


def test_killed_at_some_writes_and_killed_again(twelve: Twelve) -> None:
    """Every fifth, and the process that goes on as well. Rows: S0-123, S1-047."""
    for n in range(2, 26, 5):
        again: Death = {"point": (3 + n % 4, PLACES[n % 3 % 2])}
        assert twelve.dies(f"some-{n}", {"point": (n, PLACES[n % 2])}, again), n


@pytest.mark.parametrize("where", INSIDE)
def test_killed_inside_a_transaction(twelve: Twelve, where: Where) -> None:
    """The process that goes on meets what the server still does for the dead one. Rules: 92. Rows: S0-123, S1-047."""
    assert torn(twelve, where, 5 + 4 * INSIDE.index(where))


def test_killed_at_random_times(twelve: Twelve) -> None:
    """Rules: 92. Rows: S0-123, S1-047."""
    chance, span, died = random.Random(21), twelve.seconds, 0
    for n in range(20):
        if twelve.dies(f"random-{n}", {"kill_after": chance.uniform(0.1, 0.8) * span}):
            died += 1
        else:  # it ended before: the machine is quicker now than when the time was taken
            span *= 0.7
        if died == 3:
            break
    assert died == 3


@pytest.mark.full
@pytest.mark.parametrize("where", INSIDE)
def test_killed_inside_every_transaction(twelve: Twelve, where: Where) -> None:
    """Rules: 92. Rows: S0-123, S1-047."""
    died = 0
    while torn(twelve, where, died + 1):
        died += 1
    assert died >= 20


@pytest.mark.full
def test_killed_at_many_random_times(twelve: Twelve) -> None:
    """Up to four processes, one after the other. Rules: 92. Rows: S0-123, S1-047."""
    chance = random.Random(22)
    for n in range(60):
        deaths: list[Death] = [
            {"kill_after": chance.uniform(0.01, twelve.seconds)} for _ in range(chance.randint(1, 4))
        ]
        twelve.dies(f"many-{n}", *deaths)
