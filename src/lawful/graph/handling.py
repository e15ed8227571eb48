"""Pure: a failed task's error handler; its name and node, who may be handled, and how it stands after a crash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lawful.core.errors import ForeignException, LeaseLost, ParsingError, RunCancelled, RunTimeoutError, from_json
from lawful.graph.policies import NodeError
from lawful.graph.program import Node, Program
from lawful.graph.step_task import Base, Task

DEFAULT: Final = "__default_error_handler__"
"""The node that handles what no handler of its own does."""
PREFIX: Final = "__error_handler__"
BESIDE: Final = -3
"""The place of a handler's writes in a step's record: it was not among the tasks that were planned."""


def handler_name(node: str) -> str:
    """The node that handles the failure of ``node``."""
    return f"{PREFIX}{node}"


def told(task: Task) -> NodeError:
    """What the handler of a failed task is told."""
    origin = task.origin
    assert origin is not None
    assert origin.error is not None
    return NodeError(origin.node, origin.error)


def can_handle(error: BaseException | None) -> bool:
    """Whether a handler may take it: an error of the node's, and not that the run itself has come to an end."""
    if isinstance(error, RunTimeoutError):
        return error.details.get("of") == "graph"  # a graph inside the node had a limit of its own
    return isinstance(error, Exception) and not isinstance(error, LeaseLost | RunCancelled)


def handler_of(program: Program, base: Base, failed: Task, name: str) -> Task:
    """The task that takes a failed one over: in the same step, with the same input."""
    made = Task(base, program.nodes[name], failed.index, failed.arg)
    made.origin = failed
    made.position = BESIDE
    return made


def placed(tasks: list[Task], handler: Task) -> list[Task]:
    """The step's tasks with the handler behind the task it takes over, so that the order is no schedule's."""
    out: list[Task] = []
    for task in tasks:
        out.append(task)
        if task is handler.origin:
            out.append(handler)
    return out


def standing_handler(program: Program, base: Base, failed: Task, saved: Mapping[str, Any]) -> Task | None:
    """The handler that had taken a task over before the process ended; None if there was none, or is no longer."""
    name = saved.get("handler")
    node: Node | None = program.nodes.get(name) if isinstance(name, str) else None
    if node is None:
        return None
    failed.error = remembered(saved)
    return handler_of(program, base, failed, node.name)


def remembered(saved: Mapping[str, Any]) -> Exception:
    """The error as it was written down: one of ours is rebuilt, of any other its type's name and its text are left."""
    told = saved.get("failure")
    if told is not None:
        try:
            return from_json(told)
        except ParsingError:
            pass
    return Remembered(str(saved.get("type", "")), str(saved.get("text", saved.get("repr", ""))))


class Remembered(ForeignException):
    """An exception that was raised before a crash: its text is the same, its class is not."""

    def __str__(self) -> str:
        return self.message
