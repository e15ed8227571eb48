"""The graph of twelve steps over PostgreSQL, its client killed at every write of the journal, ends as an uncut one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lawful.testing.crash import Ended, ForkServer, Place
from support.crash_programs import ran_again
from support.pg import PgServer, skipped

pytestmark = [pytest.mark.integration, pytest.mark.postgres, pytest.mark.crash, skipped]

PLACES: tuple[Place, ...] = ("before", "after")


class Twelve:
    """The fork server of the program, and what a run that nobody kills gives."""

    def __init__(self, server: ForkServer, pg: PgServer, folder: Path, driver: str) -> None:
        self.server = server
        self.pg = pg
        self.folder = folder
        self.driver = driver
        self.whole = self.live("whole", pg.schema(), 0, None)
        assert self.whole.code == 0, self.whole.said

    def live(self, name: str, schema: str, number: int, point: tuple[int, Place] | None) -> Ended:
        told: dict[str, Any] = {"url": self.pg.url(), "schema": schema, "driver": self.driver, "point": point}
        return self.server.run(self.folder / name, number=number, told=told, timeout=60)

    def dies(self, name: str, *points: tuple[int, Place]) -> bool:
        """Processes that die at ``points``, one after the other, then one that must finish; False if none died."""
        schema = self.pg.schema()
        ends: list[Ended] = []
        for number, point in enumerate([*points, None]):
            ends.append(self.live(name, schema, number, point))
            if not ends[-1].killed:
                break
        assert ends[-1].code == 0, f"{name}: {ends[-1].said}"
        assert ends[-1].value == self.whole.value, f"{name}: {ends[-1].shown}\ninstead of\n{self.whole.shown}"
        assert ran_again(self.folder / name) == [], name
        self.pg.run("SET client_min_messages=error", f"DROP SCHEMA {schema} CASCADE")
        return ends[0].killed


@pytest.fixture(scope="module", params=["sync", "async"])
def twelve(request: pytest.FixtureRequest, pg: PgServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twelve]:
    from support import pg_programs

    with ForkServer(pg_programs.on_postgres) as server:
        yield Twelve(server, pg, tmp_path_factory.mktemp(f"postgres-{request.param}"), request.param)


@pytest.mark.full
@pytest.mark.parametrize("place", PLACES)
def test_killed_at_every_write_of_the_journal(twelve: Twelve, place: Place) -> None:
    """The state and the history are those of a run that nobody killed, no acknowledged node runs again, one effect.

    Rules: 90, 92, 94, 104, 118, 134, 141. Rows: S0-123, S1-046, S1-047.
    """
    died = 0
    for n in itertools.count(1):
        if not twelve.dies(f"{place}-{n}", (n, place)):
            break
        died += 1
    assert died >= 24


def test_killed_at_some_writes_and_killed_again(twelve: Twelve) -> None:
    """Every fifth, and the process that goes on as well. Rows: S0-123, S1-047."""
    died = [twelve.dies(f"some-{n}", (n, PLACES[n % 2]), (3 + n % 4, PLACES[n % 3 % 2])) for n in range(2, 26, 5)]
    assert all(died)
