"""A graph whose last node but one commits to a real git repository, killed at every write: exactly one commit, always."""

from __future__ import annotations

from pathlib import Path

import pytest

from lawful.testing.crash import ForkServer, Place, check_file, crash_everywhere
from support import crash_programs

pytestmark = pytest.mark.crash


def test_killed_before_every_write_the_branch_holds_one_commit(tmp_path: Path) -> None:
    """The claim, its outcome, the approval and the checkpoints among them; the reflog shows one move.

    Ledger: L7. Rows: S2-024, S2-029, S1-047. Rules: 92, 118.
    """
    everywhere(tmp_path, "before")


@pytest.mark.full
def test_killed_after_every_write_the_branch_holds_one_commit(tmp_path: Path) -> None:
    """Stored, and nobody has heard of it. Ledger: L7. Rows: S2-024."""
    everywhere(tmp_path, "after")


@pytest.mark.parametrize("deaths", [["send"], ["applied"], ["send", "look"], ["applied", "look", "look"]])
def test_killed_in_the_call_and_in_the_look_up_after_it(deaths: list[str], tmp_path: Path) -> None:
    """The claim is durable and the outcome is not: it is looked up, and looked up again. Ledger: L7. Rows: S2-024."""
    with ForkServer(crash_programs.commits) as server:
        whole = server.run(tmp_path / "whole")
        assert whole.code == 0, whole.said
        for number, at in enumerate(deaths):
            assert server.run(tmp_path / "case", number=number, told={"at": at}).killed
            check_file(tmp_path / "case" / "journal.db")
        last = server.run(tmp_path / "case", number=len(deaths))
    assert last.code == 0, last.said
    assert last.value == whole.value


def everywhere(folder: Path, place: Place) -> None:
    report = crash_everywhere(crash_programs.commits, folder=folder, places=(place,))
    assert "'trail': ['look', 'plan', 'commit', 'tell']" in report.value
    assert report.value.endswith("'made': [True], 'moves': 1}")
    assert len(report.points) >= 12
