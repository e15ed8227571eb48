"""What is added to an exception that leaves a node: which node it was, and of a key that was missing what the state has."""

from __future__ import annotations

from lawful.core.errors import nearest
from lawful.graph.step_task import Task


def remark(task: Task, error: BaseException) -> None:
    """Add the notes, once; a traceback shows them under the error."""
    if not isinstance(error, Exception):
        return
    note = f"In node {task.node!r} of {task.base.program.name!r}, step {task.base.step}"
    held: list[str] = getattr(error, "__notes__", [])
    if note in held:
        return
    error.add_note(note)
    if type(error) is KeyError and len(error.args) == 1 and isinstance(error.args[0], str):
        why = _missing(error.args[0], task)
        if why:
            error.add_note(why)


def _missing(key: str, task: Task) -> str:
    keys = task.base.program.input_keys
    if key in keys:
        return (
            f"If it was read from the state: {key!r} has no value yet. Give it one in the input or in an earlier node, or"
            f" read it by state.get({key!r})"
        )
    meant = nearest(key, keys)
    return f"If it was read from the state: it has no key {key!r}.{meant}" if "Did you mean" in meant else ""
