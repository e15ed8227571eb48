"""A small git repository for tests, and the plan to commit to it; run as a module it is the child that gets killed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lawful.core.questions import Principal
from lawful.effects import Approval, AwaitingApproval, EffectContext, Ledger, recover_sync
from lawful.effects import branch_commit as module
from lawful.effects.branch_commit import BranchCommit, BranchMove, prepare_commit
from lawful.effects.git import git
from lawful.effects.policy import Policy, RequireApproval
from lawful.stores.sqlite import SQLiteJournal

ME = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_AUTHOR_DATE": "1700000000 +0000",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_COMMITTER_DATE": "1700000000 +0000",
}


def make_repo(path: Path) -> str:
    """A repository with one commit on ``main``; gives its id."""
    path.mkdir(parents=True)
    git(path, "init", "--quiet", "--initial-branch=main")
    (path / "requirements.txt").write_text("httpx==0.27.0\n")
    git(path, "add", "--all")
    git(path, "commit", "--quiet", "-m", "Start", env=ME)
    return git(path, "rev-parse", "HEAD").out


def plan_commit(path: Path, content: str = "httpx==0.28.0\n") -> BranchMove:
    """The move of branch ``update`` (which does not exist) to a commit with ``content``; repeated it is the same."""
    base = git(path, "rev-parse", "main").out
    blob = git(path, "hash-object", "-w", "--stdin", stdin=content).out
    tree = git(path, "mktree", stdin=f"100644 blob {blob}\trequirements.txt\n").out
    commit = prepare_commit(
        path, tree=tree, parent=base, message="Bump httpx", author="Ada", email="ada@example.org", at=1_700_000_000
    )
    return BranchMove(str(path), "update", None, commit, tree)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Deadly:
    """A journal that dies before, inside or after its n-th transaction."""

    def __init__(self, inner: SQLiteJournal, place: str, number: int) -> None:
        self._inner = inner
        self._place = place
        self._left = number

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def transact(self, work: Callable[[Any], Any], *, durable: bool = True) -> Any:
        self._left -= 1
        if self._left:
            return self._inner.transact(work, durable=durable)

        def fatal(tx: Any) -> Any:
            work(tx)
            die()

        if self._place == "before":
            die()
        result = self._inner.transact(fatal if self._place == "inside" else work, durable=durable)
        if self._place == "after":
            die()
        return result


PLACES: dict[str, tuple[str, int]] = {
    "C0": ("before", 1),
    "C1": ("after", 1),
    "C2": ("after", 2),
    "C3": ("inside", 3),
    "C4": ("send", 0),
    "C5": ("call", 0),
    "C6": ("applied", 0),
    "C7": ("before", 4),
    "C8": ("inside", 4),
    "C9": ("after", 4),
}
"""Where the child dies: a transaction (1 plan, 2 approval, 3 claim, 4 outcome), or a moment of the call."""


def perform(repo: Path, store: Path, point: str) -> str:
    """Commit as planned, dying at ``point`` ("" for nowhere); gives the outcome."""
    place, number = PLACES.get(point, ("", 0))
    journal: Any = SQLiteJournal(store)
    if number:
        journal = Deadly(journal, place, number)
    _arm(place)
    effect = BranchCommit(policy=Policy("p", (RequireApproval(),)))
    recover_sync(journal, [effect])
    ledger = Ledger(journal, effects=[effect])
    intent = effect.plan(plan_commit(repo))
    outcome = ledger.execute_sync(intent)
    if isinstance(outcome, AwaitingApproval):
        ledger.approve(intent.op_id, Approval("a1", outcome.binding, Principal("alice")))
        outcome = ledger.execute_sync(intent)
    assert ledger.verify(intent.op_id)
    journal.close()
    return repr(outcome)


def _arm(place: str) -> None:
    if place == "send":
        EffectContext.before_send = lambda self: die()
    if place in ("call", "applied"):
        real = module.git

        def deadly(repo: str | Path, *arguments: str, **more: Any) -> Any:
            if arguments[0] == "update-ref":
                if place == "applied":
                    real(repo, *arguments, **more)
                die()
            return real(repo, *arguments, **more)

        module.git = deadly


if __name__ == "__main__":
    print(perform(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
