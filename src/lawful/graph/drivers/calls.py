"""Carry out the calls of tasks that one attempt of a node makes: in lent threads, or as tasks of its event loop.

Each call is driven by a machine and a driver of its own, beside the one that drives the caller; what it ends with is
stored before its future tells it. No attempt ends before its calls have.
"""

from __future__ import annotations

import logging
import sys
from collections import deque
from concurrent.futures import CancelledError, Future
from concurrent.futures import wait as wait_for
from contextvars import Context, copy_context
from typing import Any, TypeVar

from lawful.core.errors import TaskChanged
from lawful.core.lazy import late
from lawful.core.replay import recorded_in
from lawful.core.signals import GraphInterrupt, latch
from lawful.graph import orders as o
from lawful.graph.calls import Calls, CallTask, Kept, arguments_digest, calls_of, machine_of, records_of
from lawful.graph.config import concurrency
from lawful.graph.drivers.shared import WORKERS
from lawful.graph.drivers.sync import SyncDriver
from lawful.graph.drivers.threads import Pool
from lawful.graph.notes import close_failed, replayed_call
from lawful.graph.program import Program
from lawful.graph.step_task import ASKED, CANCELLED, DONE, FAILED, Task
from lawful.journal.records import Batch, Record

T = TypeVar("T")
_log = logging.getLogger("lawful.graph")


class TaskFuture(Future[T]):
    """What a task call gives at once: in sync code wait with ``result()``, in async code ``await`` it.

    In async code it is an `asyncio.Future`, in sync code one of `concurrent.futures`; each works with its own module.
    """

    looked = False
    """Whether anybody asked for the outcome."""

    def result(self, timeout: float | None = None) -> T:
        self.looked = True
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self.looked = True
        return super().exception(timeout)

    def __await__(self) -> Any:
        return late("asyncio").wrap_future(self).__await__()


class Children:
    """The calls that one attempt has made."""

    __slots__ = ("_gate", "_pool", "flights", "limit", "parent")

    def __init__(self, parent: Task) -> None:
        self.parent = parent
        self.limit = concurrency(parent.run.config)
        self.flights: list[Any] = []
        """A future of each call that had to run."""
        self._pool: Pool | None = None
        self._gate: Any = None

    def call(self, task: CallTask, program: Program) -> Any:
        """The future of a call: of a stored result, or of one that starts now."""
        calls = calls_of(self.parent.base)
        awaits = self.parent.task_node.awaits
        if recorded_in(self.parent.run) is not None:
            return _ready(awaits, *replayed_call(task, arguments_digest(task)))
        try:
            found = calls.result(task)
        except TaskChanged as error:
            self.parent.fault = error  # no handler may go on with a result that is perhaps another call's
            raise
        if found is not None:
            return _ready(awaits, found.value, None)
        waiting = calls.waiting(task)
        if waiting:
            signal = GraphInterrupt(waiting)
            latch(self.parent, signal)
            return _ready(awaits, None, signal)
        return self._begin_async(task, program) if awaits else self._begin(task, program)

    # In threads

    def _begin(self, task: CallTask, program: Program) -> TaskFuture[Any]:
        future: TaskFuture[Any] = TaskFuture()
        self.flights.append(future)
        if self._pool is None:
            # A pool of this attempt's own: the caller waits for its calls, so it may hold no place that they need.
            self._pool = Pool(_carry, self.limit or WORKERS)
        self._pool.give(((copy_context(), task, program, future),))
        return future

    def join(self, failed: bool) -> None:
        """Wait for every call, in the thread that made them; those that have not begun are dropped after a failure."""
        if failed and self.parent.signal is None:
            for future in self.flights:
                future.cancel()
        wait_for(self.flights)
        for future in self.flights:
            error: Any = None if future.looked or future.cancelled() else future.exception()
            if isinstance(error, Exception):
                _log.warning(
                    "A task that node %s called failed, and nobody asked for its result",
                    self.parent.node,
                    exc_info=error,
                )

    # In the event loop

    def _begin_async(self, task: CallTask, program: Program) -> Any:
        asyncio = late("asyncio")
        if self.limit is not None and self._gate is None:
            self._gate = asyncio.Semaphore(self.limit)
        made = asyncio.get_running_loop().create_task(self._through_gate(task, program))
        self.flights.append(made)
        return made

    async def _through_gate(self, task: CallTask, program: Program) -> Any:
        if self._gate is None:
            return await _acarry(task, program)
        async with self._gate:
            return await _acarry(task, program)

    async def ended(self, outside: BaseException | None, failed: bool) -> BaseException | None:
        """Wait for every call, whatever happens; after a failure or a cancellation from outside they are cancelled first.

        Gives that cancellation, also one that comes meanwhile.
        """
        asyncio = late("asyncio")
        while left := [f for f in self.flights if not f.done()]:
            # A pause lets the other calls end, so that what they give is kept.
            for flight in left if outside is not None or (failed and self.parent.signal is None) else ():
                flight.cancel()
            try:
                await asyncio.wait(left)
            except asyncio.CancelledError as error:
                outside = error
        return outside


