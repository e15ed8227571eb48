"""`BranchCommit`: moving a branch to a prepared commit, as an effect whose outcome is decided by ancestry alone."""

from __future__ import annotations

import asyncio
from pathlib import Path

from msgspec import Struct

from lawful.core.errors import EffectRefused, Failure, ValidationError
from lawful.effects.capability import Found, Lookup, Natural, NotFound, Seen, Unavailable
from lawful.effects.contract import EffectContext
from lawful.effects.effect import Effect
from lawful.effects.git import ABSENT, branch_name, git, holds, object_id, tip_of
from lawful.effects.policy import Policy

_NAME = frozenset("<>\n\0")


class BranchMove(Struct, frozen=True):
    """Move ``branch`` of ``repo`` from ``expected`` to ``commit``."""

    repo: str
    """The repository's path."""
    branch: str
    expected: str | None
    """Full id of the commit that the branch stands at now; None where it is to be created."""
    commit: str
    """Full id of the commit made by `prepare_commit`."""
    revision: str = ""
    """What evidence and approvals name: the tree's id, or whatever was tested; the commit where left empty."""


class Committed(Struct, frozen=True):
    """The branch holds the commit."""

    branch: str
    commit: str


class BranchCommit(Effect[BranchMove, Committed]):
    """Commit to a branch, once however often it is tried.

    ``git update-ref`` moves the ref only from its expected value, so doing it twice is doing it once; whether it happened
    is read from the branch's ancestry, never from git's exit code. Each git command has a process group of its own.
    """

    tool = "git.branch_commit"
    capability = Natural() & Lookup("strong", unique_by=("repo", "branch", "commit"))
    once_per_key = True

    def __init__(self, *, policy: Policy | None = None, git_timeout: float = 10.0) -> None:
        self.policy = policy
        self.git_timeout = git_timeout

    def key(self, command: BranchMove) -> str:
        repo = str(Path(command.repo).resolve())
        return f"{repo}@{command.revision or command.commit}:{branch_name(command.branch)}"

    def revision(self, command: BranchMove) -> str:
        return command.revision or object_id(command.commit)

    async def perform(self, command: BranchMove, ctx: EffectContext) -> Committed:
        """Move the ref. Raises: EffectRefused, if the branch stands elsewhere; NetworkError, if git did not end in time."""
        return await asyncio.to_thread(self._move, command, ctx)

    def _move(self, command: BranchMove, ctx: EffectContext) -> Committed:
        branch, commit = branch_name(command.branch), object_id(command.commit)
        old = object_id(command.expected) if command.expected is not None else ABSENT * len(commit)
        note = f"lawful: {ctx.op_id[:150]}"
        ctx.before_send()
        moved = git(
            command.repo,
            *("update-ref", "-m", note, f"refs/heads/{branch}", commit, old),
            timeout=self.git_timeout,
            check=False,
        )
        if holds(command.repo, branch, commit):
            return Committed(branch, commit)
        # The process has ended and the branch does not hold the commit: nothing of this attempt can still arrive.
        tip = tip_of(command.repo, branch)
        raise EffectRefused(
            f"branch {branch!r} stands at {tip or 'nothing'}, not at {command.expected or 'nothing'}: {moved.err}",
            component=self.tool,
            details={"branch": branch, "tip": tip or "", "expected": command.expected or ""},
            retryable=tip == command.expected,
        )

    async def lookup(self, command: BranchMove, ctx: EffectContext) -> Seen[Committed]:
        """Whether the branch's history holds the commit."""
        try:
            found = await asyncio.to_thread(holds, command.repo, command.branch, command.commit)
        except Failure as error:
            return Unavailable(error.message)
        return Found(Committed(command.branch, command.commit)) if found else NotFound()


def prepare_commit(repo: str | Path, *, tree: str, parent: str, message: str, author: str, email: str, at: int) -> str:
    """Write the commit object, which moves no branch; gives its id, equal for equal arguments.

    ``at`` is in seconds since 1970 UTC and part of the commit, so take it from the run's recorded values, not the clock.

    Raises: ValidationError, ToolError.
    """
    if not author.strip() or _NAME & set(author + email) or "\0" in message or not message.strip():
        raise ValidationError(
            "a commit needs a message, and an author without <, > and line breaks", component="git", operation="commit"
        )
    who = {
        f"GIT_{role}_{field}": value
        for role in ("AUTHOR", "COMMITTER")
        for field, value in (("NAME", author), ("EMAIL", email), ("DATE", f"{at} +0000"))
    }
    made = git(repo, "commit-tree", object_id(tree), "-p", object_id(parent), "-F", "-", stdin=message, env=who)
    return object_id(made.out)
