"""Batches in line for one connection: whoever holds its lock also writes what others queued, who then find it done."""

from __future__ import annotations

import _thread
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import TypeAlias

from lawful.journal.records import Batch

_IDLE = 1.0
"""Seconds without work after which the queue's thread ends."""

Done: TypeAlias = Callable[[BaseException | None], None]


class Entry:
    """One batch in the queue, and what became of it."""

    __slots__ = ("batch", "done", "error", "finished", "scope")

    def __init__(self, scope: str, batch: Batch, done: Done | None = None) -> None:
        self.scope = scope
        self.batch = batch
        self.done = done
        self.error: BaseException | None = None
        self.finished = False

    def finish(self, error: BaseException | None = None) -> None:
        self.error = error
        self.finished = True


def finish(entries: Sequence[Entry], refused: Mapping[int, BaseException]) -> None:
    """All of ``entries`` are written, but for those that ``refused`` names by their place."""
    for i, entry in enumerate(entries):
        entry.finish(refused.get(i))


class Queue:
    """``write`` writes what it is given and finishes each entry; ``most`` is how many it is given at once, 0 for all.

    What ``write`` raises is an interrupt of its thread: whatever is not finished then goes back into the queue.
    ``freed`` is called, outside the lock, after a batch gave up its lease.
    """

    def __init__(self, write: Callable[[Sequence[Entry]], None], freed: Callable[[], None], *, most: int = 0) -> None:
        self._write = write
        self._freed = freed
        self._most = most
        self.renew()

    def renew(self) -> None:
        """New locks and an empty queue, as a forked child needs them."""
        self.gate = threading.Lock()
        self._entries: deque[Entry] = deque()
        self._wake = threading.Condition()
        self._running = False

    def __len__(self) -> int:
        return len(self._entries)

    def commit(self, entry: Entry) -> None:
        """Write the batch in this thread, and with it what waits; or let the holder of the lock write it.

        Raises: what became the entry's error.
        """
        self._entries.append(entry)
        try:
            self.gate.acquire()
        except BaseException:  # an interrupt: nobody waits for this batch any more
            if entry in self._entries:
                self._entries.remove(entry)
            raise
        served: list[Entry] = []
        try:
            while not entry.finished:
                part = self._take()
                served += part
                self._serve(part, entry)
        finally:
            self.gate.release()
            self.report(served)
        if entry.error is not None:
            raise entry.error

    def submit(self, entry: Entry) -> None:
        """Queue the batch for the queue's own thread, or for whoever commits before it."""
        self._entries.append(entry)
        self._wake_up()

    def drain(self) -> None:
        """Write a part of what is queued."""
        with self.gate:
            served = self.flush()
        self.report(served)

    def drain_all(self) -> None:
        """Write all that is queued now."""
        while self._entries:
            self.drain()

    def flush(self) -> list[Entry]:
        """As `drain`, for who holds the lock; `report` is owed to the entries once it is free."""
        served = self._take()
        self._serve(served, None)
        return served

    def _wake_up(self) -> None:
        with self._wake:
            if self._running:
                self._wake.notify()
            else:
                self._running = True
                _thread.start_new_thread(self._run, ())

    def _run(self) -> None:
        try:
            while self._has_work():
                self.drain()
        finally:
            with self._wake:
                self._running = False
            if self._entries:  # whoever raised here must not leave the others waiting
                self._wake_up()

    def _has_work(self) -> bool:
        with self._wake:
            if not self._entries:
                self._wake.wait(_IDLE)
            if not self._entries:
                self._running = False
                return False
            return True

    def _take(self) -> list[Entry]:
        taken: list[Entry] = []
        while self._entries and (not self._most or len(taken) < self._most):
            taken.append(self._entries.popleft())
        return taken

    def _serve(self, entries: list[Entry], mine: Entry | None) -> None:
        """Write ``entries``; each has its error afterwards, or is written."""
        try:
            self._write(entries)
        except BaseException:
            # An interrupt of the thread that writes is not the others' failure: back into the queue with them.
            left = [entry for entry in entries if not entry.finished and entry is not mine]
            self._entries.extendleft(reversed(left))
            if any(entry.done is not None for entry in left):
                self._wake_up()
            raise

    def report(self, served: Sequence[Entry]) -> None:
        """Tell the submitters, outside the lock: they may call the journal. One that raises keeps none from it."""
        if any(entry.batch.release for entry in served):
            self._freed()
        with ExitStack() as stack:
            for entry in reversed(served):
                if entry.done is not None and entry.finished:
                    stack.callback(entry.done, entry.error)
