"""Programs that pyright strict accepts, and programs that it must refuse, each with the complaint that is expected."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from support.tree import ROOT

pytestmark = pytest.mark.integration

HERE = Path(__file__).resolve().parent
ACCEPTED = sorted((HERE / "accepted").glob("*.py"))
REFUSED = sorted((HERE / "refused").glob("*.py"))
EXPECTED = re.compile(r"# expect: (.+?)\s*$")

Complaint = tuple[int, str]
"""A line, and "rule: message" in one line."""


def _key(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


@cache
def _complaints() -> dict[str, list[Complaint]]:
    """What pyright strict says about all programs, by folder and name; one run for all of them."""
    if importlib.util.find_spec("pyright") is None:
        if os.environ.get("LAWFUL_CI"):
            pytest.fail("pyright is missing")
        pytest.skip("needs pyright: pip install '.[check]'")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pyright",
            "--outputjson",
            "-p",
            str(HERE / "pyrightconfig.json"),
            "--pythonpath",
            sys.executable,
        ],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    found: dict[str, list[Complaint]] = defaultdict(list)
    for one in json.loads(done.stdout)["generalDiagnostics"]:
        text = f"{one.get('rule', '')}: {' '.join(one['message'].split())}"
        found[_key(Path(one["file"]))].append((one["range"]["start"]["line"] + 1, text))
    return found


@pytest.mark.parametrize("program", ACCEPTED, ids=lambda path: path.stem)
def test_a_right_program_is_accepted(program: Path) -> None:
    """Rows: S0-011, S0-019."""
    assert _complaints().get(_key(program), []) == []


@pytest.mark.parametrize("program", REFUSED, ids=lambda path: path.stem)
def test_a_wrong_program_is_refused_for_the_reason_expected(program: Path) -> None:
    """Rows: S0-073, S0-029, S0-043, S2-018."""
    lines = program.read_text(encoding="utf-8").splitlines()
    expected = {number: match[1] for number, line in enumerate(lines, 1) if (match := EXPECTED.search(line))}
    assert expected, "a refused program says what is expected, as `# expect: text` on the line"
    heard = _complaints().get(_key(program), [])
    assert [(line, text) for line, text in heard if line not in expected] == [], "complaints that nobody expected"
    for number, text in expected.items():
        assert any(line == number and text in said for line, said in heard), (
            f"line {number}: {text!r} not among {heard}"
        )


def test_programs_of_both_kinds_exist() -> None:
    assert ACCEPTED
    assert REFUSED
