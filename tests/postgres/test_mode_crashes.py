"""Durability modes, handlers, caches, calls and forks of a thread over PostgreSQL, killed at the journal's writes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lawful.testing.crash import Ended, ForkServer, Place
from support import crash_modes
from support.pg import PgServer, skipped

pytestmark = [pytest.mark.integration, pytest.mark.postgres, pytest.mark.crash, skipped]

PROGRAMS = {
    "background_sync": (36, "'sink': ['line 27']"),
    "background_async": (32, "'sink': ['line 27']"),
    "at_exit_sync": (20, "'sink': ['line 27']"),
    "at_exit_async": (20, "'sink': ['line 27']"),
    "handled_sync": (40, "'shaky: down: yes to shaky?', 'left asked'"),
    "handled_async": (40, "'shaky: down: yes to shaky?', 'left asked'"),
    "cached_sync": (18, "'size 1', 'size 1', 'size 2', 'size 1', 'size 3'"),
    "cached_async": (18, "'size 1', 'size 1', 'size 2', 'size 1', 'size 3'"),
    "calls_sync": (40, "'left two', 'yes to A?', 'left three', '7'"),
    "calls_async": (40, "'left two', 'yes to A?', 'left three', '7'"),
    "calls_background": (40, "'left two', 'yes to A?', 'left three', '7'"),
    "calls_at_exit": (20, "'left two', 'yes to A?', 'left three', '7'"),
    "travels_sync": (60, "'asked', 'changed', 'c 6'"),
    "travels_async": (60, "'asked', 'changed', 'c 6'"),
}
"""By name: how many deaths its whole matrix has at least, and what stands in its end."""
PLACES: tuple[Place, ...] = ("before", "after")


class Program:
    """One program's processes over PostgreSQL, and what a run that nobody kills gives."""

    def __init__(self, name: str, server: ForkServer, pg: PgServer, folder: Path) -> None:
        self.name = name
        self.server = server
        self.pg = pg
        self.folder = folder
        schema = pg.schema()
        self.whole = self.live("whole", schema, 0, None)
        assert self.whole.code == 0, self.whole.said
        self.drop(schema)
        self.lines = crash_modes.lines(folder / "whole")

    def live(self, case: str, schema: str, number: int, point: tuple[int, Place] | None) -> Ended:
        told: dict[str, Any] = {"url": self.pg.url(), "schema": schema, "program": self.name, "point": point}
        return self.server.run(self.folder / case, number=number, told=told, timeout=60)

    def drop(self, schema: str) -> None:
        self.pg.run("SET client_min_messages=error", f"DROP SCHEMA {schema} CASCADE")

    def dies(self, point: tuple[int, Place]) -> bool:
        """A process that dies at ``point``, then one that must end as the whole run; False if none died."""
        case, schema = f"{point[1]}-{point[0]}", self.pg.schema()
        first = self.live(case, schema, 0, point)
        last = self.live(case, schema, 1, None) if first.killed else first
        assert last.code == 0, f"{case}: {last.said}"
        assert last.value == self.whole.value, f"{case}: {last.shown}\ninstead of\n{self.whole.shown}"
        assert crash_modes.lines(self.folder / case) == self.lines, case
        self.drop(schema)
        return first.killed


@pytest.fixture(scope="module")
def processes() -> Iterator[ForkServer]:
    from support import pg_programs

    with ForkServer(pg_programs.mode_on_postgres) as server:
        yield server


EVERYDAY = (
    "background_async",
    "at_exit_sync",
    "handled_async",
    "cached_sync",
    "calls_background",
    "calls_at_exit",
    "travels_sync",
)


def _cases() -> list[Any]:
    """The others are part of the whole matrix only."""
    return [name if name in EVERYDAY else pytest.param(name, marks=pytest.mark.full) for name in PROGRAMS]


@pytest.fixture(params=_cases())
def program(
    request: pytest.FixtureRequest, processes: ForkServer, pg: PgServer, tmp_path: Path
) -> tuple[Program, int, str]:
    least, told = PROGRAMS[request.param]
    return Program(request.param, processes, pg, tmp_path), least, told


def test_killed_twice_it_ends_as_if_nothing_had_been(program: tuple[Program, int, str]) -> None:
    """Rules: 105, 107, 195, 200, 154. Rows: S0-123, S1-047."""
    one, _, told = program
    assert told in one.whole.shown
    assert [one.dies((7, "before")), one.dies((11, "after"))] == [True, True]


@pytest.mark.full
def test_killed_at_every_write(program: tuple[Program, int, str]) -> None:
    """Rules: 105, 107, 195, 200, 154. Rows: S0-123, S1-047."""
    one, least, told = program
    assert told in one.whole.shown
    died = 0
    for place in PLACES:
        for n in itertools.count(1):
            if not one.dies((n, place)):
                break
            died += 1
    assert died >= least
