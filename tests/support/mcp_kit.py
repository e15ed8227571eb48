"""What the tests of MCP share: the odd server's command line, its log, and which processes are left."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

SERVER = Path(__file__).parent / "mcp_server.py"
MODERN = Path(__file__).parent / "mcp_modern.py"


def command(how: str = "plain", log: Path | None = None) -> list[str]:
    return [sys.executable, str(SERVER), how, *([str(log)] if log is not None else [])]


def calls(log: Path) -> list[str]:
    """The tools that were called, in order."""
    if not log.exists():
        return []
    return [line.split()[0] for line in log.read_text("utf-8").splitlines() if not line.startswith(("start", "child"))]


def alive(pid: int) -> bool:
    """Whether it runs; one that is dead and was not reaped by its own parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def running(mark: str) -> list[int]:
    """The processes whose command line has ``mark`` in it, this one left out."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            told = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if mark in told and alive(int(entry.name)):
            found.append(int(entry.name))
    return found


def within(seconds: float, true: Callable[[], bool]) -> bool:
    """Whether it comes true in time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if true():
            return True
        time.sleep(0.02)
    return true()


def listens(port: int) -> bool:
    """Whether something on this machine takes connections there."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
