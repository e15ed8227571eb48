"""Parked worker threads, shared by the whole process: lent, never waited for; none idle, one more is started."""

from __future__ import annotations

import _thread
import os
from collections import deque
from collections.abc import Callable
from typing import Any


class _Worker:
    """One thread: parked on its lock until it is handed a job."""

    __slots__ = ("job", "lock")

    def __init__(self) -> None:
        self.lock = _thread.allocate_lock()
        self.lock.acquire()
        self.job: Callable[[], Any] | None = None

    def loop(self) -> None:
        while True:
            job = self.job
            self.job = None
            if job is not None:
                job()
                del job
            if len(_idle) >= _KEEP:
                return
            _idle.append(self)
            self.lock.acquire()


_KEEP = 64
"""Idle workers beyond this many end instead of being parked."""
_idle: deque[_Worker] = deque()

if hasattr(os, "register_at_fork"):
    # A child has the list but not the threads: handing them work would wait for ever.
    os.register_at_fork(after_in_child=_idle.clear)


def lend(job: Callable[[], Any]) -> None:
    """Run ``job`` in a thread of its own, now. It must not raise."""
    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
        worker.job = job
        # not Thread.start(), which waits for the thread to begin
        _thread.start_new_thread(worker.loop, ())
        return
    worker.job = job
    worker.lock.release()


class Pool:
    """The threads of one invocation: at most ``limit`` at once, taking tasks from one queue.

    One worker is on its way at a time; each that takes a task calls the next. So blocking tasks spread at once, and
    tasks that do nothing stay on one thread.
    """

    __slots__ = ("_jobs", "_lock", "_running", "_summoned", "limit", "run")

    def __init__(self, run: Callable[[Any], Any], limit: int) -> None:
        self.run = run
        self.limit = limit
        self._jobs: deque[Any] = deque()
        self._lock = _thread.allocate_lock()
        self._running = 0
        self._summoned = False

    def give(self, tasks: Any) -> None:
        """Queue tasks; each will be handed to ``run`` in some worker."""
        self._jobs.extend(tasks)
        self._summon()

    def take(self) -> Any:
        """A task that no worker has begun, for the caller to run; None if there is none."""
        try:
            return self._jobs.popleft()
        except IndexError:
            return None

    def drop(self, tasks: Any) -> list[Any]:
        """Take back those of ``tasks`` that no worker has begun."""
        taken: list[Any] = []
        for task in tasks:
            try:
                self._jobs.remove(task)
            except ValueError:
                continue
            taken.append(task)
        return taken

    def _summon(self) -> None:
        with self._lock:
            if self._summoned or self._running >= self.limit or not self._jobs:
                return
            self._summoned = True
            self._running += 1
        lend(self._work)

    def _work(self) -> None:
        with self._lock:
            self._summoned = False
        jobs, run = self._jobs, self.run
        while True:
            try:
                task = jobs.popleft()
            except IndexError:
                with self._lock:
                    if not jobs:
                        self._running -= 1
                        return
                continue
            if jobs and not self._summoned and self._running < self.limit:
                self._summon()
            run(task)
