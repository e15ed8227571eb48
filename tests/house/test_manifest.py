"""The manifest: every id that is asked for has an entry, and every entry tells the truth about the tests."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from support.manifest import KINDS, MODES, claims, invert, known, parts, spread, tagged

pytestmark = pytest.mark.unit

ENTRIES = {key: entry for part in parts() for key, entry in part.entries()}
CLAIMS = claims()


def test_every_id_asked_for_has_one_entry_and_no_other_has() -> None:
    for part in parts():
        written = Counter(key for key, _ in part.entries())
        wanted = known()[part.path.stem]
        assert sorted(written) == sorted(wanted), part.path.name
        assert max(written.values()) == 1


def test_no_id_stands_in_two_parts() -> None:
    everywhere = Counter(key for ids in known().values() for key in ids)
    assert [key for key, times in everywhere.items() if times > 1] == []


def test_each_entry_says_what_is_required_and_how_it_stands() -> None:
    complaints = [f"{key}: {what}" for key, entry in ENTRIES.items() for what in _complaints(key, entry)]
    assert complaints == []


def _complaints(key: str, entry: dict[str, Any]) -> Iterator[str]:
    if len(entry["says"]) < 20 or not entry["says"].endswith("."):
        yield "says no whole sentence"
    kinds = [kind for kind in KINDS if kind in entry]
    if len(kinds) != 1:
        yield f"must have exactly one of {', '.join(KINDS)}, has {kinds}"
    if any(kind != "tests" and len(entry[kind]) < 10 for kind in kinds) or entry.get("tests") == []:
        yield "gives no reason and no test"
    if "rest" in entry and "tests" not in entry:
        yield "has a rest without tests"
    if unknown := set(entry) - {"says", "mode", "differs", "rest", *KINDS}:
        yield f"has unknown fields {unknown}"
    if key.startswith("R") and (entry.get("mode") not in MODES or (entry["mode"] == "differs") != ("differs" in entry)):
        yield f"must have one of the modes {', '.join(MODES)}, and a reason exactly where it differs"


def test_a_faulty_entry_is_complained_about() -> None:
    assert list(_complaints("S0-001", {"says": "Too short.", "tests": []})) != []
    assert (
        list(
            _complaints("S0-001", {"says": "A sentence that is long enough.", "later": "issue 2 and more", "rest": "x"})
        )
        != []
    )
    assert list(_complaints("R001", {"says": "A sentence that is long enough.", "later": "issue 2 and more"})) != []


def test_every_test_that_an_entry_names_exists() -> None:
    named = {test for entry in ENTRIES.values() for test in entry.get("tests", ())}
    assert sorted(named - CLAIMS.names) == []


def test_tags_and_entries_name_each_other() -> None:
    assert CLAIMS.strays == (), "these tags belong to no test"
    by_id = invert(CLAIMS.tags)
    assert sorted(set(by_id) - set(ENTRIES)) == [], "these ids are not known"
    listed = {key: sorted(entry["tests"]) for key, entry in ENTRIES.items() if "tests" in entry}
    assert listed == by_id, "run: python tests/house/link_manifest.py"


def test_nothing_is_left_to_do() -> None:
    left = sorted(key for key, entry in ENTRIES.items() if "todo" in entry)
    if os.environ.get("LAWFUL_MANIFEST") == "open":
        pytest.skip(f"{len(left)} entries still to do: {', '.join(left)}")
    assert left == []


@pytest.mark.parametrize(
    "written, ids",
    [
        ("R001..R003", ["R001", "R002", "R003"]),
        ("S0-008..010", ["S0-008", "S0-009", "S0-010"]),
        ("S1-C09..S1-C10", ["S1-C09", "S1-C10"]),
        ("L9..L10", ["L9", "L10"]),
        ("A04", ["A04"]),
    ],
)
def test_ranges_spread_to_ids(written: str, ids: list[str]) -> None:
    assert spread(written) == ids


@pytest.mark.parametrize(
    "line, ids",
    [
        ("    # rules: 19, 35", ["R019", "R035"]),
        ('    """Two writers. Rules: 19-21."""', ["R019", "R020", "R021"]),
        ("Rows: S1-041, S1-C05 and S0-089", ["S1-041", "S1-C05", "S0-089"]),
        ("Rows: S1-040..042", ["S1-040", "S1-041", "S1-042"]),
        ("Cases: A01", ["A01"]),
        ("The result is a dict. Rules: 8, 9. Rows: S1-S01.", ["R008", "R009", "S1-S01"]),
        ("Ledger: L1", ["L1"]),
        ("the rules of the house", []),
        ("rules: first, second", []),
    ],
)
def test_tags_are_read(line: str, ids: list[str]) -> None:
    assert tagged(line) == ids
