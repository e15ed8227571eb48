"""What a dependency update does to a repository short of moving a branch: read pins, apply in a checkout, run the tests."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from msgspec import Struct

from lawful.cli.update_rules import FILES, Edit, Pin, Request, Scoped, apply, pins_in
from lawful.core.errors import ToolError, ValidationError
from lawful.effects.branch_commit import prepare_commit
from lawful.effects.git import commit_id, git, tip_of
from lawful.effects.workspace import Workspace, isolated_workspace

TEST_SECONDS = 600.0
"""How long a repository's tests may take."""

_TAIL = 4000
"""Bytes of the tests' output that are looked at for its last line."""


class TestRun(Struct, frozen=True):
    """How a command that runs tests ended."""

    __test__ = False

    passed: bool
    why: str
    """In words."""
    last: str
    """The last line of its output."""
    digest: str
    """Of its exit code and output."""
    seconds: float


class Applied(Struct, frozen=True):
    """What came of applying a patch and running the tests on it."""

    commit: str
    tree: str
    changed: tuple[str, ...]
    """Paths that differ from the base."""
    tests: TestRun


def repository(path: str) -> str:
    """The top folder of the repository at ``path``. Raises: ValidationError, ToolError."""
    where = Path(path)
    if not where.is_dir():
        raise ValidationError(f"{path!r} is no folder", component="update", operation="repository")
    found = git(where, "rev-parse", "--show-toplevel", check=False)
    if found.code == 0 and found.out:
        return str(Path(found.out).resolve())
    if git(where, "rev-parse", "--is-bare-repository", check=False).out == "true":
        return str(where.resolve())
    raise ValidationError(f"{path!r} is no git repository", component="update", operation="repository")


def base_of(asked: Request) -> tuple[str, bool]:
    """The commit to build on, and whether the branch exists: its tip, else what HEAD names.

    Raises: ValidationError, for a branch that is checked out (its files would no longer fit it), or without any commit.
    """
    listed = git(asked.repo, "worktree", "list", "--porcelain").out.splitlines()
    if f"branch refs/heads/{asked.branch}" in listed:
        raise ValidationError(
            f"branch {asked.branch!r} is checked out: moving it would leave the files there behind; choose another --branch",
            component="update",
            operation="read",
            details={"branch": asked.branch},
        )
    tip = tip_of(asked.repo, asked.branch)
    return (tip, True) if tip is not None else (commit_id(asked.repo, "HEAD"), False)


def read_pins(repo: str, base: str) -> tuple[Pin, ...]:
    """Every exact pin in the dependency files of commit ``base``. Raises: ToolError."""
    where = [f":(glob)**/{name}" for name in FILES]
    found = git(repo, "grep", "-n", "-z", "-I", "-F", "--full-name", "-e", "==", base, "--", *where, check=False)
    if found.code not in (0, 1):
        raise ToolError(f"git grep failed: {found.err}", component="update", operation="read")
    pins: list[Pin] = []
    for row in found.out.split("\n"):
        path, _, rest = row.partition("\0")
        line, _, text = rest.partition("\0")
        if line.isdigit():
            pins += pins_in(path.removeprefix(f"{base}:"), int(line), text)
    return tuple(pins)


def apply_and_test(asked: Request, base: str, patch: Scoped, at: int) -> Applied:
    """Apply ``patch`` to ``base`` in a checkout that nobody else has, make its commit, and run the tests there.

    ``at`` dates the commit, in seconds since 1970 UTC. No branch moves and nothing else in the repository changes.

    Raises: ValidationError, if the files are not what the patch expects; ToolError, NetworkError, if git fails.
    """
    with isolated_workspace(asked.repo, base) as work:
        for path in patch.paths:
            _rewrite(work.within(path), [edit for edit in patch.edits if edit.path == path])
        tree, changed = work.tree(), work.changed()
        commit = prepare_commit(
            asked.repo,
            tree=tree,
            parent=base,
            message=f"{patch.summary}\n",
            author="lawful",
            email="lawful@localhost",
            at=at,
        )
        return Applied(commit, tree, changed, _tested(work, asked.test, tree))


def _rewrite(file: Path, edits: Sequence[Edit]) -> None:
    try:
        with open(file, encoding="utf-8", newline="") as held:
            text = held.read()
    except (OSError, UnicodeDecodeError) as error:
        raise ValidationError(f"{file.name!r} cannot be read as text: {error}", component="update") from error
    with open(file, "w", encoding="utf-8", newline="") as held:
        held.write(apply(text, edits))


def _tested(work: Workspace, command: Sequence[str], tree: str) -> TestRun:
    run = run_tests(command, work.path)
    # What passed must be what is committed: tests that rewrite tracked files tell nothing about it.
    rewritten = git(work.path, "diff", "--name-only", "--no-ext-diff", tree).out
    if run.passed and rewritten:
        return TestRun(False, f"the tests changed {rewritten.splitlines()[0]}", run.last, run.digest, run.seconds)
    return run


def run_tests(command: Sequence[str], folder: Path, *, limit: float = TEST_SECONDS) -> TestRun:
    """Run ``command`` in ``folder``, in a process group of its own that is killed past ``limit`` seconds."""
    known = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    begun = time.monotonic()
    with tempfile.TemporaryFile() as output:
        try:
            child = subprocess.Popen(
                _runnable(command),
                cwd=folder,
                env={**known, "PYTHONDONTWRITEBYTECODE": "1"},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            why = f"{command[0]!r} could not be started: {error.strerror or error}"
            return TestRun(False, why, "", hashlib.sha256(why.encode()).hexdigest(), 0.0)
        try:
            code: int | None = child.wait(limit)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        why = f"they did not end within {limit:.0f} s" if code is None else f"exit code {code}"
        last, digest = _read(output, code)
        return TestRun(code == 0, why, last, digest, time.monotonic() - begun)


def _runnable(command: Sequence[str]) -> list[str]:
    """``command``; where there is no ``python`` to be found, this interpreter stands in for it."""
    if command[0] == "python" and shutil.which("python") is None:
        return [sys.executable, *command[1:]]
    return list(command)


def _read(output: IO[bytes], code: int | None) -> tuple[str, str]:
    """The last line, and a digest of exit code and all output."""
    digest = hashlib.sha256(f"{code}\n".encode())
    output.seek(0)
    tail = b""
    while block := output.read(65536):
        digest.update(block)
        tail = (tail + block)[-_TAIL:]
    lines = [line.strip() for line in tail.decode(errors="replace").splitlines() if line.strip()]
    return (lines[-1][:200] if lines else ""), digest.hexdigest()
