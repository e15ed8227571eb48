"""Children forked from the test, which end by themselves, are killed, and never run the test's own clean-up."""

from __future__ import annotations

import os
import select
import signal
import sys
import traceback
import warnings
from collections.abc import Callable


def fork(work: Callable[[], object]) -> int:
    """Run ``work`` in a child that exits with 0, or with 1 if it raises; its process id."""
    sys.stdout.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads run: that is what is tested
        pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def ended(pid: int) -> int:
    """Wait for the child: its exit code, or minus the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def kill(pid: int) -> None:
    """SIGKILL, and wait until it is dead."""
    os.kill(pid, signal.SIGKILL)
    assert ended(pid) == -signal.SIGKILL


class Line:
    """A pipe that a child writes numbers to and the parent reads them from."""

    def __init__(self) -> None:
        self._out, self._in = os.pipe()

    def tell(self, number: int) -> None:
        os.write(self._in, number.to_bytes(4, "big"))

    def listen(self) -> int:
        """The next number; waits for it half a minute."""
        got = b""
        while len(got) < 4:
            assert select.select([self._out], [], [], 30)[0], "the child says nothing"
            part = os.read(self._out, 4 - len(got))
            assert part, "the child ended without a word"
            got += part
        return int.from_bytes(got, "big")

    def rest(self) -> list[int]:
        """All that was told, once nobody can tell any more."""
        os.close(self._in)
        got = b""
        while part := os.read(self._out, 65536):
            got += part
        os.close(self._out)
        return [int.from_bytes(got[i : i + 4], "big") for i in range(0, len(got) - 3, 4)]
