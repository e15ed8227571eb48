"""A graph of twelve steps, killed at every write of its journal, inside commits and at random times, ends as an uncut one."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from lawful.testing.crash import Ended, ForkServer, Place, Point, Program, check_file
from support import crash_programs
from support.crash_programs import notes, ran_again
from support.torn import library

pytestmark = pytest.mark.crash

PROGRAMS: dict[str, Program] = {
    "sync": crash_programs.twelve_sync,
    "async": crash_programs.twelve_async,
    "threads": crash_programs.twelve_threads,
}
PLACES: tuple[Place, ...] = ("before", "after")
SECONDS = 30.0
Death: TypeAlias = dict[str, Any]
"""How a process dies: arguments of the fork server's ``run``."""


class Twelve:
    """The fork server of one program, and what a run that nobody kills gives."""

    def __init__(self, server: ForkServer, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.whole = server.run(folder / "whole", timeout=SECONDS)
        assert self.whole.code == 0, self.whole.said
        self.seconds = 0.15

    def case(self, name: str, *deaths: Death) -> list[Ended]:
        """Processes that die as told, one after the other, then one that must finish; how each of them ended."""
        folder = self.folder / name
        ends: list[Ended] = []
        lives: list[Death] = [*deaths, {}]
        for number, death in enumerate(lives):
            end = self.server.run(folder, number=number, timeout=SECONDS, **death)
            ends.append(end)
            if not end.killed:
                break
            check_file(folder / "journal.db")
        last = ends[-1]
        assert last.code == 0, f"{name}: {last.said}"
        assert last.value == self.whole.value, f"{name}: {last.shown}\ninstead of\n{self.whole.shown}"
        assert ran_again(folder) == [], name
        return ends

    def until_it_lives(self, name: str, death: Callable[[int], Death], numbers: Iterator[int]) -> int:
        """Cases with the death that ``death`` makes of each number, until one is outlived; how many died."""
        died = 0
        for number in numbers:
            if not self.case(f"{name}-{number}", death(number))[0].killed:
                return died
            died += 1
        return died


@pytest.fixture(scope="module", params=["sync", "async", pytest.param("threads", marks=pytest.mark.full)])
def twelve(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twelve]:
    """Sync nodes, async nodes, and sync nodes under the async driver."""
    with ForkServer(PROGRAMS[request.param]) as server:
        yield Twelve(server, tmp_path_factory.mktemp(request.param))


def count(start: int = 1, stop: int = 1_000, step: int = 1) -> Iterator[int]:
    return iter(range(start, stop, step))


def test_the_whole_run_has_twelve_steps_and_asks_twice(twelve: Twelve) -> None:
    """What the cases below are compared with is what it should be: every node once, one line of the effect."""
    assert "'sink': ['line 27']" in twelve.whole.shown
    assert "[12, 'loop'" in twelve.whole.shown
    assert "[13, 'loop'" not in twelve.whole.shown
    ran = [line["node"] for line in notes(twelve.folder / "whole", "ran")]
    assert sorted(ran) == sorted(
        [
            *("begin", "left", "middle", "right", "join", "one", "two", "three", "four", "before"),
            *("work", "work", "work", "gather", "ask", "act", "turn", "turn", "last"),
        ]
    )


@pytest.mark.parametrize("place", PLACES)
def test_killed_at_every_write_of_the_journal(twelve: Twelve, place: Place) -> None:
    """The state and the history are those of a run that nobody killed, no acknowledged node runs again, one effect.

    Rules: 90, 92, 94, 104, 118, 134, 141. Rows: S1-047, S1-046, S0-122.
    """
    died = twelve.until_it_lives(place, lambda n: {"point": Point(n, place)}, count())
    assert died >= 24


@pytest.mark.skipif(library() is None, reason="SQLite is built into this Python; random kills are tested below")
def test_killed_inside_a_commit(twelve: Twelve) -> None:
    """With half of one write to a file done; a sample of them. Rules: 92. Rows: S1-047, S0-122, S1-K11."""
    died = twelve.until_it_lives("torn", lambda n: {"told": {"torn": n}}, count(3, step=17))
    assert died >= 6


def test_killed_at_random_times(twelve: Twelve) -> None:
    """Rules: 92. Rows: S1-047, S0-122."""
    chance = random.Random(11)
    for n in range(8):
        twelve.case(f"random-{n}", {"kill_after": chance.uniform(0.002, twelve.seconds)})


def test_the_process_that_goes_on_is_killed_too(twelve: Twelve) -> None:
    """Again and again, each soon after it began. Rules: 92, 118. Rows: S1-047."""
    chance = random.Random(12)
    for n in range(3):
        deaths = [{"point": Point(chance.randint(2, 9), chance.choice(PLACES))} for _ in range(8)]
        assert sum(end.killed for end in twelve.case(f"often-{n}", *deaths)) >= 3


@pytest.mark.full
@pytest.mark.skipif(library() is None, reason="SQLite is built into this Python")
def test_killed_inside_every_commit(twelve: Twelve) -> None:
    """In the middle of every single write to a file. Rows: S1-047, S0-122."""
    assert twelve.until_it_lives("every-torn", lambda n: {"told": {"torn": n}}, count()) >= 100


@pytest.mark.full
def test_killed_at_many_random_times(twelve: Twelve) -> None:
    """Rows: S1-047, S0-122."""
    chance = random.Random(13)
    for n in range(150):
        deaths = [{"kill_after": chance.uniform(0.002, twelve.seconds)} for _ in range(chance.randint(1, 4))]
        twelve.case(f"many-{n}", *deaths)


@pytest.mark.full
@pytest.mark.parametrize("place", PLACES)
def test_killed_twice_at_every_pair_of_writes(twelve: Twelve, place: Place) -> None:
    """The second process dies at each of its own writes, after the first died at every third. Rows: S1-047."""
    for first in range(2, 40, 3):
        for second in range(1, 60, 2):
            ends = twelve.case(
                f"pair-{place}-{first}-{second}", {"point": Point(first, place)}, {"point": Point(second)}
            )
            if len(ends) < 3:
                break
