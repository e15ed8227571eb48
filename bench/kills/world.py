"""The world of the kill: a payment provider that is a file, takes every request, and can be asked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from bench.jobs import Unfit

ORDER = "order-7"


def pay(folder: str, life: int) -> str:
    """Take the payment; in the first life the process dies right after, before anybody can note it."""
    with open(Path(folder) / "paid.txt", "a", encoding="utf-8") as paid:
        paid.write(f"{ORDER}\n")
        paid.flush()
        os.fsync(paid.fileno())
    if life == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"paid {ORDER}"


def payments(folder: str | Path) -> int:
    """How often it was paid."""
    file = Path(folder) / "paid.txt"
    return len(file.read_text(encoding="utf-8").splitlines()) if file.exists() else 0


def ask(end: str) -> None:
    """How a program says how its second life ended: "done", or "asked" where a person has to decide."""
    print(f"ended {end}", flush=True)


def two_lives(module: str, folder: Path, *more: str) -> tuple[int, bool]:
    """Run ``module`` until it dies and once more; gives the payments, and whether a person is asked."""
    folder.mkdir(parents=True)
    env = {**os.environ, "LANGSMITH_TRACING": "false", "DBOS__APPVERSION": "1"}
    for life in (1, 2):
        done = subprocess.run(
            [sys.executable, "-m", module, str(folder), str(life), *more],
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode != (-signal.SIGKILL if life == 1 else 0):
            raise Unfit(f"life {life} of {module} ended with {done.returncode}: {done.stderr[-300:]}")
    ends = [line.removeprefix("ended ") for line in done.stdout.splitlines() if line.startswith("ended ")]
    if ends not in (["done"], ["asked"]):
        raise Unfit(f"{module} said {done.stdout[-300:]!r}")
    return payments(folder), ends == ["asked"]
