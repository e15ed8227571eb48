"""Every crash point of the ledger for every kind of provider: never two effects, one where it can be known, else a person."""

from __future__ import annotations

import ast
import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lawful.testing.crash import TO_A_PERSON, CrashFound, ForkServer, check_file, crash_everywhere
from support.effect_crashes import (
    KINDS,
    POINTS,
    applied,
    blind_program,
    keyed_program,
    losing_program,
    opaque_program,
    program,
    provider_of,
)

pytestmark = pytest.mark.crash


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    with ForkServer(program) as made:
        yield made


def lives(server: ForkServer, folder: Path, kind: str, point: str) -> dict[str, Any]:
    """Let the case live until a process ends by itself, three deaths at the most; what the last one tells."""
    for number in range(4):
        ended = server.run(folder, number=number, told=[kind, point])
        if not ended.killed:
            assert ended.code == 0, ended.said
            return ast.literal_eval(ended.shown)
        check_file(folder / "journal.db")
    raise AssertionError("it dies for ever")


@pytest.mark.parametrize(("kind", "point"), list(itertools.product(KINDS, POINTS)))
def test_a_death_at_this_point(server: ForkServer, tmp_path: Path, kind: str, point: str) -> None:
    """Ledger: L7, L3; Rows: S2-024, S2-029; Cases: A09"""
    told = lives(server, tmp_path, kind, point)
    if kind == "lookup" and told["values"] == TO_A_PERSON:
        # Not seen, and it might still have arrived when it was looked up: time alone settles it, nobody need be asked.
        assert point in ("C4", "C5")
        time.sleep(1.2)
        told = ast.literal_eval(server.run(tmp_path, number=9, told=[kind, ""]).shown)
    effects = provider_of(tmp_path, kind).applied.get("order-1", 0)
    if kind == "neither" and point in ("C4", "C5", "C6", "C7", "C8", "C12"):
        # Nobody can know: at most once, and a person is asked, though at C4 and C5 nothing had happened.
        assert (told["values"], told["left"]) == (TO_A_PERSON, ["Unknown"])
        assert effects == (0 if point in ("C4", "C5") else 1)
        return
    assert (effects, told["values"], told["left"]) == (1, {"receipt": "done"}, [])
    if point in ("C9", "C10"):
        # The outcome was written down as soon as it was there: nothing is looked up and nothing sent again.
        assert (told["calls"], told["looks"]) == (0, 0)


def test_crash_everywhere_counts_the_effects_of_a_users_own_program() -> None:
    report = crash_everywhere(keyed_program, effects=applied, places=("after",))
    assert len(report.points) > 10
    assert str(report) == f"{len(report.points)} crash points, 0 duplicates, 0 lost, 0 to a person"


def test_it_counts_the_cases_in_which_a_person_is_asked() -> None:
    report = crash_everywhere(opaque_program, effects=applied, places=("before",), writes=range(8, 14))
    assert report.to_person >= 1
    assert f"{report.to_person} to a person" in str(report)


def test_it_finds_a_capability_that_is_not_true() -> None:
    with pytest.raises(CrashFound, match="applied again"):
        crash_everywhere(blind_program, effects=applied)


def test_it_finds_an_effect_that_is_lost() -> None:
    with pytest.raises(CrashFound, match=r"effects are lost, and nobody is asked about them: \['order-1'\]"):
        crash_everywhere(losing_program, effects=applied)
