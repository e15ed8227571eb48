"""Durability in the background and at the exit, handlers, caches, calls in nodes and forks, killed at the journal's writes."""

from __future__ import annotations

import pytest

from lawful.testing.crash import Program, crash_everywhere
from support import crash_modes

pytestmark = pytest.mark.crash

PROGRAMS: dict[str, tuple[Program, int, str]] = {
    "background-sync": (crash_modes.background_sync, 36, "'sink': ['line 27']"),
    "background-async": (crash_modes.background_async, 32, "'sink': ['line 27']"),
    "exit-sync": (crash_modes.at_exit_sync, 20, "'sink': ['line 27']"),
    "exit-async": (crash_modes.at_exit_async, 20, "'sink': ['line 27']"),
    "handled-sync": (crash_modes.handled_sync, 40, "'shaky: down: yes to shaky?', 'left asked'"),
    "handled-async": (crash_modes.handled_async, 40, "'shaky: down: yes to shaky?', 'left asked'"),
    "cached-sync": (crash_modes.cached_sync, 18, "'size 1', 'size 1', 'size 2', 'size 1', 'size 3'"),
    "cached-async": (crash_modes.cached_async, 18, "'size 1', 'size 1', 'size 2', 'size 1', 'size 3'"),
    "calls-sync": (crash_modes.calls_sync, 40, "'left two', 'yes to A?', 'left three', '7'"),
    "calls-async": (crash_modes.calls_async, 40, "'left two', 'yes to A?', 'left three', '7'"),
    "calls-background": (crash_modes.calls_background, 40, "'left two', 'yes to A?', 'left three', '7'"),
    "calls-exit": (crash_modes.calls_at_exit, 20, "'left two', 'yes to A?', 'left three', '7'"),
    "travels-sync": (crash_modes.travels_sync, 60, "'asked', 'changed', 'c 6'"),
    "travels-async": (crash_modes.travels_async, 60, "'asked', 'changed', 'c 6'"),
}
"""By name: the program, how many deaths its whole matrix has at least, and what stands in its end."""


@pytest.fixture(params=PROGRAMS)
def case(request: pytest.FixtureRequest) -> tuple[Program, int, str]:
    return PROGRAMS[request.param]


def test_killed_once_it_ends_as_if_nothing_had_been(case: tuple[Program, int, str]) -> None:
    """Rules: 105, 107, 195, 200, 154. Rows: S1-047."""
    program, _, told = case
    report = crash_everywhere(program, effects=crash_modes.lines, writes=(7,))
    assert told in report.value
    assert len(report.points) == 2
    assert report.to_person == 0


@pytest.mark.full
def test_killed_at_every_write(case: tuple[Program, int, str]) -> None:
    """Rules: 105, 107, 195, 200, 154. Rows: S1-047."""
    program, least, told = case
    report = crash_everywhere(program, effects=crash_modes.lines)
    assert told in report.value
    assert len(report.points) >= least
    assert report.to_person == 0
