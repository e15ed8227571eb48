"""Small programs, written for LangGraph, show the same with their imports changed; where not, a row of the docs says why."""

from __future__ import annotations

import logging
from functools import cache
from typing import Any

import pytest

pytest.importorskip("langgraph")

from support.parity import differing, play, programs, sections
from support.parity_table import DIFFERENCES, expected
from support.tree import ROOT

pytestmark = pytest.mark.integration

PROGRAMS = [(section, name) for section in sections() for name in programs(section)]


@cache
def theirs(section: str, name: str) -> dict[str, Any]:
    return play(section, name, "langgraph")


@pytest.mark.parametrize("whose", ["lawful", "lenient"])
@pytest.mark.parametrize("section, name", PROGRAMS, ids=lambda part: part)
def test_a_program_shows_the_same_with_its_imports_changed(
    section: str, name: str, whose: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, logger="lawful")
    wanted, found = theirs(section, name), play(section, name, whose)
    labels = differing(wanted, found)
    assert labels == expected(section, name, whose), {label: (wanted.get(label), found.get(label)) for label in labels}


def test_each_difference_is_of_a_program_and_told_in_the_docs() -> None:
    docs = (ROOT / "docs" / "differences.md").read_text(encoding="utf-8")
    rows = {line.split(" | ")[0].removeprefix("| ") for line in docs.splitlines() if line.startswith("| ")}
    assert {d.program for d in DIFFERENCES} <= {f"{section}.{name}" for section, name in PROGRAMS}
    assert sorted({d.row for d in DIFFERENCES} - rows) == []


def test_there_are_programs_for_every_section() -> None:
    assert len(PROGRAMS) > 200
    assert [name[0] for name in sections()] == list("abcfijklmnop")
