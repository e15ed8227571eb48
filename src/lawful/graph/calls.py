"""A call of a `@task` inside a running node: its ids, what is kept of it, and the machine of one task that carries it out.

A call is known by the task that makes it, its own name and its call index, so that a resumed or retried node finds the
results of the calls that had finished. They are stored beside the pending writes of the step, and end with it.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

from lawful.core.context import Slot
from lawful.core.errors import TaskChanged, ValidationError
from lawful.core.questions import Question
from lawful.graph import orders as o
from lawful.graph.channels import LastValue
from lawful.graph.machine import Machine
from lawful.graph.notes import close_call
from lawful.graph.program import Node, Program
from lawful.graph.restored import Saved
from lawful.graph.sizes import Bounds
from lawful.graph.step_task import ASKED, DONE, PUSH, Base, Task
from lawful.journal.records import PutChunks, PutWrites, Record, TaskWrites

RETURN: Final = "__return__"
"""The channel that streams show a call's result under."""


class CallTask(Task):
    """One call of a task; ``given`` is its positional and keyword arguments."""

    called = True

    def __init__(self, parent: Task, node: Node, given: tuple[tuple[Any, ...], dict[str, Any]], index: int) -> None:
        super().__init__(parent.base, node, -1, None)
        self.parent = parent
        self.given = given
        self.call_index = index

    @property
    def step_key(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The caller's, with its visit, and the call's place in it; ``#c`` occurs in no name and no Send."""
        return f"{self.parent.step_key}@{self.parent.visit}/{self.task_node.key}#c{self.call_index}"

    @property
    def visit(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Always the first: the caller's visit is part of the step key."""
        return 1

    @property
    def id(self) -> str:
        """Deterministic: of the caller's id, the name and the call index."""
        if self._id is None:
            text = f"{self.parent.id}\x1fcall\x1f{self.node}\x1f{self.call_index}"
            h = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
            self._id = f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"
        return self._id

    @property
    def holder(self) -> Slot | None:
        return self.parent

    @property
    def path(self) -> tuple[Any, ...]:
        return (PUSH, self.parent.path, self.call_index)

    @property
    def triggers(self) -> tuple[str, ...]:
        return (PUSH,)

    def again(self) -> Task:
        """The slot of the next attempt of the same call."""
        made = CallTask(self.parent, self.task_node, self.given, self.call_index)
        made.attempt = self.attempt
        made.first_attempt = self.began()
        made._id, made.cache_key = self._id, self.cache_key
        return made


class Kept:
    """The result of a finished call, and the digest of its arguments."""

    __slots__ = ("digest", "value")

    def __init__(self, value: Any, digest: str) -> None:
        self.value = value
        self.digest = digest


class Calls:
    """The calls of one step's tasks that have ended: live results, stored ones, and records that are still to be written."""

    __slots__ = ("kept", "stored", "unsaved")

    def __init__(self, stored: Mapping[str, Saved] | None = None) -> None:
        self.kept: dict[str, Kept] = {}
        self.stored: Mapping[str, Saved] = stored or {}
        self.unsaved: list[Record] = []

    def result(self, task: CallTask) -> Kept | None:
        """What the call gave when it was made before. Raises: TaskChanged (strict)."""
        found = self.kept.get(task.id)
        if found is None:
            saved = self.stored.get(task.id)
            if saved is None or saved.done is None:
                return None
            blob, digest = saved.done[:2]
            found = Kept(task.program.registry.decode(blob, where=f"result of task {task.node!r}"), digest)
            self.kept[task.id] = found
        self._same(task, found)
        return found

    def _same(self, task: CallTask, found: Kept) -> None:
        if not task.program.strict or not found.digest or found.digest == arguments_digest(task):
            return
        raise TaskChanged(
            f"Call {task.call_index} of {task.parent.node!r} is task {task.node!r} with other arguments than it had when its"
            " result was stored, so that result may belong to another call. Call tasks in the same order with the same"
            " arguments every time: let what changes (time, random numbers) be a task's result.",
            component="graph",
            operation=f"task {task.node!r}",
            details={"node": task.parent.node, "task": task.node, "call": str(task.call_index)},
        )

    def waiting(self, task: CallTask) -> tuple[Question, ...]:
        """The call's questions, if it waits and none of them has an answer yet: it need not run to ask them again."""
        saved = self.stored.get(task.id)
        if saved is None or saved.kind != "asked" or task.run.shared.get("resume"):
            return ()
        proposed: dict[str, Any] = task.run.shared.get("proposed") or {}
        if any(q.id in proposed for q in saved.questions):
            return ()
        own = all(q.ns == task.base.ns and q.kind != "effect_recovery" for q in saved.questions)
        return saved.questions if own and not any(q.id in task.base.answers for q in saved.questions) else ()

    def taken(self) -> list[Record]:
        """The records that are still to be written, once."""
        records, self.unsaved = self.unsaved, []
        return records


_MAKING = threading.Lock()


def calls_of(base: Base) -> Calls:
    """The calls of the step's tasks."""
    if base.calls is None:
        with _MAKING:
            if base.calls is None:
                base.calls = Calls()
    return base.calls


def arguments_digest(task: CallTask) -> str:
    """Of the arguments; empty where they cannot be stored, and then nothing is compared."""
    try:
        return hashlib.blake2b(task.program.registry.encode_sorted(list(task.given)), digest_size=16).hexdigest()
    except ValidationError:
        return ""


def records_of(task: CallTask) -> list[Record]:
    """What is stored of an ended call; nothing without a journal, and nothing of a failed one: it is to run again.

    Raises: ValidationError, naming the task, for a result that cannot be stored.
    """
    recorder = task.base.recorder
    if recorder is None or task.status not in (DONE, ASKED):
        return []
    if task.status == DONE:
        where = f"result of task {task.node!r}"
        inner = task.program.registry.encode(task.value, where=where)
        digest = arguments_digest(task)
        done = recorder.encode([inner, digest, close_call(task, inner, digest), 0], where)
    else:
        done = recorder.encode(list(task.questions), f"question of task {task.node!r}")
    kind = "done" if task.status == DONE else "asked"
    writes = PutWrites(TaskWrites(recorder.ns, task.base.checkpoint, task.id, kind, done.blob, done.refs))
    return [PutChunks(done.new), writes] if done.new else [writes]


class CallMachine(Machine):
    """The machine of one call: retries, limits and listening as for any task, but no step that it could close."""

    __slots__ = ()

    def close(self) -> Sequence[o.Order]:
        return self.finish(o.Ended(None) if self.cancelled is None else o.Broke(self.cancelled))

    def finish(self, outcome: o.Outcome) -> Sequence[o.Order]:
        """The call is over; the run that it is made in goes on."""
        return (o.Finish(outcome),)


def machine_of(task: CallTask, program: Program) -> CallMachine:
    """The machine that carries one call out, standing where the calling step stands."""
    base = task.base
    nowhere = frozenset[str]()
    machine = CallMachine(program, base.run, Bounds(2, nowhere, nowhere), ns=base.ns, listener=base.listener)
    machine.base, machine.checkpoint = base, base.checkpoint
    machine.step, machine.stop = base.step - 1, base.step + 1
    machine.tasks = [task]
    machine.holder = task.parent
    return machine


def program_of(node: Node) -> Program:
    """A task as a program of one node, whose whole output is what the task returns."""
    program = Program(node.name, {node.name: node}, {RETURN: LastValue(Any, RETURN)}, strict=True)
    program.output_keys = program.stream_keys = (RETURN,)
    program.bare = program.shown_bare = True
    return program


def returns(task: Task, value: Any) -> None:
    """Take what the task's function returned."""
    task.writes.append((RETURN, value))
