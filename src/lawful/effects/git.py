"""Git as a child process: own process group, time limit, no shell, no inherited settings, no hostile names."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from lawful.core.errors import NetworkError, ToolError, ValidationError

TIMEOUT = 60.0
"""Seconds that one git command may take."""

ABSENT = "0"
"""As many of these as an object id is long mean "there is no such ref" to git."""

# What a repository's own configuration could otherwise make git run.
_QUIET = (
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.fsmonitor=false",
    "-c", "protocol.ext.allow=never",
    "-c", "gc.auto=0",
    "-c", "maintenance.auto=false",
    "-c", "commit.gpgSign=false",
)  # fmt: skip

_SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./+=-]*")


class GitResult(Struct, frozen=True):
    """How a git command ended."""

    code: int
    out: str
    err: str


def git(
    repo: str | Path,
    *arguments: str,
    timeout: float = TIMEOUT,
    stdin: str | None = None,
    env: Mapping[str, str] | None = None,
    check: bool = True,
) -> GitResult:
    """Run git in ``repo`` and wait for it; past ``timeout`` seconds its whole process group is killed.

    Raises: NetworkError, if it did not end in time (what it did is not known then); ToolError, if it could not be
    started, or with ``check`` if it failed; ValidationError for a NUL in an argument.
    """
    what = f"git {next((word for word in arguments if not word.startswith('-')), '')}"
    if any("\0" in word for word in arguments):
        raise ValidationError(f"{what}: an argument has a NUL character", component="git", operation=what)
    try:
        child = subprocess.Popen(
            ["git", *_QUIET, *arguments],
            cwd=repo,
            env=_clean(env),
            stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise ToolError(f"{what} could not be started in {repo}: {error}", component="git", operation=what) from error
    try:
        out, err = child.communicate(stdin.encode() if stdin is not None else None, timeout=timeout)
    except subprocess.TimeoutExpired as error:
        _kill(child)
        raise NetworkError(f"{what} did not end within {timeout} s", component="git", operation=what) from error
    except BaseException:  # an interrupt must not leave the child behind
        _kill(child)
        raise
    result = GitResult(child.returncode, out.decode(errors="replace").strip(), err.decode(errors="replace").strip())
    if check and result.code != 0:
        raise ToolError(
            f"{what} failed ({result.code}): {result.err or result.out}",
            component="git",
            operation=what,
            details={"code": str(result.code), "repo": str(repo)},
        )
    return result


def _kill(child: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.communicate()


def _clean(more: Mapping[str, str] | None) -> dict[str, str]:
    """The environment without any GIT_ variable, system or user configuration, prompt, pager or editor."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    for name in ("PAGER", "EDITOR", "VISUAL", "SSH_ASKPASS"):
        kept.pop(name, None)
    return {
        **kept,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "LC_ALL": "C",
        **(more or {}),
    }


def branch_name(name: str) -> str:
    """``name``, if it can be a branch and nothing else. Raises: ValidationError."""
    bad = (
        not _REF.fullmatch(name)
        or len(name) > 200
        or ".." in name
        or "//" in name
        or name.endswith(("/", "."))
        or any(part.startswith(".") or part.endswith(".lock") for part in name.split("/"))
        or name == "HEAD"
        or _SHA.fullmatch(name) is not None
    )
    if bad:
        raise ValidationError(f"{name!r} is no branch name", component="git", operation="branch name")
    return name


def object_id(name: str) -> str:
    """``name``, if it is a full object id. Raises: ValidationError."""
    if not _SHA.fullmatch(name):
        raise ValidationError(f"{name!r} is no full object id", component="git", operation="object id")
    return name


def commit_id(repo: str | Path, revision: str) -> str:
    """The full id of the commit that ``revision`` (an object id, branch, tag or HEAD) names.

    Raises: ValidationError, for a name that git could read as an option, a range or an expression, or that names no commit.
    """
    if revision != "HEAD" and not _SHA.fullmatch(revision):
        parts = revision.split("/")
        if not _REF.fullmatch(revision) or ".." in revision or any(part.startswith(".") for part in parts):
            raise ValidationError(f"{revision!r} is no revision", component="git", operation="revision")
    found = git(repo, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}", check=False)
    if found.code != 0 or not _SHA.fullmatch(found.out):
        raise ValidationError(
            f"{revision!r} names no commit in {repo}",
            component="git",
            operation="revision",
            details={"revision": revision, "repo": str(repo)},
        )
    return found.out


def tip_of(repo: str | Path, branch: str) -> str | None:
    """The commit at the branch's tip, or None where there is no such branch."""
    found = git(repo, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch_name(branch)}", check=False)
    return found.out if found.code == 0 and _SHA.fullmatch(found.out) else None


def holds(repo: str | Path, branch: str, commit: str) -> bool:
    """Whether ``commit`` is the branch's tip or an ancestor of it. Raises: ToolError, where git cannot tell."""
    tip = tip_of(repo, branch)
    if tip is None:
        return False
    answer = git(repo, "merge-base", "--is-ancestor", object_id(commit), tip, check=False)
    if answer.code not in (0, 1):
        raise ToolError(
            f"git cannot tell whether {commit} is in {branch}: {answer.err}", component="git", operation="merge-base"
        )
    return answer.code == 0
