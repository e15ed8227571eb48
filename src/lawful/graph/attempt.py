"""One attempt of a task, sync and async: the one seam where whatever a node raises is caught."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from lawful.core.context import current_task
from lawful.core.errors import ValidationError
from lawful.graph.persist import Recorder
from lawful.graph.program import Router
from lawful.graph.remarks import remark
from lawful.graph.step_task import ASKED, CANCELLED, DONE, FAILED, Task

_FAILED: Any = object()
"""What stands for a value where the node gave none."""


def attempt(task: Task, recorder: Recorder | None) -> None:
    """Run the node in this thread and leave the outcome in the task."""
    token = current_task.set(task)
    node = task.task_node
    try:
        task.begin()
        value = node.call(task.enter(), task)
    except BaseException as error:  # noqa: BLE001 - the seam: a node may raise anything, and the machine decides
        value = _caught(task, error)
        if value is _FAILED and _cancellation(error) and task.error is error:
            task.cancelled_itself(error)
    if task.children is not None:
        task.children.join(value is _FAILED)
    raised = value is _FAILED or _read(task, value, node.routers)
    current_task.reset(token)
    _over(task, raised, None, recorder, None)


def _caught(task: Task, error: BaseException) -> Any:
    """What a call that raised comes to: the command that a graph inside the node gave, or failure."""
    command = task.commanded(error)
    if command is not None:
        return command
    task.fail(error)
    remark(task, error)
    return _FAILED


def _read(task: Task, value: Any, routers: Sequence[Router]) -> bool:
    """Read what the node returned and follow its edges; whether one was refused, as the task's own failure."""
    try:
        if task.signal is not None:  # swallowed, or a command from a graph inside
            value = task.commanded(None)
        if task.signal is None:
            task.returned(value)
            if routers and task.signal is None:
                acceptor, values = task.base.program.acceptor, task.routing()
                for router in routers:
                    acceptor.routed(task, router, router.call(router.view(values), task))
    except BaseException as error:  # noqa: BLE001 - the same seam: checks and conditional edges are the user's code
        task.fail(error)
        remark(task, error)
        return True
    return False


def _cancellation(error: BaseException) -> bool:
    """Whether it is asyncio's CancelledError; asyncio is not imported for that."""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and isinstance(error, asyncio.CancelledError)


async def attempt_async(
    task: Task, recorder: Recorder | None, cancelling: int = 0, arrived: Callable[[Task], None] | None = None
) -> None:
    """The same for a node that is awaited; ``arrived`` is told at the end, whatever it is.

    ``cancelling`` is how many cancellations the asyncio task had been asked for before; one more in the end means that
    it came from outside. Raises: CancelledError then, if there is no ``arrived``.
    """
    token = None
    if arrived is None:
        token = current_task.set(task)
    else:
        current_task.set(task)  # in a context that ends with the attempt
    outside: BaseException | None = None
    node = task.task_node
    try:
        task.begun = True
        task.begin()
        if node.awaits and node.timeout is None and task.timeout is None:
            value = await node.call(task.enter(), task)
        else:
            value = await _called(task)
    except BaseException as error:  # noqa: BLE001 - the seam: a node may raise anything, and the machine decides
        value = _caught(task, error)
        if value is _FAILED:
            outside = _from_outside(task, error, cancelling)
    if task.children is not None:
        outside = await task.children.ended(outside, value is _FAILED)
    raised = value is _FAILED or _read(task, value, ())
    if not raised and node.routers and task.signal is None:
        raised, hit = await _follow(task, cancelling)
        outside = outside or hit
    if token is not None:
        current_task.reset(token)
    _over(task, raised, outside, recorder, arrived)


def _over(
    task: Task,
    raised: bool,
    outside: BaseException | None,
    recorder: Recorder | None,
    arrived: Callable[[Task], None] | None,
) -> None:
    """Close the slot, and tell whoever waits for that; most attempts simply returned."""
    if raised or task.signal is not None or task.fault is not None or task.expired is not None:
        task.settle(raised)
    else:
        task.closed = True
        task.status = DONE
    if outside is not None and task.expired is None:
        task.status = CANCELLED
        if arrived is None:
            raise outside
    elif recorder is not None:
        seal(task, recorder)
    if arrived is not None:
        arrived(task)


def _from_outside(task: Task, error: BaseException, cancelling: int) -> BaseException | None:
    """The error itself if it is a cancellation that came from outside; one of the node's own making is a failure."""
    if not _cancellation(error):
        return None
    if sys.modules["asyncio"].current_task().cancelling() > cancelling:
        return error
    if task.error is error:
        task.cancelled_itself(error)
    return None


async def _called(task: Task) -> Any:
    """The call of a node that has a limit, or only async routers."""
    node = task.task_node
    task.started = task.run.clock.monotonic()
    if node.awaits:
        return await node.call(task.enter(), task)
    return await sys.modules["asyncio"].to_thread(node.call, task.enter(), task)


async def _follow(task: Task, cancelling: int) -> tuple[bool, BaseException | None]:
    """Follow conditional edges, some of which are awaited; whether one failed, and a cancellation from outside."""
    try:
        acceptor, values = task.program.acceptor, task.routing()
        for router in task.task_node.routers:
            found = router.call(router.view(values), task)
            acceptor.routed(task, router, await found if router.is_async else found)
    except BaseException as error:  # noqa: BLE001 - the same seam
        task.fail(error)
        remark(task, error)
        return True, _from_outside(task, error, cancelling)
    return False, None


def _at_key(task: Task, recorder: Recorder, error: ValidationError) -> ValidationError:
    """The same refusal, naming the key whose value cannot be stored."""
    for key, value in task.writes:
        try:
            recorder.encode(value, f"node {task.node!r}, key {key!r}")
        except ValidationError as found:
            return found
    return error


def seal(task: Task, recorder: Recorder) -> None:
    """Encode the outcome in the thread that made it; what cannot be stored is the task's own failure."""
    if task.status not in (DONE, ASKED):
        return
    try:
        recorder.seal(task)
    except ValidationError as error:
        task.status, task.error = FAILED, _at_key(task, recorder, error)
        task.writes, task.targets, task.sends = [], None, None
