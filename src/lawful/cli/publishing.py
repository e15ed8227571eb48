"""The demo's second effect: a pull request at the local forge, the process that serves it, and how its reply can be lost."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from msgspec import Struct

from lawful.cli.forge import ADDRESS, DATABASE, LOSE
from lawful.core.errors import EffectRefused, Failure, NetworkError
from lawful.core.secret import Secret
from lawful.effects.branch_commit import BranchCommit, BranchMove, Committed
from lawful.effects.capability import Lookup, NotFound, Promise, Seen, Unavailable
from lawful.effects.contract import EffectContext
from lawful.effects.git import commit_id, git, tip_of
from lawful.effects.http import fetch
from lawful.effects.policy import Policy, RequireApproval, RequireEvidence
from lawful.effects.references import OpenPull, Pull, PullRequest

RULES = Policy(
    "dependency-publication",
    (RequireEvidence("scope"), RequireEvidence("tests"), RequireApproval()),
)
"""What a pull request needs: all that the commit needed. That the branch still stands there is read at the claim."""

START_SECONDS = 15.0


class Place:
    """A forge's folder, and the process that serves it: started when it is first needed, and whenever it has ended."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def address(self) -> tuple[str, str]:
        """URL and token of the running forge. Raises: NetworkError, if none can be started."""
        found = self._running()
        if found is not None:
            return found
        self.folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [sys.executable, "-m", "lawful.cli.forge", str(self.folder.resolve())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            check=False,
        )
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            time.sleep(0.02)
            if (found := self._running()) is not None:
                return found
        raise NetworkError(f"no forge could be started in {self.folder}", component="forge")

    def _running(self) -> tuple[str, str] | None:
        try:
            told = json.loads((self.folder / ADDRESS).read_text(encoding="utf-8"))
            url, token = str(told["url"]), str(told["token"])
            got = fetch("GET", f"{url}/", headers={"Authorization": f"Bearer {token}"}, timeout=5.0)
        except (OSError, ValueError, KeyError, Failure):
            return None
        return (url, token) if got.good else None

    def count(self, repo: str, head: str) -> int:
        """How many pull requests of the branch the forge's file holds."""
        file = self.folder / DATABASE
        if not file.exists():
            return 0
        with closing(sqlite3.connect(file)) as con:
            asked = "SELECT count(*) FROM pulls WHERE repo=? AND head=?"
            return int(con.execute(asked, (repo, head)).fetchone()[0])


class Play(Struct, frozen=True):
    """What goes wrong in a run of the demo, by its options."""

    kill_after_commit: bool = False
    kill_after_effect: bool = False
    lose_reply: bool = False
    moved: bool = False
    """Somebody else pushes to the branch between the approval and the pull request."""
    say: Callable[[str, str], None] | None = None
    """Takes a step's name and what is going on in it."""
    last_words: Callable[[], None] | None = None
    """Called right before the process kills itself."""

    def tell(self, step: str, text: str) -> None:
        if self.say is not None:
            self.say(step, text)

    def die(self) -> None:
        if self.last_words is not None:
            self.last_words()
        os.kill(os.getpid(), signal.SIGKILL)


def push_by_somebody(repo: str, branch: str) -> str:
    """Put another commit on the branch, as a colleague's push would; gives the words for it."""
    who = {f"GIT_{role}_{field}": "somebody" for role in ("AUTHOR", "COMMITTER") for field in ("NAME", "EMAIL")}
    tip = commit_id(repo, branch)
    text = "Something that nobody has approved\n"
    other = git(repo, "commit-tree", f"{tip}^{{tree}}", "-p", tip, "-F", "-", stdin=text, env=who).out
    git(repo, "update-ref", f"refs/heads/{branch}", other, tip)
    return f"meanwhile somebody else has pushed {other[:12]} to {branch}"


class DemoCommit(BranchCommit):
    """A branch commit, after which the process may kill itself before anybody has written that down."""

    def __init__(self, play: Play, policy: Policy) -> None:
        super().__init__(policy=policy)
        self.play = play

    async def perform(self, command: BranchMove, ctx: EffectContext) -> Committed:
        committed = await super().perform(command, ctx)
        if self.play.kill_after_commit:
            self.play.tell("commit", f"branch {committed.branch} has moved, and nobody has written that down yet")
            self.play.die()
        return committed


class DemoPull(PullRequest):
    """A pull request at the local forge, which answers from its own file: its list is up to date.

    A request that has not been read within ten seconds is never carried out: the forge closes the connection.
    """

    tool = "forge.pull_request"
    capability: Promise | Any = Lookup("strong", unique_by=("repo", "head", "revision"), max_in_flight=10.0)

    def __init__(self, place: Place, play: Play) -> None:
        super().__init__(Secret("the forge's own"))
        self.place = place
        self.play = play
        self.policy = RULES
        self.repo = ""

    def of(self, repo: str) -> DemoPull:
        """The same for a repository's path: what the forge publishes lies there."""
        twin = copy.copy(self)
        twin.repo = repo
        return twin

    async def current_revision(self, command: OpenPull, ctx: EffectContext) -> str | None:
        return await asyncio.to_thread(tip_of, self.repo, command.head)

    async def perform(self, command: OpenPull, ctx: EffectContext) -> Pull:
        try:
            await asyncio.to_thread(self.aim)
        except NetworkError as error:
            raise EffectRefused(error.message, component=self.tool, retryable=True) from error
        try:
            pull = await super().perform(command, ctx)
        except NetworkError as lost:
            self.play.tell("publish", f"the reply never came ({lost.message}): did it happen?")
            if self.play.kill_after_effect:
                self.play.die()
            raise
        if self.play.kill_after_effect:
            self.play.tell(
                "publish", f"the forge has opened pull request #{pull.number}, nobody has written that down yet"
            )
            self.play.die()
        return pull

    async def lookup(self, command: OpenPull, ctx: EffectContext) -> Seen[Pull]:
        try:
            await asyncio.to_thread(self.aim)
            seen = await super().lookup(command, ctx)
        except Failure as error:
            return Unavailable(error.message)
        told = "it is not there" if isinstance(seen, NotFound) else "it is there"
        self.play.tell("publish", f"the forge was asked for this operation's pull request: {told}")
        return seen

    def aim(self) -> None:
        """Find the forge, starting it if need be. Raises: NetworkError, if there is none."""
        self.url, token = self.place.address()
        self.token = Secret(token)
        self.headers = {LOSE: "1"} if self.play.lose_reply else {}
