"""LangGraph's stream modes as projections of what one machine does."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast

from lawful.graph.channels import MISSING
from lawful.graph.command import INTERRUPT, ROOT
from lawful.graph.found import message_id, messages_in, values_of
from lawful.graph.snapshot import checkpoint_payload, result_of
from lawful.graph.standing import Standing
from lawful.graph.state import Schema
from lawful.graph.step_task import ASKED, DONE, FAILED, Task
from lawful.graph.streams import Hub


class Projector:
    """Listens to one machine and puts what it does into a hub."""

    __slots__ = ("_checkpoint", "_debug", "_messages", "_modes", "_presses", "_scanned", "_tasks", "hub")

    def __init__(self, hub: Hub, presses: bool) -> None:
        self.hub = hub
        self._modes = hub.modes
        self._debug = "debug" in hub.modes
        self._tasks = "tasks" in hub.modes or self._debug
        self._messages = "messages" in hub.modes
        self._scanned: set[str] = set()
        """Keys of the state whose messages are known."""
        self._checkpoint = ""
        """The checkpoint that was told last."""
        self._presses = presses
        """Whether the machine runs inside a node, whose thread can wait for the reader."""

    def planned(self, machine: Standing, tasks: Sequence[Task]) -> None:
        if self._messages:
            self._look_at_inputs(machine, tasks)
        for task in tasks:
            if not self._tasks or task.task_node.hidden or task.cached or task.origin is not None:
                continue  # an error handler is told by its result alone
            payload: dict[str, Any] = {
                "id": task.id,
                "name": task.node,
                "input": task.enter(),
                "triggers": task.triggers,
            }
            metadata = _users_metadata(task)
            if metadata:
                payload["metadata"] = metadata
            self._task_event(machine, "task", payload)

    def started(self, machine: Standing, tasks: Sequence[Task]) -> None:
        """The modes tell a task when it is planned, and its retries not at all."""

    def retrying(self, machine: Standing, task: Task, delay: float) -> None:
        """See `started`."""

    def finished(self, machine: Standing, outcome: Any) -> None:
        """The modes have no chunk for the end."""

    def _task_event(self, machine: Standing, kind: str, payload: dict[str, Any]) -> None:
        self._put(machine, "tasks", payload)
        if self._debug:
            self._put(machine, "debug", _debugged(machine.step + 1, kind, payload))

    def _put(self, machine: Standing, mode: str, payload: Any, interrupts: Any = None) -> None:
        self.hub.put(machine.ns, mode, payload, interrupts)
        if self._presses:
            self.hub.press()

    # Messages

    def _look_at_inputs(self, machine: Standing, tasks: Sequence[Task]) -> None:
        """What a node is given need not be told to whoever gave it: each key is looked at once, for what follows is told."""
        channels, values = machine.program.channels, machine.values
        for task in tasks:
            if task.index >= 0:
                self._skip(values_of(task.arg))
                continue
            schema = task.task_node.schema
            for key in schema.keys if schema is not None else values:
                if key in values and key not in self._scanned:
                    self._scanned.add(key)
                    self._skip([channels[key].get(values[key])])

    def _skip(self, values: Any) -> None:
        for message in messages_in(values):
            known = message_id(message)
            if known is not None:
                self.hub.skip(known)

    def _say(self, task: Task) -> None:
        written = [value for _, value in task.writes]
        if task.cached or task.task_node.hidden:
            self._skip(written)
        elif task.status == DONE:
            for message in messages_in(written):
                self.hub.say(task, message)

    # Tasks

    def ended(self, machine: Standing, task: Task) -> None:
        if self._messages:
            self._say(task)
        if task.task_node.hidden:
            return
        if task.status not in (DONE, FAILED, ASKED):
            return
        if task.called and task.signal is not None:
            return  # the task that called it tells the question, once
        if "updates" in self._modes and task.status != FAILED:
            self._put(machine, "updates", self._update(machine, task))
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
            "interrupts": [{"value": q.value, "id": q.id} for q in task.questions] if task.status == ASKED else [],
        }

    # States

    def stepped(self, machine: Standing, changed: dict[str, Any] | None) -> None:
        if changed is None and machine.recorder is not None and self._checkpoint != machine.checkpoint:
            self.checkpointed(machine)  # a run that goes on: where it stands
        if "values" not in self._modes:
            return
        keys = machine.program.shown_keys or machine.program.output_keys
        if changed is None or any(changed.get(k, MISSING) is not MISSING for k in keys):
            self._values(machine, _shown(machine))

    def _values(self, machine: Standing, shown: Any, interrupts: tuple[Any, ...] = ()) -> None:
        if self.hub.typed:
            self._put(machine, "values", typed(machine.program.output_schema, shown), interrupts)
        elif not interrupts:
            self._put(machine, "values", shown)
        else:
            self._put(machine, "values", {**(shown if isinstance(shown, dict) else {}), INTERRUPT: interrupts})

    def checkpointed(self, machine: Standing) -> None:
        self._checkpoint = machine.checkpoint
        if "checkpoints" not in self._modes and not self._debug:
            return
        payload = checkpoint_payload(machine)
        if self.hub.typed:
            payload["values"] = typed(machine.program.schema, payload["values"])
        self._put(machine, "checkpoints", payload)
        if self._debug:
            self._put(machine, "debug", _debugged(machine.step, "checkpoint", payload))

    def halted(self, machine: Standing, questions: Sequence[Any]) -> None:
        if not questions and "updates" in self._modes:
            self._put(machine, "updates", {INTERRUPT: ()})
        if "values" in self._modes and questions:
            self._values(machine, _shown(machine, partial=True), tuple(questions))

    def noticed(self, machine: Standing, what: str, details: dict[str, Any]) -> None:
        self._put(machine, "debug", _debugged(machine.step, what, details))


def _shown(machine: Standing, partial: bool = False) -> Any:
    """What the values mode shows: of a stream the whole state, of an invocation within it the output alone."""
    program = machine.program
    if program.shown_view is not None:
        return machine.output(partial, program.shown_view)
    if program.direct and not (program.shown_bare or program.narrow):
        return program.state_view(machine.values)
    return machine.output(partial=partial)


def typed(schema: Schema | None, values: Any) -> Any:
    """The values as an instance of their class, where that is a dataclass or model and nothing it requires is missing."""
    if schema is None or schema.kind not in ("dataclass", "pydantic") or not isinstance(values, dict):
        return values
    told = cast("dict[str, Any]", values)
    try:
        return schema.make({key: told[key] for key in schema.keys if key in told})
    except (TypeError, ValueError):  # not all that it requires is there yet, or a lenient graph holds what it refuses
        return told


def _users_metadata(task: Task) -> dict[str, Any]:
    """What the user said of the run and the node: a copy, without any key of ours."""
    config = task.run.config
    told: dict[str, Any] = {**(config.get("metadata") or {}), **task.task_node.metadata}
    if config.get("tags"):
        told["tags"] = list(config["tags"])
    return told


def _debugged(step: int, kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"step": step, "timestamp": datetime.now(UTC).isoformat(), "type": kind, "payload": payload}


def visible_update(machine: Standing, task: Task) -> Any:
    """What the updates mode shows of a task: its writes to output keys; several writes to one key give a list."""
    program = machine.program
    keys = program.shown_keys or program.output_keys
    if program.shown_bare or keys == (ROOT,):
        found = [v for k, v in task.writes if k in keys]
        return found[0] if len(found) == 1 else found or None
    pairs = [(k, v) for k, v in task.writes if k in keys]
    if not pairs:
        return None
    names = [k for k, _ in pairs]
    if len(set(names)) == len(names):
        return dict(pairs)
    return [{key: value} for key, value in pairs]
