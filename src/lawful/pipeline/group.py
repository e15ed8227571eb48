"""Several coroutines at once, none left behind: the first trouble cancels and awaits the rest, then the gravest one wins."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine, Iterator
from typing import Any

from lawful.core.failure import Failure
from lawful.core.result import Err, Ok, Result
from lawful.core.signals import ControlSignal, OutcomeUnknown, find_signal, latch
from lawful.pipeline.scene import Adrift, operations

_NOWHERE = sys.maxsize
Job = Coroutine[Any, Any, Result[Any, Any]]


class Group:
    """Runs ``jobs`` in their order, at most ``at_once`` at a time; with ``ahead`` all at once, and the outcome is that of
    one after the other: trouble cancels only what stands after it, and the first of the jobs that had some decides.

    Each is a task of its own and the group waits for a future of its own, so that neither waiting nor cancelling
    recurses however deep groups are nested.
    """

    def __init__(self, jobs: Iterator[Job], at_once: int | None = None, *, ahead: bool = False) -> None:
        self.signal: ControlSignal | None = None
        """The strongest control signal of all jobs."""
        self._jobs = jobs
        self._at_once = at_once
        self._values: dict[int, Any] = {}
        self._errors: dict[int, Err[Any]] = {}
        self._bugs: dict[int, BaseException] = {}
        self._signals: dict[int, ControlSignal] = {}
        self._running: dict[asyncio.Task[Result[Any, Any]], int] = {}
        self._started = 0
        self._expired: Err[Any] | None = None
        self._trouble = False
        self._ahead = ahead
        self._operations = operations()
        self._torn = False
        """A job that was still running has been cancelled."""
        self._cut = _NOWHERE
        """The jobs from this one on have been cancelled."""
        self._wake: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(self) -> Result[list[Any], Any]:
        """The values in the jobs' order, or the error of the first job, in their order, of those that had one.

        Raises: the strongest control signal of all jobs, if there was one; else CancelledError, if the group itself
        was cancelled; else the first exception that is none of these, which is a bug. Adrift instead of an error, where
        jobs were cancelled and an effect was performed meanwhile.
        """
        while self._at_once is None or len(self._running) < self._at_once:
            if not self._start():
                break
        cancelled: asyncio.CancelledError | None = None
        while self._running:
            try:
                await self._wake
            except asyncio.CancelledError as error:
                cancelled = error
                self._trouble = True
                self._ahead = False
            self._wake = asyncio.get_running_loop().create_future()
            if self._trouble:
                self._cut = min(self._cut, self._first_trouble() + 1 if self._ahead else 0)
                for task, index in self._running.items():
                    if index >= self._cut:
                        self._torn = True
                        task.cancel()
        return self._outcome(cancelled)

    def expire(self, error: Failure) -> None:
        """Cancel what is running; the outcome is ``error`` unless all have succeeded nevertheless."""
        self._expired = Err(error)
        self._trouble = True
        self._ahead = False
        if not self._wake.done():
            self._wake.set_result(None)

    def _start(self) -> bool:
        job = None if self._trouble else next(self._jobs, None)
        if job is None:
            return False
        task = asyncio.create_task(job)
        self._running[task] = self._started
        self._started += 1
        task.add_done_callback(self._ended)
        return True

    def _ended(self, task: asyncio.Task[Result[Any, Any]]) -> None:
        index = self._running.pop(task)
        before = self._first_trouble() if self._ahead else self._trouble
        self._keep(index, task)
        if not self._trouble:
            self._start()
        now = self._first_trouble() if self._ahead else self._trouble
        if (not self._running or now != before) and not self._wake.done():
            self._wake.set_result(None)

    def _first_trouble(self) -> int:
        return min((*self._errors, *self._bugs, *self._signals), default=_NOWHERE)

    def _keep(self, index: int, task: asyncio.Task[Result[Any, Any]]) -> None:
        if task.cancelled():
            if index < self._cut:  # its own code raised CancelledError though nobody had cancelled it
                self._bugs[index] = asyncio.CancelledError()
                self._trouble = True
            return
        error = task.exception()
        if error is None:
            match task.result():
                case Ok(value):
                    self._values[index] = value
                case Err() as end:
                    self._errors[index] = end
                    self._trouble = True
            return
        self._trouble = True
        signal = find_signal(error)
        if signal is None:
            self._bugs[index] = error
        else:
            self._signals[index] = signal
            latch(self, signal)

    def _outcome(self, cancelled: asyncio.CancelledError | None) -> Result[list[Any], Any]:
        end = self._ended_as(cancelled)
        if isinstance(end, Err) and self._torn and operations() > self._operations:
            # What was cancelled may have been an effect on its way: nobody here may do something else instead.
            raise Adrift(end.error)
        return end

    def _ended_as(self, cancelled: asyncio.CancelledError | None) -> Result[list[Any], Any]:
        if self._ahead and not isinstance(self.signal, OutcomeUnknown):
            return self._in_turn()
        if self.signal is not None:
            raise self.signal
        if cancelled is not None:
            raise cancelled
        if self._bugs:
            raise self._bugs[min(self._bugs)]
        if self._expired is not None and len(self._values) < self._started:
            return self._expired
        if self._errors:
            return self._errors[min(self._errors)]
        return Ok([self._values[index] for index in range(self._started)])

    def _in_turn(self) -> Result[list[Any], Any]:
        first = self._first_trouble()
        if first in self._errors:
            return self._errors[first]
        if first != _NOWHERE:
            raise self._signals.get(first) or self._bugs[first]
        return Ok([self._values[index] for index in range(self._started)])