def _ready(awaits: bool, value: Any, error: BaseException | None) -> Any:
    """A future that is done."""
    future: Any = late("asyncio").get_running_loop().create_future() if awaits else TaskFuture[Any]()
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(value)
    return future


def _carry(job: tuple[Context, CallTask, Program, TaskFuture[Any]]) -> None:
    """One call in a lent thread: it must not raise."""
    context, task, program, future = job
    if not future.set_running_or_notify_cancel():
        return
    try:
        value = context.run(_driven, task, program)
    except BaseException as error:  # noqa: BLE001 - the seam: a task may raise anything, and its caller is told
        future.set_exception(error)
    else:
        future.set_result(value)


def _driven(task: CallTask, program: Program) -> Any:
    if task.task_node.is_async:  # called from sync code: a loop of its own
        return late("asyncio").run(_acarry(task, program))
    machine = machine_of(task, program)
    SyncDriver(machine, None, deque()).run(machine.launch())
    done = _ended(machine.tasks)
    records = _kept(done)
    if records:
        done.run.journal.commit(_batch(done, records))
    return _told(done)


async def _acarry(task: CallTask, program: Program) -> Any:
    machine = machine_of(task, program)
    outcome: o.Outcome = (
        await late("lawful.graph.drivers.aio").AsyncDriver(machine, None, deque()).run(machine.launch())
    )
    if isinstance(outcome, o.Broke):
        raise outcome.error  # the call was cancelled: it has no result, and runs again on a resume
    done = _ended(machine.tasks)
    records = _kept(done)
    if records:
        await _acommit(done, records)
    return _told(done)


def _ended(tasks: list[Any]) -> CallTask:
    """The slot of the last attempt."""
    return tasks[0]


def _kept(task: CallTask) -> list[Record]:
    """Tell the caller's slot what it must know, keep the result, and give the records that must be written now."""
    parent = task.parent
    if task.signal is not None:
        latch(parent, task.signal)  # before it is raised: the caller may never ask for the result, or swallow it
    calls = calls_of(task.base)
    records = records_of(task)
    if task.status == DONE:
        digest = arguments_digest(task) if task.base.recorder is not None else ""
        calls.kept[task.id] = Kept(task.value, digest)
    elif task.status == FAILED and isinstance(task.error, Exception):
        close_failed(task, task.error, arguments_digest(task))
    records += parent.unwritten()
    return _now(calls, task, records)


def _now(calls: Calls, task: CallTask, records: list[Record]) -> list[Record]:
    """What is to be written at once; a run that saves at its exit keeps the rest for then."""
    if task.run.durability != "exit":
        return records
    calls.unsaved.extend(records)
    return []


def _batch(task: CallTask, records: list[Record]) -> Batch:
    run = task.run
    assert run.thread is not None
    return Batch(run.thread, tuple(records), run.root.lease)


async def _acommit(task: CallTask, records: list[Record]) -> None:
    journal, batch = task.run.journal, _batch(task, records)
    if not journal.blocking:
        journal.commit(batch)
        return
    loop = sys.modules["asyncio"].get_running_loop()
    written = loop.create_future()

    def told(error: BaseException | None) -> None:
        if written.done():
            return
        if error is None:
            written.set_result(None)
        else:
            written.set_exception(error)

    def landed(error: BaseException | None) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(told, error)

    journal.submit(batch, landed)
    await written


def _told(task: CallTask) -> Any:
    """The result; what the task failed or stopped with is raised."""
    if task.status == DONE:
        return task.value
    if task.status == FAILED and task.error is not None:
        raise task.error
    if task.status == ASKED and task.signal is None:
        raise GraphInterrupt(task.questions)
    if task.signal is not None:
        raise task.signal
    assert task.status == CANCELLED
    raise CancelledError
