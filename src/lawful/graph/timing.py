"""Pure: how long an attempt may run and be silent; the driver rings, and whether it has expired is decided here."""

from __future__ import annotations

from collections.abc import Sequence

from lawful.core.context import Slot
from lawful.core.errors import NodeTimeoutError
from lawful.graph import orders as o
from lawful.graph.policies import TimeoutPolicy, timeout_of
from lawful.graph.step_task import PENDING, Task


def limit_of(task: Task) -> TimeoutPolicy | None:
    """The limits that hold for the task: those that came with its Send, else its node's."""
    told = task.timeout
    return task.task_node.timeout if told is None else timeout_of(told)


def heeded(slot: Slot | None) -> bool:
    """Whether a limit holds for the attempt, or for one that it is part of, so that a sign of life counts."""
    while slot is not None:
        if isinstance(slot, Task) and slot.limited:
            return True
        slot = slot.holder
    return False


def alarms(tasks: Sequence[Task]) -> list[o.Alarm]:
    """The first alarm of each task that has a limit."""
    return [o.Alarm(task, _shortest(policy)) for task in tasks if (policy := limit_of(task)) is not None]


def _shortest(policy: TimeoutPolicy) -> float:
    return min(s for s in (policy.run_timeout, policy.idle_timeout, 3600.0) if s is not None)


def rang(task: Task, now: float) -> Sequence[o.Order]:
    """What follows when a task's alarm has rung: the next alarm, or, past a limit, its end."""
    policy = limit_of(task)
    if policy is None or task.status != PENDING or task.expired is not None:
        return ()
    if task.started is None:  # max_concurrency still keeps it waiting
        return (o.Alarm(task, _shortest(policy)),)
    waits: list[float] = []
    if policy.run_timeout is not None:
        waits.append(task.started + policy.run_timeout - now)
        if waits[-1] <= 0:
            return _expire(task, policy, "run", now - task.started)
    if policy.idle_timeout is not None:
        seen = _seen(task, policy, task.started)
        waits.append(seen + policy.idle_timeout - now)
        if waits[-1] <= 0:
            return _expire(task, policy, "idle", now - seen)
    return (o.Alarm(task, min(waits)),) if waits else ()


def _seen(task: Task, policy: TimeoutPolicy, started: float) -> float:
    """When the attempt last showed that it is at work."""
    told = task.beat if policy.refresh_on == "heartbeat" else task.alive
    return started if told is None else max(started, told)


def _expire(task: Task, policy: TimeoutPolicy, kind: str, elapsed: float) -> Sequence[o.Order]:
    limit = policy.run_timeout if kind == "run" else policy.idle_timeout
    told = "ran for" if kind == "run" else "gave no sign of life for"
    facts = {"run_timeout": policy.run_timeout, "idle_timeout": policy.idle_timeout}
    task.expired = NodeTimeoutError(
        f"Node {task.node!r} {told} {elapsed:.2f} s, past its {kind} limit of {limit} s",
        component="graph",
        operation=f"node {task.node!r}",
        details={
            "node": task.node,
            "kind": kind,
            "elapsed": f"{elapsed:.3f}",
            **{k: str(v) for k, v in facts.items() if v is not None},
        },
    )
    task.closed = True  # what it still asks, writes or performs on its way out is no longer a node's
    return (o.Cancel((task,)),)
