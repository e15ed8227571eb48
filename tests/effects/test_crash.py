"""A process commits to a real repository and is killed at every point; another one finishes: exactly one commit, always."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lawful.effects.git import git
from support.git_repo import PLACES, make_repo, plan_commit

pytestmark = pytest.mark.crash

ROOT = Path(__file__).resolve().parents[2]


def child(repo: Path, store: Path, point: str, **env: str) -> subprocess.CompletedProcess[str]:
    known = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT / 'tests'}", **env}
    return subprocess.run(
        [sys.executable, "-m", "support.git_repo", str(repo), str(store), point],
        env=known,
        capture_output=True,
        text=True,
        timeout=60,
    )


def holds_exactly_one(repo: Path, store: Path) -> None:
    move = plan_commit(repo)
    assert git(repo, "rev-parse", "refs/heads/update").out == move.commit
    assert git(repo, "rev-list", "--count", "main..update").out == "1"
    db = sqlite3.connect(store)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()


@pytest.mark.parametrize("point", PLACES)
def test_killed_at_every_point_the_commit_is_made_once(point: str, tmp_path: Path) -> None:
    """Rows: S2-024, S2-029; Ledger: L7; Cases: A09"""
    repo, store = tmp_path / "repo", tmp_path / "journal.db"
    make_repo(repo)
    killed = child(repo, store, point)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    finished = child(repo, store, "")
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.startswith("Succeeded(receipt=Committed(branch='update'")
    # Where the ref had moved before the death, nothing was sent again: the outcome was looked up.
    assert ("recorded=True" in finished.stdout) == (point in ("C6", "C7", "C8", "C9"))
    holds_exactly_one(repo, store)
    again = child(repo, store, "")
    assert "recorded=True" in again.stdout
    holds_exactly_one(repo, store)


def test_a_git_that_outlives_its_parent_and_arrives_late_changes_nothing(tmp_path: Path) -> None:
    """Ledger: L7"""
    repo, store, late = tmp_path / "repo", tmp_path / "journal.db", tmp_path / "late"
    make_repo(repo)
    real = shutil.which("git")
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text(
        f'#!/bin/sh\ncase "$*" in *update-ref*) kill -9 "$PPID"; sleep 1; {real} "$@"; echo done > {late}; exit;; esac\n'
        f'exec {real} "$@"\n'
    )
    slow.chmod(0o755)
    killed = child(repo, store, "", PATH=f"{slow.parent}{os.pathsep}{os.environ['PATH']}")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not late.exists()
    finished = child(repo, store, "")
    assert finished.stdout.startswith("Succeeded("), finished.stderr
    holds_exactly_one(repo, store)
    until = time.monotonic() + 10
    while not late.exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert late.exists()
    holds_exactly_one(repo, store)
    assert git(repo, "reflog", "show", "--format=%H", "refs/heads/update", check=False).out.count("\n") == 0
