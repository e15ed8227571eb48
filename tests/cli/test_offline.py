"""The demo needs no network, and says what it does while it does it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.command import BRANCH, Place
from support.tree import environment

pytestmark = pytest.mark.integration

GUARD = """
import socket

def refuse(self, address, *rest):
    if self.family != socket.AF_UNIX and address[0] != "127.0.0.1":
        raise SystemExit(f"the network was asked for: {address}")
    return real(self, address, *rest)

def find(host, *rest, **more):
    if host != "127.0.0.1":
        raise SystemExit(f"the network was asked for: {host}")
    return names(host, *rest, **more)

real, names = socket.socket.connect, socket.getaddrinfo
socket.socket.connect, socket.getaddrinfo = refuse, find
"""


WAIT = """
import os, sys, time

for _ in range(2_000):
    if os.path.exists(sys.argv[1]):
        sys.exit(0)
    time.sleep(0.01)
sys.exit("nobody has read what was told")
"""


def guarded(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Python with ``words``, in which a connection that leaves this machine ends the process; its children are guarded too."""
    (folder / "guard").mkdir(exist_ok=True)
    (folder / "guard" / "sitecustomize.py").write_text(GUARD, encoding="utf-8")
    env = environment()
    env["PYTHONPATH"] = f"{folder / 'guard'}:{env.get('PYTHONPATH', '')}"
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("place", ["192.0.2.1", "forge.example"])
def test_the_guard_notices_the_network(tmp_path: Path, place: str) -> None:
    asked = guarded(tmp_path, "-c", f"import socket; socket.create_connection(({place!r}, 9), timeout=1)")
    assert "the network was asked for" in asked.stderr


def test_the_demo_opens_no_connection_that_leaves_this_machine(tmp_path: Path) -> None:
    done = guarded(tmp_path, "-m", "lawful.cli", "demo", "--yes")
    assert done.returncode == 0, done.stderr
    assert f"branch {BRANCH} has one new commit" in done.stdout


def test_progress_is_told_as_it_goes(tmp_path: Path) -> None:
    """What was proposed is to be read while the tests of the repository still run: they wait for the reader."""
    read, script = tmp_path / "read", tmp_path / "wait.py"
    script.write_text(WAIT, encoding="utf-8")
    command = Place(tmp_path).start("demo", "--test", f"{sys.executable} {script} {read}")
    assert command.stdout is not None
    told = ""
    while "scope" not in told:
        line = command.stdout.readline()
        assert line, "it ended without having told"
        told += line
    assert command.poll() is None
    read.touch()
    rest, problem = command.communicate(timeout=60)
    assert command.returncode == 0, problem
    assert "judge" in rest
