"""Isolated checkouts: each worker gets a git worktree of its own, bound to one revision and locked to its owner."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from msgspec import Struct

from lawful.core.errors import ToolError, ValidationError
from lawful.effects.git import commit_id, git

_TRIES = 8
"""A new lock file may be taken by someone who clears away, just before its maker locks it."""
_OURS = re.compile(r"w[0-9a-f]{16}")


class Workspace(Struct, frozen=True):
    """A checkout that nobody else has."""

    path: Path
    """The working directory, removed when its owner is done."""
    repo: Path
    """The repository that it is a worktree of."""
    revision: str
    """The full id of the commit that was checked out."""

    def within(self, name: str) -> Path:
        """The path of a file in this workspace. Raises: ValidationError, if ``name`` leads out of it or into ``.git``."""
        if name and "\0" not in name:
            root = self.path.resolve()
            target = (root / name).resolve()
            if root in target.parents and ".git" not in target.relative_to(root).parts:
                return target
        raise ValidationError(f"{name!r} leads out of the workspace", component="workspace", operation="within")

    def tree(self, *, timeout: float = 60.0) -> str:
        """Write the files as they are now to the repository's object store; gives the tree's id.

        Equal content gives an equal id, so this is the revision that evidence should name.
        """
        git(self.path, "add", "--all", timeout=timeout)
        return git(self.path, "write-tree", timeout=timeout).out

    def changed(self) -> tuple[str, ...]:
        """Paths that differ from the revision, new files included, sorted."""
        git(self.path, "add", "--all")
        told = git(self.path, "diff", "--cached", "--name-only", "-z", "--no-renames", "--no-ext-diff", self.revision)
        return tuple(sorted(name for name in told.out.split("\0") if name))


@contextmanager
def isolated_workspace(repo: str | Path, revision: str = "HEAD", *, timeout: float = 60.0) -> Generator[Workspace]:
    """A fresh worktree of ``repo`` at ``revision`` (an object id, branch, tag or HEAD), removed at the end.

    Two workers never get the same directory: it is made new, and an OS lock on a file beside it, held as long as the
    owner lives, tells others that it is in use. Those of dead owners are cleared away on the next call.

    Raises: ValidationError, if ``repo`` is no repository or ``revision`` names no commit; ToolError, NetworkError.
    """
    root = _repository(repo)
    wanted = commit_id(root, revision)
    room = _room(root)
    clear(root)
    with ExitStack() as stack:
        for _ in range(_TRIES):
            path = room / f"w{secrets.token_hex(8)}"
            if stack.enter_context(_locked(path.with_suffix(".lock"))) is not None:
                break
        else:
            raise ToolError(f"no workspace could be locked in {room}", component="workspace", operation="open")
        try:
            with _administering(room):
                git(root, "worktree", "add", "--detach", "--quiet", str(path), wanted, timeout=timeout)
            yield Workspace(path, root, wanted)
        finally:
            _remove(root, path)


def clear(repo: str | Path) -> tuple[str, ...]:
    """Remove workspaces whose owner is dead; gives their names."""
    root = _repository(repo)
    room = _room(root)
    gone: list[str] = []
    for file in sorted(room.glob("w*.lock")):
        if not _OURS.fullmatch(file.stem):
            continue
        with _locked(file) as lock:
            if lock is not None:
                _remove(root, room / file.stem)
                gone.append(file.stem)
    return tuple(gone)


def _repository(repo: str | Path) -> Path:
    path = Path(repo)
    if not path.is_dir():
        raise ValidationError(f"{str(repo)!r} is no directory", component="workspace", operation="open")
    found = git(path, "rev-parse", "--git-dir", check=False)
    if found.code != 0:
        raise ValidationError(f"{str(repo)!r} is no git repository", component="workspace", operation="open")
    return path.resolve()


def _room(root: Path) -> Path:
    """Where this repository's workspaces lie: beside its objects, so that they go when it goes."""
    common = Path(git(root, "rev-parse", "--git-common-dir").out)
    room = (common if common.is_absolute() else root / common) / "lawful-workspaces"
    room.mkdir(mode=0o700, exist_ok=True)
    return room.resolve()


@contextmanager
def _locked(file: Path) -> Generator[IO[bytes] | None]:
    """The file's lock while the block runs, the file removed after; None where someone else holds it."""
    with open(file, "ab") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
            return
        if not _same(file, handle):
            yield None
            return
        try:
            yield handle
        finally:
            file.unlink(missing_ok=True)


def _same(file: Path, handle: IO[bytes]) -> bool:
    """Whether ``file`` still is what was opened: its owner may have removed it in between."""
    try:
        return os.path.samestat(os.stat(file), os.fstat(handle.fileno()))
    except FileNotFoundError:
        return False


def _remove(root: Path, path: Path) -> None:
    with _administering(path.parent):
        if path.exists():
            git(root, "worktree", "remove", "--force", "--force", str(path), check=False)
            shutil.rmtree(path, ignore_errors=True)
        git(root, "worktree", "prune", check=False)


@contextmanager
def _administering(room: Path) -> Generator[None]:
    """One at a time over all processes: git's worktree commands trip over each other's half-made entries."""
    with open(room / "administration", "ab") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
