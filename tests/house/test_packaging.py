"""What pyproject.toml and requirements.lock promise: few dependencies, locked with hashes, none too young, no index named."""

from __future__ import annotations

import re
import tomllib

import pytest

from support.tree import ROOT

pytestmark = pytest.mark.unit

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")


def _name(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found is not None, requirement
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def _locked() -> dict[str, str]:
    """Each requirement of the lock with its hashes, by name."""
    entries = re.split(r"\n(?=[a-z])", LOCK)
    return {_name(entry): entry for entry in entries if not entry.startswith("#")}


def test_three_packages_are_required_and_no_more() -> None:
    assert sorted(map(_name, PROJECT["project"]["dependencies"])) == ["msgspec", "pydantic", "typing-extensions"]


def test_every_requirement_has_a_lowest_version() -> None:
    """Rows: S4-041."""
    extras = PROJECT["project"]["optional-dependencies"].values()
    declared = [*PROJECT["project"]["dependencies"], *(one for extra in extras for one in extra)]
    assert [one for one in declared if ">=" not in one] == []


def test_the_lock_holds_what_is_declared_with_hashes() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = [*PROJECT["project"]["dependencies"], *extras["test"], *extras["check"]]
    locked = _locked()
    assert [one for one in wanted if _name(one) not in locked] == []
    assert [name for name, entry in locked.items() if "--hash=sha256:" not in entry or "==" not in entry] == []


def test_the_lock_names_no_index_and_no_machine() -> None:
    assert "://" not in LOCK
    assert [line for line in LOCK.splitlines() if line.startswith("-")] == []


def test_releases_younger_than_a_week_are_not_taken() -> None:
    """Rows: S4-042."""
    assert PROJECT["tool"]["uv"]["exclude-newer"] == "7 days"
    assert re.search(r"^# Releases after \d{4}-\d\d-\d\dT00:00:00Z were not taken\.$", LOCK, re.MULTILINE)
    assert "7 days ago" in (ROOT / ".ci" / "lock").read_text(encoding="utf-8")


def test_every_kind_of_test_has_its_marker() -> None:
    """Rows: S1-065."""
    markers = [line.partition(":")[0] for line in PROJECT["tool"]["pytest"]["ini_options"]["markers"]]
    assert {"unit", "property", "crash", "integration", "snapshot"} <= set(markers)
    bare = [
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if "pytestmark" not in path.read_text(encoding="utf-8")
        and "pytest.mark." not in path.read_text(encoding="utf-8")
        if "data" not in path.parts
    ]
    assert bare == []
