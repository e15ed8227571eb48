"""The demo killed at the worst moment, or at any: recovered, or just run again, the branch has exactly one new commit."""

from __future__ import annotations

import shlex
import signal
import time
from pathlib import Path

import pytest

from support.command import Place, ended

pytestmark = pytest.mark.crash


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def die_by_answer(place: Place) -> str:
    place.run("demo", "--test", "true")
    killed = place.run("answer", "demo", "yes", "--kill-after-effect")
    assert killed.code == -signal.SIGKILL, killed
    return killed.out


def die_by_demo(place: Place) -> str:
    killed = place.run("demo", "--test", "true", "--yes", "--kill-after-effect")
    assert killed.code == -signal.SIGKILL, killed
    return killed.out


@pytest.mark.parametrize("die", [die_by_answer, die_by_demo])
@pytest.mark.parametrize("verb", ["recover", "demo"])
def test_killed_when_the_branch_has_moved_it_ends_with_one_commit(place: Place, die: object, verb: str) -> None:
    """Rows: S2-024, S2-029, S2-046"""
    out = die_by_answer(place) if die is die_by_answer else die_by_demo(place)
    assert place.commits() == 1
    shown = place.run("show", "demo", "--json").json()
    assert (shown["status"], shown["effects"][0]["state"]) == ("unfinished at commit", "InFlight")
    [line] = [line for line in out.splitlines() if line.endswith(f"lawful.cli {verb}")]
    words = shlex.split(line.partition("-m lawful.cli ")[2])
    finished = place.run(*words)
    assert finished.code == 0, finished
    assert "Done:" in finished.out
    shown = place.run("show", "demo", "--json").json()
    assert (shown["status"], shown["effects"][0]["state"], shown["effects"][0]["attempts"]) == ("ended", "Succeeded", 1)
    for again in ("recover", "demo"):
        assert place.run(again).code == 0
    assert place.commits() == 1
    events = [fact["event"] for fact in place.run("history", "demo", "--json").json()["effects"]]
    assert events.count("Claimed") == events.count("Confirmed") == 1
    assert "LookupNoted" in events


def test_two_recoveries_at_once_settle_it_once(place: Place) -> None:
    die_by_answer(place)
    ran = [ended(child) for child in [place.start("recover") for _ in range(2)]]
    assert {each.code for each in ran} <= {0, 3}, ran
    assert place.run("recover").code == 0
    assert place.commits() == 1
    assert place.run("show", "demo", "--json").json()["status"] == "ended"


def test_an_answer_to_a_killed_run_says_what_finishes_it(place: Place) -> None:
    die_by_answer(place)
    ran = place.run("answer", "demo", "yes")
    assert (ran.code, ran.error) == (1, "unknown_question")
    assert "recover" in ran.err


@pytest.mark.parametrize("delay", [0.25, 0.4, 0.55, 0.7])
def test_killed_at_any_time_it_ends_with_one_commit(place: Place, delay: float) -> None:
    child = place.start("demo", "--yes", "--test", "true")
    time.sleep(delay)
    child.kill()
    ended(child)
    finished = place.run("demo", "--yes", "--test", "true")
    assert finished.code == 0, finished
    assert place.commits() == 1
