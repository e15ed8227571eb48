"""Workspaces: one for each worker, bound to a revision, locked to the living; and git run so that it cannot do more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from lawful.core.errors import NetworkError, ToolError, ValidationError
from lawful.effects import Ledger, Refused, Succeeded
from lawful.effects.branch_commit import BranchCommit, BranchMove, Committed, prepare_commit
from lawful.effects.git import branch_name, commit_id, git, holds, tip_of
from lawful.effects.workspace import Workspace, clear, isolated_workspace
from lawful.journal.memory import MemoryJournal
from support.git_repo import ME, make_repo, plan_commit

pytestmark = pytest.mark.integration


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    make_repo(tmp_path / "repo")
    return tmp_path / "repo"


def test_a_workspace_stands_at_its_revision_and_goes_when_done(repo: Path) -> None:
    """Rows: S2-012"""
    base = git(repo, "rev-parse", "HEAD").out
    (repo / "requirements.txt").write_text("dirty\n")
    with isolated_workspace(repo) as work:
        assert work.revision == base
        assert (work.path / "requirements.txt").read_text() == "httpx==0.27.0\n"
        (work.path / "requirements.txt").write_text("httpx==0.28.0\n")
        (work.path / "new.txt").write_text("new\n")
        assert work.changed() == ("new.txt", "requirements.txt")
        tree = work.tree()
        assert work.tree() == tree
    assert not work.path.exists()
    assert (repo / "requirements.txt").read_text() == "dirty\n"
    assert git(repo, "cat-file", "-t", tree).out == "tree"
    assert git(repo, "worktree", "list", "--porcelain").out.count("worktree ") == 1


def test_two_workers_never_get_the_same_directory(repo: Path) -> None:
    """Rows: S2-012"""
    got: list[Path] = []
    gate = threading.Barrier(6)
    wrong: list[BaseException] = []

    def work() -> None:
        try:
            gate.wait()
            with isolated_workspace(repo) as mine:
                (mine.path / "mark").write_text(str(threading.get_ident()))
                got.append(mine.path)
                time.sleep(0.1)
                assert (mine.path / "mark").read_text() == str(threading.get_ident())
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []
    assert len(set(got)) == 6


def test_a_dead_owners_workspace_is_cleared_a_living_ones_is_not(repo: Path) -> None:
    code = (
        "import os, sys\nfrom lawful.effects.workspace import isolated_workspace\n"
        "with isolated_workspace(sys.argv[1]) as w:\n    print(w.path, flush=True)\n    sys.stdin.read()\n"
    )
    src = str(Path(__file__).resolve().parents[2] / "src")
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(repo)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": src},
    )
    assert other.stdin is not None
    assert other.stdout is not None
    path = Path(other.stdout.readline().strip())
    assert clear(repo) == ()
    assert path.exists()
    os.kill(other.pid, signal.SIGKILL)
    other.wait()
    other.stdin.close()
    other.stdout.close()
    assert path.exists()
    assert clear(repo) == (path.name,)
    assert not path.exists()


@pytest.mark.parametrize("name", ["../out", "/etc/passwd", "", ".git", "a/../../b", "a\0b"])
def test_paths_stay_within(repo: Path, name: str) -> None:
    with isolated_workspace(repo) as work:
        assert work.within("a/b.txt") == work.path.resolve() / "a" / "b.txt"
        (work.path / "link").symlink_to("/etc")
        for wrong in (name, "link/passwd"):
            with pytest.raises(ValidationError):
                work.within(wrong)


@pytest.mark.parametrize(
    "name",
    ["--upload-pack=x", "-q", "main..HEAD", "HEAD^{/x}", "main@{1}", "a b", "", "HEAD~1", ":/Start", "a\0b", ".hidden"],
)
def test_hostile_revisions_are_refused(repo: Path, name: str) -> None:
    with pytest.raises(ValidationError):
        commit_id(repo, name)
    with pytest.raises(ValidationError), isolated_workspace(repo, name):
        pass


@pytest.mark.parametrize(
    "name",
    [
        "-d",
        "a..b",
        "a/.b",
        "a.lock",
        "a/b.lock/c",
        "HEAD",
        "a b",
        "",
        "a//b",
        "a/",
        "a~1",
        "a^",
        "a:b",
        "x" * 201,
        "f" * 40,
    ],
)
def test_hostile_branches_are_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        branch_name(name)


def test_no_repository_and_no_commit_are_told(repo: Path, tmp_path: Path) -> None:
    for wrong in (tmp_path / "missing", tmp_path):
        with pytest.raises(ValidationError), isolated_workspace(wrong):
            pass
    with pytest.raises(ValidationError, match="names no commit"):
        commit_id(repo, "nowhere")
    assert tip_of(repo, "nowhere") is None
    assert not holds(repo, "nowhere", "0" * 40)


def test_git_takes_no_orders_from_the_environment(repo: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.bare")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "true")
    hook = repo / ".git" / "hooks" / "reference-transaction"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path / 'hooked'}\n")
    hook.chmod(0o755)
    git(repo, "update-ref", "refs/heads/other", "HEAD")
    assert tip_of(repo, "other") == commit_id(repo, "main")
    assert not (tmp_path / "hooked").exists()


def test_git_past_its_time_is_killed_with_its_children(repo: Path, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    git(repo, "config", "alias.hang", f"!echo $$ > {pid}; sleep 60")
    began = time.monotonic()
    with pytest.raises(NetworkError, match="did not end"):
        git(repo, "hang", timeout=0.5)
    assert time.monotonic() - began < 20
    child = int(pid.read_text())
    until = time.monotonic() + 5
    while time.monotonic() < until and Path(f"/proc/{child}").exists():
        state = Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()[0]
        if state == "Z":
            break
        time.sleep(0.02)
    else:
        assert not Path(f"/proc/{child}").exists()


def test_a_failure_is_typed_and_names_the_command(repo: Path) -> None:
    with pytest.raises(ToolError, match="git rev-parse failed"):
        git(repo, "rev-parse", "--verify", "nothing-here")
    with pytest.raises(ValidationError, match="NUL"):
        git(repo, "log", "a\0b")


def test_a_commit_is_prepared_the_same_each_time_and_moves_nothing(repo: Path) -> None:
    one, two = plan_commit(repo), plan_commit(repo)
    assert one == two
    assert tip_of(repo, "update") is None
    assert (
        git(repo, "show", "-s", "--format=%an <%ae> %ct %s", one.commit).out
        == "Ada <ada@example.org> 1700000000 Bump httpx"
    )
    with pytest.raises(ValidationError):
        prepare_commit(repo, tree=one.revision, parent=one.commit, message=" ", author="A", email="a", at=0)
    with pytest.raises(ValidationError):
        prepare_commit(repo, tree=one.revision, parent=one.commit, message="m", author="A\nB", email="a", at=0)


def test_a_branch_is_moved_once_and_a_moved_branch_refuses(repo: Path) -> None:
    move = plan_commit(repo)
    ledger = Ledger(MemoryJournal())
    effect = BranchCommit()
    done = ledger.execute_sync(effect.plan(move))
    assert done == Succeeded(Committed("update", move.commit), effect.plan(move).op_id)
    assert git(repo, "rev-list", "--count", "main..update").out == "1"
    other = plan_commit(repo, "httpx==0.29.0\n")
    refused = ledger.execute_sync(effect.plan(other))
    assert isinstance(refused, Refused)
    assert not refused.retryable
    assert tip_of(repo, "update") == move.commit


def test_a_commit_beneath_later_work_is_found(repo: Path) -> None:
    move = plan_commit(repo)
    git(repo, "update-ref", "refs/heads/update", move.commit)
    with isolated_workspace(repo, "update") as work:
        assert isinstance(work, Workspace)
        (work.path / "more.txt").write_text("more\n")
        git(work.path, "add", "--all")
        git(work.path, "commit", "--quiet", "-m", "More", env=ME)
        later = git(work.path, "rev-parse", "HEAD").out
    git(repo, "update-ref", "refs/heads/update", later)
    outcome = Ledger(MemoryJournal()).execute_sync(BranchCommit().plan(move))
    assert isinstance(outcome, Succeeded)
    assert tip_of(repo, "update") == later


def test_a_move_names_real_objects() -> None:
    from lawful.effects.git import object_id

    with pytest.raises(ValidationError):
        object_id("HEAD")
    with pytest.raises(ValidationError):
        BranchCommit().plan(BranchMove("/nowhere", "bad branch", None, "0" * 40))
