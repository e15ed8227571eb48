"""The demo killed at the worst moments, or at any: recovered, or just run again, there is one commit and one pull request."""

from __future__ import annotations

import shlex
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.command import Place, ended

pytestmark = pytest.mark.crash


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


COMMIT, PULL, LOST = ["--kill-after-commit"], ["--kill-after-effect"], ["--lose-reply", "--kill-after-effect"]


def die_by_answer(place: Place, how: list[str]) -> str:
    place.run("demo", "--test", "true")
    killed = place.run("answer", "demo", "yes", *how)
    assert killed.code == -signal.SIGKILL, killed
    return killed.out


def die_by_demo(place: Place, how: list[str]) -> str:
    killed = place.run("demo", "--test", "true", "--yes", *how)
    assert killed.code == -signal.SIGKILL, killed
    return killed.out


def states(place: Place) -> list[tuple[str, int]]:
    return [(each["state"], each["attempts"]) for each in place.run("show", "demo", "--json").json()["effects"]]


def run_as_told(place: Place, out: str, verb: str) -> None:
    """Copy the line that the dying process told."""
    [line] = [line for line in out.splitlines() if line.endswith(f"lawful.cli {verb}")]
    finished = place.run(*shlex.split(line.partition("-m lawful.cli ")[2]))
    assert finished.code == 0, finished
    assert "Done:" in finished.out


@pytest.mark.parametrize(
    "how, verb, die",
    [(PULL, "recover", die_by_answer), (LOST, "recover", die_by_demo), (LOST, "demo", die_by_answer)],
    ids=["killed", "lost and killed", "lost, killed and run again"],
)
def test_killed_when_the_pull_request_is_there_it_ends_with_one(
    place: Place, how: list[str], verb: str, die: Callable[[Place, list[str]], str]
) -> None:
    """The forge takes a second one without a word, as `--rival` shows; the look-up by another process keeps it at one.

    Rows: S2-001, S2-024, S2-029, S2-046. Cases: A09
    """
    out = die(place, how)
    assert ("the reply never came" in out) is ("--lose-reply" in how)
    assert place.pulls() == 1
    assert states(place) == [("Succeeded", 1), ("InFlight", 1)]
    run_as_told(place, out, verb)
    assert states(place) == [("Succeeded", 1), ("Succeeded", 1)]
    for again in ("recover", "demo"):
        assert place.run(again).code == 0
    assert (place.commits(), place.pulls()) == (1, 1)


def test_a_lost_reply_alone_is_looked_up_at_once(place: Place) -> None:
    """Rows: S2-046"""
    ran = place.run("demo", "--test", "true", "--yes", "--lose-reply")
    assert ran.code == 0, ran
    assert "the reply never came" in ran.out
    assert "it is there" in ran.out
    assert (place.commits(), place.pulls()) == (1, 1)


def test_the_rivals_plain_retry_makes_two(place: Place) -> None:
    ran = place.run("demo", "--rival")
    assert ran.code == 0, ran
    assert "Plain retry: 2 pull requests for one wish" in ran.out
    [line] = [line for line in ran.out.splitlines() if "--kill-after-effect" in line]
    ours = shlex.split(line.partition("-m lawful.cli ")[2])
    assert place.run(*ours, "--test", "true").code == -signal.SIGKILL
    assert place.run("recover").code == 0
    assert place.pulls(ours[-1]) == 1


def test_a_branch_that_moves_after_the_approval_is_not_published(place: Place) -> None:
    """Rows: S2-043, S2-045"""
    ran = place.run("demo", "--test", "true", "--yes", "--moved")
    assert (ran.code, ran.error) == (1, "effect_stale")
    assert "the claim is refused" in ran.err
    assert (place.commits(), place.pulls()) == (2, 0)
    assert states(place) == [("Succeeded", 1), ("Cancelled", 0)]


@pytest.mark.parametrize("verb, die", [("recover", die_by_answer), ("demo", die_by_demo)])
def test_killed_when_the_branch_has_moved_it_ends_with_one_commit(
    place: Place, verb: str, die: Callable[[Place, list[str]], str]
) -> None:
    """Rows: S2-024, S2-029, S2-046"""
    out = die(place, COMMIT)
    assert place.commits() == 1
    shown = place.run("show", "demo", "--json").json()
    assert (shown["status"], shown["effects"][0]["state"]) == ("unfinished at commit", "InFlight")
    run_as_told(place, out, verb)
    assert states(place) == [("Succeeded", 1), ("Succeeded", 1)]
    assert (place.commits(), place.pulls()) == (1, 1)
    facts = place.run("history", "demo", "--json").json()["effects"]
    events = [fact["event"] for fact in facts if fact["operation"].startswith("git.")]
    assert events.count("Claimed") == events.count("Confirmed") == 1
    assert "LookupNoted" in events


def test_two_recoveries_at_once_settle_it_once(place: Place) -> None:
    die_by_answer(place, LOST)
    ran = [ended(child) for child in [place.start("recover") for _ in range(2)]]
    assert {each.code for each in ran} <= {0, 3}, ran
    assert place.run("recover").code == 0
    assert (place.commits(), place.pulls()) == (1, 1)
    assert place.run("show", "demo", "--json").json()["status"] == "ended"


def test_an_answer_to_a_killed_run_says_what_finishes_it(place: Place) -> None:
    die_by_answer(place, PULL)
    ran = place.run("answer", "demo", "yes")
    assert (ran.code, ran.error) == (1, "unknown_question")
    assert "recover" in ran.err


@pytest.mark.parametrize("delay", [0.25, 0.4, 0.55, 0.7])
def test_killed_at_any_time_it_ends_with_one_of_each(place: Place, delay: float) -> None:
    child = place.start("demo", "--yes", "--test", "true")
    time.sleep(delay)
    child.kill()
    ended(child)
    finished = place.run("demo", "--yes", "--test", "true")
    for _ in range(60):
        if finished.code != 3:  # not known yet: a request that was under way may still arrive
            break
        time.sleep(0.5)
        place.run("recover")
        finished = place.run("demo", "--yes", "--test", "true")
    assert finished.code == 0, finished
    assert (place.commits(), place.pulls()) == (1, 1)
