"""Running a helper script of these tests, or a few lines of code, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
SOURCE = TESTS.parent / "src"


def start(script: Path, *arguments: str, paths: tuple[Path, ...] = ()) -> subprocess.Popen[str]:
    """Begin ``script`` with the library and the tests' helpers on its path, ``paths`` before them."""
    found = os.pathsep.join(map(str, (*paths, SOURCE, TESTS)))
    return subprocess.Popen(
        [sys.executable, str(script), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": found},
    )


def finish(child: subprocess.Popen[str], *, code: int | None = 0, seconds: float = 60) -> str:
    """Wait for its end and give what it printed; it must have ended with ``code``."""
    out, err = child.communicate(timeout=seconds)
    assert code is None or child.returncode == code, err
    return out


def run(script: Path, *arguments: str, code: int | None = 0, paths: tuple[Path, ...] = ()) -> str:
    """Both."""
    return finish(start(script, *arguments, paths=paths), code=code)


def fresh(code: str, *arguments: str, flags: Sequence[str] = (), seconds: float = 60, **environment: str) -> str:
    """What ``code`` prints in a new interpreter that finds what this one finds; it must end well and complain of nothing."""
    paths = os.pathsep.join(path for path in sys.path if path)
    ran = subprocess.run(
        [sys.executable, *flags, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": paths, **environment},
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout
