"""One fresh Python with a single thread, whose forked children run a program and die by SIGKILL where they are told to.

A single thread, so that a fork copies no lock that another thread holds; warm, so that a child costs milliseconds.
"""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import itertools
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal, TypeAlias

from msgspec import Struct

from lawful.core.canonical import state_bytes
from lawful.core.errors import ConfigurationError, StoreError
from lawful.journal.port import Journal
from lawful.journal.records import Batch
from lawful.stores.sqlite import SQLiteJournal

Place: TypeAlias = Literal["before", "after"]
WRITES = ("acquire", "commit", "submit", "transact", "release")
"""The calls of a journal that write while a graph runs; renewals come by the clock and are not counted."""


class Point(Struct, frozen=True):
    """A moment to die: before the journal's n-th write begins, or after it is stored and before anybody hears of it."""

    write: int
    """1 is the first."""
    place: Place = "before"


class Write(Struct, frozen=True):
    """One write that `watch_writes` tells of."""

    number: int
    call: str
    """One of `WRITES`."""
    place: Place
    batch: Batch | None = None
    """What is committed or submitted."""


class Life(Struct, frozen=True):
    """What one process of a case is given."""

    journal: Journal
    """An SQLite journal in ``folder``; the same file in every process of a case."""
    folder: Path
    """Made for this case: what a program leaves in the world goes here."""
    number: int = 0
    """0 in the first process of the case, 1 in the one that goes on after the first death..."""
    told: Any = None
    """JSON, as the caller gave it."""


Program: TypeAlias = Callable[[Life], Any]
"""Begins, or goes on with what ``life.journal`` holds, to the end; may be a coroutine function.

What it gives is compared, so it holds the final state and what can be seen in the world: "how many lines were written".
It is a function of a module, since a fresh Python imports it by its name.
"""


class Ended(Struct, frozen=True):
    """How a process ended."""

    code: int
    """0, 1 after an exception, or minus the signal that killed it."""
    value: bytes = b""
    """What the program gave, as `state_bytes`."""
    shown: str = ""
    """The same, for people."""
    said: str = ""
    """The end of what it wrote to stderr."""

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL


def watch_writes(journal: Journal, hook: Callable[[Write], None]) -> None:
    """Call ``hook`` before each write of this handle, and after it is stored but before the caller hears of it.

    A StoreError that the hook raises is the write's: nothing is stored if it came before. The handle itself is changed.
    """
    numbers = itertools.count(1)

    def told(call: str) -> Callable[..., Any]:
        inner: Callable[..., Any] = getattr(journal, call)

        def write(*args: Any, **more: Any) -> Any:
            number = next(numbers)
            batch = args[0] if args and isinstance(args[0], Batch) else None
            hook(Write(number, call, "before", batch))
            result = inner(*args, **more)
            hook(Write(number, call, "after", batch))
            return result

        def submit(batch: Batch, done: Callable[[BaseException | None], None]) -> None:
            number = next(numbers)

            def stored(error: BaseException | None) -> None:
                try:
                    if error is None:  # what was refused is not stored
                        hook(Write(number, call, "after", batch))
                except StoreError as refusal:
                    error = refusal
                done(error)

            try:
                hook(Write(number, call, "before", batch))
            except StoreError as refusal:
                done(refusal)
            else:
                inner(batch, stored)

        return submit if call == "submit" else write

    for call in WRITES:
        setattr(journal, call, told(call))


def die_at(journal: Journal, point: Point) -> None:
    """Let this process be killed by its ``point.write``-th write through this handle."""

    def hook(write: Write) -> None:
        if write.number == point.write and write.place == point.place:
            os.kill(os.getpid(), signal.SIGKILL)

    watch_writes(journal, hook)


_SERVED = "LAWFUL_FORK_SERVER"
"""The environment's name for the module whose program a fork server serves."""


def _module_of(program: Program) -> str:
    """The module by whose name another Python imports the program: of a script, its file's."""
    module: str = program.__module__
    started = sys.modules.get("__main__")
    file: object = getattr(started, "__file__", None)
    if module != "__main__" or not isinstance(file, str) or getattr(started, "__spec__", None) is not None:
        return module
    return Path(file).stem


class ForkServer:
    """A fresh Python with one thread that has imported ``program`` and forks a child for each `run`; a context manager.

    Raises: ConfigurationError, for a program that is not a function of a module.
    """

    def __init__(self, program: Program) -> None:
        module, name = _module_of(program), program.__qualname__
        if os.environ.get(_SERVED) == module:
            raise ConfigurationError(
                f"{module} kills its program while it is imported: put the call under if __name__ == '__main__'",
                component="crash",
                operation="fork",
            )
        self._module = module
        if module == "__main__" or not all(part.isidentifier() for part in (*module.split("."), name)):
            raise ConfigurationError(
                f"{module}.{name} cannot be imported by another Python: write it as a function of a module",
                component="crash",
                operation="fork",
            )
        self._script = (
            f"from {module} import {name} as program\nfrom lawful.testing.crash_server import serve\nserve(program)\n"
        )
        self._server: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> ForkServer:
        path = os.pathsep.join(path or os.getcwd() for path in sys.path)
        env = {**os.environ, "PYTHONPATH": path, _SERVED: self._module}
        self._server = subprocess.Popen(
            [sys.executable, "-c", self._script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        server, self._server = self._server, None
        assert server is not None
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.close()
        server.stdout.close()
        server.wait()

    def run(
        self,
        folder: Path,
        *,
        number: int = 0,
        point: Point | None = None,
        told: Any = None,
        kill_after: float | None = None,
        timeout: float = 60.0,
    ) -> Ended:
        """Run the program in a child: killed at ``point``, or ``kill_after`` seconds from its start, or not at all.

        ``folder`` is made if it is missing. A child that takes longer than ``timeout`` seconds writes the stacks of its
        threads to stderr and is killed: then ``said`` shows them, and ``code`` is 1.
        """
        assert self._server is not None, "the server is used in a with statement"
        folder.mkdir(parents=True, exist_ok=True)
        order = {
            "folder": str(folder),
            "number": number,
            "point": [point.write, point.place] if point is not None else None,
            "told": told,
            "kill_after": kill_after,
            "timeout": timeout,
        }
        stdin, stdout = self._server.stdin, self._server.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(order).encode() + b"\n")
        stdin.flush()
        line = stdout.readline()
        if not line:
            raise RuntimeError("the fork server has ended; its stderr says why")
        code, value, shown = json.loads(line)
        said = folder / f"stderr-{number}"
        text = said.read_text(errors="replace")[-4000:] if said.exists() else ""
        return Ended(code, bytes.fromhex(value), shown, text)


def serve(program: Program) -> None:
    """The server's loop: an order a line on stdin, an answer a line on what was stdout. Called in the fresh Python only."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    gc.freeze()
    for line in sys.stdin.buffer:
        assert threading.active_count() == 1, "importing the program has started threads"
        answers.write(json.dumps(_child(program, json.loads(line), answers)).encode() + b"\n")


def _child(program: Program, order: dict[str, Any], answers: IO[bytes]) -> tuple[int, str, str]:
    """Fork, wait, kill if asked to; the exit code and what the child gave."""
    out, into = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(out)
        answers.close()
        _live(program, order, into)
    os.close(into)
    limit = order["kill_after"] if order["kill_after"] is not None else order["timeout"] + 5
    got, late = _read(out, time.monotonic() + limit)
    if late:
        os.kill(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code == 0:
        value, shown = json.loads(got)
        return 0, value, shown
    return (1 if late and order["kill_after"] is None else code), "", ""


def _read(source: int, until: float) -> tuple[bytes, bool]:
    """Everything up to the end of the pipe, and whether that took too long."""
    got = b""
    with open(source, "rb", buffering=0) as pipe:
        while True:
            if not select.select([pipe], [], [], max(0.0, until - time.monotonic()))[0]:
                return got, True
            part = pipe.read(65536)
            if not part:
                return got, False
            got += part


def _live(program: Program, order: dict[str, Any], into: int) -> None:
    """In the child: run, tell, and leave without the parent's clean-up."""
    code = 1
    try:
        folder = Path(order["folder"])
        said = os.open(folder / f"stderr-{order['number']}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for target in (1, 2):
            os.dup2(said, target)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        faulthandler.dump_traceback_later(order["timeout"], exit=True)
        journal = SQLiteJournal(folder / "journal.db")
        if order["point"] is not None:
            die_at(journal, Point(*order["point"]))
        value = program(Life(journal, folder, order["number"], order["told"]))
        if asyncio.iscoroutine(value):
            value = asyncio.run(value)
        journal.close()
        answer = json.dumps([state_bytes(value).hex(), repr(value)]).encode()
        while answer:
            answer = answer[os.write(into, answer) :]
        code = 0
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        sys.stderr.flush()
        os._exit(code)
