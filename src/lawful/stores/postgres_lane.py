"""A lane to the database: one connection, one lock, and a queue whose batches its holder writes together."""

from __future__ import annotations

import _thread
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from lawful.core.errors import StoreError, StoreLocked
from lawful.core.lazy import TYPE_CHECKING, late
from lawful.journal.records import Batch
from lawful.stores.postgres_batch import Group
from lawful.stores.postgres_errors import is_lost, translated
from lawful.stores.postgres_link import Link, Server
from lawful.stores.postgres_schema import lock_key

if TYPE_CHECKING:
    import psycopg
else:
    psycopg = late("psycopg", extra="postgres")

_IDLE = 1.0
"""Seconds without work after which a lane's thread ends."""
_TOGETHER = 64
"""Batches of one transaction: each holds a lock, of which the server has room for so many."""

Done = Callable[[BaseException | None], None]


class Entry:
    """One batch in the queue, and what became of it."""

    __slots__ = ("batch", "done", "error", "finished", "scope")

    def __init__(self, scope: str, batch: Batch, done: Done | None) -> None:
        self.scope = scope
        self.batch = batch
        self.done = done
        self.error: BaseException | None = None
        self.finished = False

    def finish(self, error: BaseException | None = None) -> None:
        self.error = error
        self.finished = True


class Lane:
    """Whose lock one holds may write what others queued; their threads then find it done."""

    def __init__(self, server: Server, now: Callable[[float], float], freed: Callable[[], None]) -> None:
        self._server = server
        self._now = now
        self._freed = freed
        self.link = Link(server)
        self.renew_locks()

    def renew_locks(self) -> None:
        self.gate = threading.Lock()
        self._queue: deque[Entry] = deque()
        self._wake = threading.Condition()
        self._running = False

    def commit(self, entry: Entry) -> None:
        """Write the batch in this thread, and with it what waits; or let the holder of the lock write it."""
        self._queue.append(entry)
        try:
            self.gate.acquire()
        except BaseException:  # an interrupt: nobody waits for this batch any more
            if entry in self._queue:
                self._queue.remove(entry)
            raise
        served: list[Entry] = []
        try:
            while not entry.finished:
                part = self._drain()
                served += part
                self._serve(part, entry)
        finally:
            self.gate.release()
            self._report(served)
        if entry.error is not None:
            raise entry.error

    def submit(self, entry: Entry) -> None:
        """Queue the batch for the lane's thread, or for whoever commits before it."""
        self._queue.append(entry)
        self._wake_up()

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
            if self._queue:  # whoever raised here must not leave the others waiting
                self._wake_up()

    def _has_work(self) -> bool:
        with self._wake:
            if not self._queue:
                self._wake.wait(_IDLE)
            if not self._queue:
                self._running = False
                return False
            return True

    def drain(self) -> None:
        """Write a part of what is queued."""
        with self.gate:
            served = self._drain()
            self._serve(served, None)
        self._report(served)

    def close(self) -> None:
        """Write all that is queued and let go of the connection."""
        while self._queue:
            self.drain()
        with self.gate:
            self.link.shut = True
            self.link.drop()

    def _drain(self) -> list[Entry]:
        taken: list[Entry] = []
        while self._queue and len(taken) < _TOGETHER:
            taken.append(self._queue.popleft())
        return taken

    def _report(self, served: Sequence[Entry]) -> None:
        """Tell the submitters, outside the lock: they may call the journal. One that raises keeps none from it."""
        if any(entry.batch.release for entry in served):
            self._freed()
        with ExitStack() as stack:
            for entry in reversed(served):
                if entry.done is not None and entry.finished:
                    stack.callback(entry.done, entry.error)

    # Writing.

    def _serve(self, entries: list[Entry], mine: Entry | None) -> None:
        """Write ``entries``; each has its error afterwards, or is written."""
        try:
            if not self._together(entries):
                for entry in entries:  # each gets the error that is its own
                    self._together([entry])
        except BaseException:
            # An interrupt of the thread that writes is not the others' failure: back into the queue with them.
            left = [entry for entry in entries if not entry.finished and entry is not mine]
            self._queue.extendleft(reversed(left))
            if any(entry.done is not None for entry in left):
                self._wake_up()
            raise

    def _together(self, entries: Sequence[Entry]) -> bool:
        """All of ``entries`` in one transaction; False where it failed for a reason that may be one batch's alone."""
        if not entries:
            return True
        refused: dict[int, BaseException] = {}
        keys = sorted({self.key(entry.scope, entry.batch.thread) for entry in entries})
        begin = self._server.begin(keys, durable=any(entry.batch.durable for entry in entries))
        try:
            with self.link.writing(begin) as at:
                group = Group(self.link, self._now(at), [(entry.scope, entry.batch) for entry in entries])
                for i, entry in enumerate(entries):
                    if (refusal := group.take(entry.scope, entry.batch)) is not None:
                        refused[i] = refusal
                group.write()
        except BaseException as error:
            if not isinstance(error, Exception):
                if self.link.committed:
                    self._finish(entries, refused)
                raise
            # Once waited, or once lost, is enough for all of them.
            told = translated(error, self._server.place, "commit") if isinstance(error, psycopg.Error) else error
            common = is_lost(error) or isinstance(told, StoreLocked) or isinstance(error, StoreError)
            if len(entries) > 1 and not common:
                return False
            refused = dict.fromkeys(range(len(entries)), told)
        self._finish(entries, refused)
        return True

    def key(self, scope: str, thread: str) -> int:
        """The number of a thread's lock."""
        return lock_key("thread", self._server.schema, scope, thread)

    @staticmethod
    def _finish(entries: Sequence[Entry], refused: dict[int, BaseException]) -> None:
        for i, entry in enumerate(entries):
            entry.finish(refused.get(i))
