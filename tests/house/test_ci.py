"""The CI scripts parse, can be run, and hold the stages that they name."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from support.tree import ROOT

pytestmark = pytest.mark.unit

SCRIPTS = sorted((ROOT / ".ci").iterdir())


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_parses_and_stops_at_the_first_failure(script: os.PathLike[str]) -> None:
    text = (ROOT / ".ci" / script).read_text(encoding="utf-8")
    assert "\nset -euo pipefail\n" in text
    assert os.access(script, os.X_OK)
    assert subprocess.run(["bash", "-n", script], capture_output=True).returncode == 0


def test_each_stage_that_is_named_exists() -> None:
    """Rows: S4-041."""
    text = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    named = re.search(r"^all=\((.+)\)$", text, re.MULTILINE)
    assert named is not None
    stages = named[1].split()
    assert {"lock", "format", "types", "floors", "house", "readme", "lowest"} <= set(stages)
    assert [stage for stage in stages if not re.search(rf"^{stage}\(\) {{", text, re.MULTILINE)] == []


def test_an_unknown_stage_fails() -> None:
    """With the environment left alone: only the loop over stages is under test."""
    text = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    loop = text.replace("\nenvironment\n", "\n").replace('cd "$(dirname "$0")/.."', "cd .")
    done = subprocess.run(["bash", "-s", "--", "no_such_stage"], input=loop, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert "Failed: no_such_stage" in done.stdout
