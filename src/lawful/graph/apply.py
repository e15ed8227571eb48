"""Pure: from the writes of a step's tasks to the next stored values and tasks; conflicts are found before that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Any, Protocol

from lawful.core.errors import InvalidUpdateError
from lawful.graph.channels import LAST, MISSING
from lawful.graph.program import Node, Program


class Writer(Protocol):
    """What has writes: a task, or a record of one."""

    @property
    def node(self) -> str: ...
    @property
    def writes(self) -> Sequence[tuple[str, Any]]: ...
    @property
    def task_node(self) -> Node: ...


class Runner(Protocol):
    """A task that has ended, as planning reads it."""

    @property
    def status(self) -> int: ...
    @property
    def targets(self) -> Sequence[str] | None: ...
    @property
    def task_node(self) -> Node: ...


def merge(program: Program, values: Mapping[str, Any], tasks: Sequence[Writer]) -> dict[str, Any]:
    """What changes when the tasks' writes are applied in the order given (MISSING: the channel is emptied).

    Raises: InvalidUpdateError naming the key and the nodes; ``values`` is left as it is.
    """
    kinds = program.kinds
    changed: dict[str, Any] = {}
    groups: dict[str, list[Any]] | None = None
    for task in tasks:
        for key, value in task.writes:
            if kinds[key] == LAST:
                if key in changed:
                    raise _conflict(key, tasks)
                changed[key] = value
            elif groups is None:
                groups = {key: [value]}
            elif key in groups:
                groups[key].append(value)
            else:
                groups[key] = [value]
    if groups is None and not program.consuming and not program.clearing:
        return changed
    return _rest(program, values, tasks, changed, groups or {})


def tried(
    program: Program, values: Mapping[str, Any], tasks: Sequence[Writer]
) -> tuple[dict[str, Any], BaseException | None]:
    """As `merge`, with what it raised as a value (and then nothing changed): a user's reducer may raise anything."""
    try:
        return merge(program, values, tasks), None
    except Exception as error:  # noqa: BLE001 - the seam: it is the step's failure, whatever it is
        return {}, error


def _rest(
    program: Program,
    values: Mapping[str, Any],
    tasks: Sequence[Writer],
    changed: dict[str, Any],
    groups: dict[str, list[Any]],
) -> dict[str, Any]:
    channels = program.channels
    if program.consuming:
        for task in tasks:
            for key in task.task_node.consumes:
                stored = values.get(key, MISSING)
                left = channels[key].consume(stored)
                if left is not stored:
                    changed[key] = left
    for key, writes in groups.items():
        stored = changed[key] if key in changed else values.get(key, MISSING)
        try:
            changed[key] = channels[key].update(stored, writes)
        except InvalidUpdateError as error:
            raise _at_key(key, error, tasks) from None
    for key in program.clearing:
        if key not in groups and key in values:
            left = channels[key].update(values[key], ())
            if left is not values[key]:
                changed[key] = left
    return changed


def _writers(key: str, tasks: Iterable[Writer]) -> str:
    return ", ".join(repr(task.node) for task in tasks for k, _ in task.writes if k == key)


def _conflict(key: str, tasks: Sequence[Writer]) -> InvalidUpdateError:
    return _at_key(
        key,
        InvalidUpdateError(
            "Can receive only one value per step. Use an Annotated key with a reducer to handle several values."
        ),
        tasks,
    )


def _at_key(key: str, error: InvalidUpdateError, tasks: Sequence[Writer]) -> InvalidUpdateError:
    """The same refusal, of the same class, naming key and nodes."""
    nodes = _writers(key, tasks)
    return type(error)(
        f"At key '{key}': {error.message} Written by {nodes}.",
        component="graph",
        operation="apply writes",
        details={**error.details, "key": key, "nodes": nodes},
    )


def store(values: MutableMapping[str, Any], changed: Mapping[str, Any]) -> None:
    """Put ``changed`` into ``values``."""
    for key, value in changed.items():
        if value is MISSING:
            values.pop(key, None)
        else:
            values[key] = value


def triggered(program: Program, values: Mapping[str, Any], changed: Iterable[str]) -> set[str]:
    """The nodes that subscribe to a changed channel which can be read now."""
    found: set[str] = set()
    subscribers = program.subscribers
    for key in changed:
        nodes = subscribers.get(key)
        if nodes and key in values and program.channels[key].get(values[key]) is not MISSING:
            found.update(nodes)
    return found


def finish(program: Program, values: MutableMapping[str, Any]) -> tuple[str, ...]:
    """Tell the channels that wait for the end of other work that it has come; which of them changed."""
    moved: list[str] = []
    for key in program.finishing:
        stored = values.get(key, MISSING)
        new = program.channels[key].finish(stored)
        if new is not stored:
            values[key] = new
            moved.append(key)
    return tuple(moved)


def after(
    program: Program, values: MutableMapping[str, Any], tasks: Sequence[Runner], changed: Iterable[str]
) -> set[str]:
    """The nodes that run next because of ``tasks``: their edges and goto's, and the channels they changed."""
    names: set[str] = set()
    for task in tasks:
        if task.status == 1:
            names.update(task.task_node.targets)
        if task.targets is not None:
            names.update(task.targets)
    if program.subscribers:
        names |= triggered(program, values, changed)
    return names
