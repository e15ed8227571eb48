"""Each rule that the manifest says is kept otherwise than in LangGraph has its row on the page of differences."""

from __future__ import annotations

import re

import pytest

from support.manifest import parts
from support.tree import ROOT

pytestmark = pytest.mark.unit

PAGE = (ROOT / "docs" / "differences.md").read_text(encoding="utf-8")
ROWS: dict[str, tuple[str, ...]] = {
    "R064": ("an empty `Command()` as input",),
    "R081": ("`next` after one of several answers",),
    "R082": ("state after a refused step",),
    "R083": ("thread ids",),
    "R105": ("default durability",),
    "R113": ("ids of questions",),
    "R183": ("default retry",),
    "R212": ("`DeltaChannel(snapshot_frequency=)`",),
    "R213": ("`DeltaChannel` counters in the metadata",),
    "R217": ("a thread that moves to a `DeltaChannel`",),
    "R219": ("a sibling that ends just after a failure",),
    "R220": ("a failure and a question in one step", "state after a refused step"),
}
"""The rows that tell of a rule, each by what stands in its first column."""


def told() -> dict[str, list[str]]:
    """The page's rows: what each is about, and its other columns."""
    rows = [
        re.split(r" (?<!\\)\| ", line[2:].removesuffix(" |")) for line in PAGE.splitlines() if line.startswith("| ")
    ]
    return {row[0]: row[1:] for row in rows if row[0] != "what"}


def differing() -> set[str]:
    return {key for part in parts() if part.path.stem == "graph" for key, entry in part.entries() if "differs" in entry}


def test_each_rule_that_differs_has_its_rows_and_no_other_rule_has() -> None:
    assert set(ROWS) == differing()
    missing = {rule: row for rule, rows in ROWS.items() for row in rows if row not in told()}
    assert missing == {}


def test_each_of_these_rows_says_what_is_there_and_what_is_here() -> None:
    for rows in ROWS.values():
        for row in rows:
            there, here, *_ = told()[row]
            assert there.strip(), row
            assert here.strip(), row
            assert there != here, row
