"""When tests behind a pooler are left out: never in CI where a pooler could be had, and never without saying what runs."""

from __future__ import annotations

import pytest

from support.pg import unpooled
from support.tree import ROOT

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("found", "ci", "installable", "runs"),
    [
        (True, False, False, True),
        (True, True, True, True),
        (False, True, True, True),  # and fails, for there is none
        (False, True, False, False),
        (False, False, True, False),
    ],
)
def test_a_missing_pooler_is_a_failure_only_where_one_can_be_had(
    found: bool, ci: bool, installable: bool, runs: bool
) -> None:
    """Rows: S0-123."""
    assert (unpooled(found=found, ci=ci, installable=installable) == "") is runs


def test_the_reason_and_the_page_name_a_test_that_runs_without_a_pooler() -> None:
    """Rows: S0-123."""
    why = unpooled(found=False, ci=False, installable=False)
    name = why.split("; ")[1].split()[0]
    races = (ROOT / "tests" / "postgres" / "test_races.py").read_text(encoding="utf-8")
    assert f"def {name}(" in races
    assert name in (ROOT / "docs" / "postgres.md").read_text(encoding="utf-8")
