"""A subgraph with a memory has one state: which of its visits may not run at once, and the error that says what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lawful.core.errors import ConfigurationError
from lawful.graph.program import Program
from lawful.graph.step_task import Task


def crowded(program: Program, tasks: Sequence[Task]) -> ConfigurationError | None:
    """The error of a step that would run one subgraph with a memory more than once; None if there is none."""
    seen: set[str] = set()
    for task in tasks:
        if task.node in program.remembering:
            if task.node in seen:
                return shared_memory(task.node)
            seen.add(task.node)
    return None


def shared_memory(node: str) -> ConfigurationError:
    """Two visits of one subgraph with a memory would run at once."""
    return ConfigurationError(
        f"The subgraph in node {node!r} keeps its state over visits (checkpointer=True), and several visits would run at"
        " once and write one state. Compile it with checkpointer=None, so that each visit has a state of its own, or send"
        " to it one after the other, or hold it in nodes of different names.",
        component="graph",
        operation=f"node {node!r}",
        details={"node": node},
    )


def enter(shared: dict[str, Any], ns: str, task: Task) -> None:
    """Note that ``task`` runs the subgraph with a memory in ``ns``. Raises: ConfigurationError, while another does."""
    inside: dict[str, Task] = shared.setdefault("inside", {})
    if inside.setdefault(ns, task) is not task:
        raise shared_memory(task.node)


def leave(shared: dict[str, Any], ns: str, task: Task | None) -> None:
    """Note that it does so no longer."""
    inside: dict[str, Task] = shared.get("inside", {})
    if inside.get(ns) is task:
        inside.pop(ns, None)
