"""Stands between a server and the program that started it, so that nothing of the server outlives either of them.

Run as a script of its own (``python -I -S keeper.py PARENT COMMAND...``). It leads the process group that it was started
in, and the server inherits its standard streams, so that it copies nothing. It ends the whole group when the server has
ended or the parent is gone, in whatever way.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

LOOK = 0.25
"""Seconds between two looks at whether the parent is there."""
GRACE = 0.5
"""Seconds that left-over members of the group have after SIGTERM."""


def main(argv: list[str]) -> int:
    """Start ``argv[1:]`` for the process ``argv[0]``, wait for its end or the parent's, end the group."""
    parent, command = int(argv[0]), argv[1:]
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        child = subprocess.Popen(command, preexec_fn=_as_usual)
    except OSError as error:
        print(f"cannot start {command[0]!r}: {error.strerror}", file=sys.stderr)
        return 127
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)  # the server alone holds the pipes: it sees their end, and so does who reads from it
    os.dup2(nothing, 1)
    ended = threading.Event()

    def wait() -> None:
        child.wait()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    while not ended.wait(LOOK) and os.getppid() == parent:
        pass
    if ended.is_set():
        print(f"the server ended with {_how(child.returncode)}", file=sys.stderr, flush=True)
    _end_group()
    return max(child.returncode or 0, 0)


def _as_usual() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _how(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {-code}"


def _end_group() -> None:
    """SIGTERM for whoever is left, then SIGKILL, which ends this process too."""
    if not _others():
        return
    with contextlib.suppress(OSError):
        os.killpg(0, signal.SIGTERM)
    until = time.monotonic() + GRACE
    while _others() and time.monotonic() < until:
        time.sleep(0.02)
    if _others():
        with contextlib.suppress(OSError):
            os.killpg(0, signal.SIGKILL)


def _others() -> bool:
    """Whether a process of this group other than this one is alive; true where nobody can tell."""
    group, me = os.getpgrp(), os.getpid()
    try:
        ids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return True
    for pid in ids:
        if pid == me:
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as told:
                state, _, pgrp = told.read().rpartition(")")[2].split()[:3]
            if int(pgrp) == group and state not in ("Z", "X"):
                return True
    return False


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
