"""A process dies in any phase of an agent's turn: the next one closes each call once, and the effect happened once."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lawful.testing.crash import ForkServer, check_file, crash_everywhere
from lawful.testing.crash_server import Life
from support.agent_crashes import (
    PHASES,
    applied,
    killed_at_a_write,
    killed_at_a_write_sync,
    killed_in_a_phase,
    provider_of,
)

pytestmark = pytest.mark.crash

WHOLE: list[list[Any]] = [
    ["user", "Pay order 1. Do I need a coat?", None, []],
    ["assistant", "I will see.", None, ["c1", "c2", "c3"]],
    ["tool", "7", "c1", []],
    ["tool", "fair in Lyon", "c2", []],
    ["tool", "none for coat", "c3", []],
    ["assistant", "Paid; no coat.", None, []],
]


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    with ForkServer(killed_in_a_phase) as made:
        yield made


@pytest.mark.parametrize("phase", PHASES)
def test_a_death_in_a_phase_of_the_turn(server: ForkServer, tmp_path: Path, phase: str) -> None:
    """Each call has its one closing result, the effect was applied once, and a strict provider takes the transcript.

    Rows: S0-130
    """
    first = server.run(tmp_path, told=phase)
    assert first.killed, first.said
    check_file(tmp_path / "journal.db")
    second = server.run(tmp_path, number=1, told=phase)
    assert second.code == 0, second.said
    assert ast.literal_eval(second.shown) == WHOLE
    assert dict(provider_of(tmp_path).applied) == {"order-1": 1}


def test_a_death_between_two_writes() -> None:
    report = crash_everywhere(killed_at_a_write, effects=applied, places=("after",), writes=(3, 6, 9))
    assert ast.literal_eval(report.value) == WHOLE
    assert (report.duplicates, report.lost) == (0, 0)
    assert [point.write for point in report.points] == [3, 6, 9]


@pytest.mark.full
@pytest.mark.parametrize("program", [killed_at_a_write, killed_at_a_write_sync])
def test_a_death_at_every_write(program: Callable[[Life], Any]) -> None:
    report = crash_everywhere(program, effects=applied)
    assert ast.literal_eval(report.value) == WHOLE
    assert (report.duplicates, report.lost) == (0, 0)
    assert len(report.points) >= 20
