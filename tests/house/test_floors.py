"""The floors hold, and a planted violation of each contract is refused."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.tree import ROOT, SOURCE, environment

pytestmark = pytest.mark.integration


def _lint(root: Path) -> tuple[int, str]:
    """import-linter's verdict on the library in ``root/src`` under the project's contracts."""
    if importlib.util.find_spec("importlinter") is None:
        if os.environ.get("LAWFUL_CI"):
            pytest.fail("import-linter is missing")
        pytest.skip("needs import-linter: pip install '.[check]'")
    command = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"
    done = subprocess.run(
        [sys.executable, "-c", command, "--no-cache"],
        cwd=root,
        env=environment(PYTHONPATH=str(root / "src")),
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(SOURCE, tmp_path / "src" / "lawful", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_floors_hold() -> None:
    """Rows: S1-001, S1-060, S0-009."""
    status, said = _lint(ROOT)
    assert status == 0, said


@pytest.mark.parametrize(
    "file, line, complaint",
    [
        ("core/planted.py", "import lawful.journal.port", "lawful.core is not allowed to import lawful.journal"),
        (
            "journal/planted.py",
            "import lawful.effects.policy",
            "lawful.journal is not allowed to import lawful.effects",
        ),
        ("core/planted.py", "import asyncio", "lawful.core is not allowed to import asyncio"),
        ("effects/policy.py", "import sqlite3", "lawful.effects.policy is not allowed to import sqlite3"),
        ("attic/__init__.py", "", "attic"),
    ],
    ids=["upwards", "two floors up", "the core does I/O", "a policy does I/O", "a folder without a floor"],
)
def test_a_planted_violation_is_refused(copy: Path, file: str, line: str, complaint: str) -> None:
    """Rows: S4-030, S1-001, S0-009."""
    path = copy / "src" / "lawful" / file
    path.parent.mkdir(exist_ok=True)
    text = path.read_text(encoding="utf-8") if path.exists() else '"""Planted."""\n'
    path.write_text(f"{text}\n{line}\n", encoding="utf-8")
    status, said = _lint(copy)
    assert status != 0
    assert complaint in " ".join(said.split()), said
