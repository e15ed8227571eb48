"""How coroutines run side by side without an asyncio task for each: one becomes a task when it waits, or is looked at."""

from __future__ import annotations

import asyncio
import sys
from asyncio.tasks import _enter_task, _leave_task, _register_task  # pyright: ignore[reportPrivateUsage]
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, copy_context
from typing import Any, Self, cast

Work = Coroutine[Any, Any, None]


class NodeTask(asyncio.Task[None]):
    """The asyncio task of a coroutine that was stepped by hand before it became one."""

    __slots__ = ("context", "home", "waits_for", "work")

    work: Work | None
    """None when it is over."""
    context: Context | None
    home: Stepper
    waits_for: Any
    """What the work gave the loop to wait for when it became a task there; None for one turn of the loop."""


class UnseenTask(NodeTask):
    """The same before: what `asyncio.current_task()` gives in the work.

    It becomes a task, with all that belongs to one, as soon as anybody asks it for anything. Most work never does, and
    never pays for it.
    """

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        seen(self)
        return getattr(self, name)

    def __repr__(self) -> str:
        seen(self)
        return repr(self)

    def __await__(self) -> Generator[Any, None, None]:
        seen(self)
        return self.__await__()

    __iter__ = __await__


def seen(task: NodeTask) -> None:
    """Make it a task of its loop, which does the rest of its work."""
    task.__class__ = NodeTask  # from here on its attributes can be read
    work = _rest(task)
    work.send(None)
    cast("Any", asyncio.Task).__init__(task, work, loop=task.home.loop, context=task.context)
    task.home.heard(task)


async def _rest(task: NodeTask) -> None:
    await _Rest(task)


class _Rest:
    """What is left of a task's work, already standing where the work stands: the task's first step goes on there."""

    __slots__ = ("_task",)

    def __init__(self, task: NodeTask) -> None:
        self._task = task

    def __await__(self) -> Generator[Any, Any, None]:
        task = self._task
        error: BaseException | None = None
        try:
            yield
        except BaseException as thrown:  # noqa: BLE001 - handed on to the work itself, as a plain await would
            error = thrown
        waits_for, task.waits_for, work = task.waits_for, None, task.work
        if work is None:
            return
        if waits_for is not None and (error is None or _cancelled_too(waits_for, error)):
            error = None
            try:
                yield waits_for
            except BaseException as thrown:  # noqa: BLE001 - the same
                error = thrown
        while True:
            try:
                waits_for = work.throw(error) if error is not None else work.send(None)
            except StopIteration:
                return
            error = None
            try:
                yield waits_for
            except BaseException as thrown:  # noqa: BLE001 - the same
                error = thrown


def _cancelled_too(waits_for: Any, error: BaseException) -> bool:
    """Cancel what the work waits for, as the cancellation of a task does; whether the work will hear of it from there."""
    cancel = getattr(waits_for, "cancel", None)
    return cancel is not None and isinstance(error, asyncio.CancelledError) and cancel(*error.args)


class Stepper:
    """Starts coroutines, each in a context of its own, and steps them for as long as they only give way to one another."""

    __slots__ = ("_around", "_broken", "_called", "_eager", "_ready", "_real", "loop")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, *, eager: bool, broken: Callable[[BaseException], None]
    ) -> None:
        self.loop = loop
        self._eager = eager
        """Whether the first step is taken at once, on the caller's stack."""
        self._around: asyncio.Task[Any] | None = None
        self._called = False
        """Whether the loop will call `_turn`."""
        self._broken = broken
        """Told what a coroutine raised; whatever a node raises is caught before."""
        self._ready: deque[Any] = deque()
        """Task, work, context and the turns it has had of each that goes on in the loop's next turn, one after another."""
        self._real = loop.get_debug() or loop.get_task_factory() is not None
        """Whether each is a task from the start: somebody watches them."""

    def __enter__(self) -> Self:
        """Set the running task aside, so that others can be stepped."""
        self._around = asyncio.current_task(self.loop)
        if self._around is not None:
            _leave_task(self.loop, self._around)
        return self

    def __exit__(self, *_: object) -> None:
        if self._around is not None:
            _enter_task(self.loop, self._around)
            self._around = None

    def start(self, work: Work) -> asyncio.Task[None]:
        """Begin the work, inside a ``with`` of this stepper; gives its task."""
        if self._real:
            return self.heard(self.loop.create_task(work))
        if sys.version_info >= (3, 12):
            return self.heard(asyncio.Task(work, loop=self.loop, eager_start=self._eager))
        task: NodeTask = UnseenTask.__new__(UnseenTask)
        context = copy_context()
        task.work, task.home = work, self
        task.context, task.waits_for = context, None
        if self._eager:
            self._step(task, work, context, 0)
        else:
            self._queue(task, work, context, 0)
        return task

    def heard(self, task: asyncio.Task[None]) -> asyncio.Task[None]:
        """Hear of what a real task raises."""
        if task.done():
            self._ended(task)
        else:
            task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._broken(error)

    def _queue(self, task: NodeTask, work: Work, context: Context, turns: int) -> None:
        if not self._called:
            self._called = True
            self.loop.call_soon(self._turn)
        self._ready.extend((task, work, context, turns))

    def _turn(self) -> None:
        """One turn of the loop for all that want no more than that."""
        self._called = False
        ready = self._ready
        take = ready.popleft  # so that what is over is let go at once
        for _ in range(len(ready) // 4):
            task, work, context, turns = take(), take(), take(), take()
            if type(task) is UnseenTask:  # else the loop has it already
                self._step(task, work, context, turns)

    def _step(self, task: NodeTask, work: Work, context: Context, turns: int) -> None:
        loop = self.loop
        _enter_task(loop, task)
        try:
            waits_for = context.run(work.send, None)
        except StopIteration:
            task.work = task.context = None
            return
        except BaseException as error:  # noqa: BLE001 - the seam: the run is told
            task.work = task.context = None
            self._broken(error)
            return
        finally:
            _leave_task(loop, task)
        if type(task) is not UnseenTask:  # somebody looked, and the loop takes the next step
            task.waits_for = waits_for
        elif waits_for is not None:
            task.waits_for = waits_for
            seen(task)
        else:
            if turns == 1:
                _register_task(task)  # one that stays is listed; most give way once at most
            self._queue(task, work, context, turns + 1)


__all__ = ["NodeTask", "Stepper"]
