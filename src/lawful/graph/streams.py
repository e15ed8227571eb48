"""Stream modes: projections of what the machine does onto LangGraph's shapes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias

from lawful.core.errors import ConfigurationError, nearest
from lawful.graph.command import INTERRUPT, ROOT
from lawful.graph.snapshot import checkpoint_payload, result_of
from lawful.graph.standing import Standing
from lawful.graph.task import DONE, FAILED, Task

StreamMode: TypeAlias = Literal["values", "updates", "custom", "tasks", "checkpoints", "debug"]
MODES: Final = ("values", "updates", "custom", "tasks", "checkpoints", "debug")
LATER: Final = ("messages",)


def modes_of(mode: str | Sequence[str] | None, default: str) -> tuple[frozenset[str], bool]:
    """The modes asked for, and whether a list was given (then each chunk says its mode).

    Raises: ConfigurationError for an unknown mode.
    """
    asked = [default] if mode is None else [mode] if isinstance(mode, str) else list(mode)
    for one in asked:
        if one not in MODES:
            raise ConfigurationError(
                f"Unknown stream mode {one!r}.{nearest(str(one), MODES)}", component="graph", operation="stream"
            )
    return frozenset(asked), not (mode is None or isinstance(mode, str))


class Hub:
    """Where the chunks of a streamed run and of all graphs nested in it go, in order."""

    __slots__ = ("modes", "out", "several", "subgraphs", "wake")

    def __init__(self, modes: frozenset[str], several: bool, subgraphs: bool) -> None:
        self.modes = modes
        self.several = several
        self.subgraphs = subgraphs
        self.out: deque[Any] = deque()
        self.wake: Callable[[], None] | None = None
        """Tells a driver that waits that something came; safe to call from any thread."""

    @property
    def live(self) -> bool:
        """Whether chunks arise while a node runs."""
        return self.subgraphs or "custom" in self.modes

    def put(self, ns: str, mode: str, payload: Any) -> None:
        """One chunk, in the shape that was asked for."""
        if mode not in self.modes:
            return
        space = tuple(ns.split("|")) if ns else ()
        if self.subgraphs:
            chunk: Any = (space, mode, payload) if self.several else (space, payload)
        else:
            chunk = (mode, payload) if self.several else payload
        self.out.append(chunk)
        if self.wake is not None:
            self.wake()


class Projector:
    """Listens to one machine and puts what it does into a hub."""

    __slots__ = ("_debug", "_modes", "_shown", "_tasks", "hub")

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self._modes = hub.modes
        self._debug = "debug" in hub.modes
        self._tasks = "tasks" in hub.modes or self._debug
        self._shown: Any = None

    def planned(self, machine: Standing, tasks: Sequence[Task]) -> None:
        for task in tasks:
            if not self._tasks or task.task_node.hidden or task.cached:
                continue
            payload: dict[str, Any] = {
                "id": task.id,
                "name": task.node,
                "input": _peek(task),
                "triggers": task.triggers,
            }
            metadata = _users_metadata(task)
            if metadata:
                payload["metadata"] = metadata
            self._task_event(machine, "task", payload)

    def _task_event(self, machine: Standing, kind: str, payload: dict[str, Any]) -> None:
        self.hub.put(machine.ns, "tasks", payload)
        if self._debug:
            self.hub.put(machine.ns, "debug", _debugged(machine.step + 1, kind, payload))

    def ended(self, machine: Standing, task: Task) -> None:
        if task.task_node.hidden:
            return
        if task.status not in (DONE, FAILED) and not task.questions:
            return
        if "updates" in self._modes and task.status != FAILED:
            self.hub.put(machine.ns, "updates", self._update(machine, task))
        if self._tasks and not task.cached:
            self._task_event(machine, "task_result", self._result(machine, task))

    def _update(self, machine: Standing, task: Task) -> dict[str, Any]:
        if task.status != DONE:
            return {INTERRUPT: task.questions}
        update: dict[str, Any] = {task.node: visible_update(machine, task)}
        if task.cached:
            update["__metadata__"] = {"cached": True}
        return update

    def _result(self, machine: Standing, task: Task) -> dict[str, Any]:
        return {
            "id": task.id,
            "name": task.node,
            "error": task.error,
            "result": result_of(machine.program.stream_keys, task.writes) if task.status == DONE else {},
            "interrupts": [{"value": q.value, "id": q.id} for q in task.questions],
        }

    def stepped(self, machine: Standing, changed: dict[str, Any] | None) -> None:
        if "values" not in self._modes:
            return
        keys = machine.program.output_keys
        if changed is None or any(k in changed for k in keys):
            self._shown = machine.output()
            self.hub.put(machine.ns, "values", self._shown)

    def checkpointed(self, machine: Standing) -> None:
        if "checkpoints" not in self._modes and not self._debug:
            return
        payload = checkpoint_payload(machine)
        self.hub.put(machine.ns, "checkpoints", payload)
        if self._debug:
            self.hub.put(machine.ns, "debug", _debugged(machine.step, "checkpoint", payload))

    def halted(self, machine: Standing, questions: Sequence[Any]) -> None:
        if not questions and "updates" in self._modes:
            self.hub.put(machine.ns, "updates", {INTERRUPT: ()})
        if "values" in self._modes and questions:
            shown = machine.output(partial=True)
            if isinstance(shown, dict):
                self.hub.put(machine.ns, "values", {**shown, INTERRUPT: tuple(questions)})
            else:
                self.hub.put(machine.ns, "values", {INTERRUPT: tuple(questions)})

    def noticed(self, machine: Standing, what: str, details: dict[str, Any]) -> None:
        self.hub.put(machine.ns, "debug", _debugged(machine.step, what, details))


def _users_metadata(task: Task) -> dict[str, Any]:
    """What the user said of the run and the node: a copy, without any key of ours."""
    config = task.run.config
    told: dict[str, Any] = {**(config.get("metadata") or {}), **task.task_node.metadata}
    if config.get("tags"):
        told["tags"] = list(config["tags"])
    return told


def _peek(task: Task) -> Any:
    """The task's input, as streams show it before the node has run."""
    return task.enter()


def _debugged(step: int, kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"step": step, "timestamp": datetime.now(UTC).isoformat(), "type": kind, "payload": payload}


def visible_update(machine: Standing, task: Task) -> Any:
    """What the updates mode shows of a task: its writes to output keys; several writes to one key give a list."""
    program = machine.program
    if program.output_keys == (ROOT,):
        found = [v for k, v in task.writes if k == ROOT]
        return found[0] if len(found) == 1 else found or None
    keys = program.output_keys
    pairs = [(k, v) for k, v in task.writes if k in keys]
    if not pairs:
        return None
    names = [k for k, _ in pairs]
    if len(set(names)) == len(names):
        return dict(pairs)
    updates: list[dict[str, Any]] = []
    for key, value in pairs:
        if updates and key not in updates[-1]:
            updates[-1][key] = value
        else:
            updates.append({key: value})
    return updates
