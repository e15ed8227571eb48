"""The command `lawful` run as a child process in a folder of its own, and what git says came of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec

from lawful.cli.publishing import Place as Forge
from lawful.cli.update_graph import forge_name
from lawful.effects.git import git
from support.tree import environment

BRANCH = "lawful/wordkit-2.0.0"


class Ran:
    """How a command ended."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.code = done.returncode
        self.out = done.stdout
        self.err = done.stderr

    @property
    def error(self) -> str:
        """The code of the one error line; "" where nothing was said."""
        if not self.err:
            return ""
        [line] = self.err.splitlines()
        return line.rpartition("[")[2].removesuffix("]")

    def json(self) -> Any:
        return msgspec.json.decode(self.out)

    def __repr__(self) -> str:
        return f"exit code {self.code}\n{self.out}\n{self.err}"


class Place:
    """A folder in which the command is run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *words: str, **env: str) -> Ran:
        return Ran(
            subprocess.run(
                [sys.executable, "-m", "lawful.cli", *words],
                cwd=self.folder,
                env=environment(**env),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=120,
            )
        )

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "lawful.cli", *words],
            cwd=self.folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def repo(self, thread: str = "demo") -> Path:
        return self.folder / ".lawful" / "demo-repos" / thread

    def commits(self, thread: str = "demo", branch: str = BRANCH) -> int:
        """How many commits the branch has that ``main`` has not; 0 where there is no branch."""
        return commits(self.repo(thread), branch)

    def pulls(self, thread: str = "demo", branch: str = BRANCH) -> int:
        """How many pull requests the forge holds for the thread's branch."""
        place = Forge(self.folder / ".lawful" / "demo-forge")
        return place.count(forge_name(str(self.repo(thread).resolve())), branch)


def ended(child: subprocess.Popen[str]) -> Ran:
    out, err = child.communicate(timeout=120)
    return Ran(subprocess.CompletedProcess(child.args, child.returncode, out, err))


def commits(repo: Path, branch: str, since: str = "main") -> int:
    if not repo.exists():
        return 0
    counted = git(repo, "rev-list", "--count", f"{since}..refs/heads/{branch}", check=False)
    return int(counted.out) if counted.code == 0 else 0
