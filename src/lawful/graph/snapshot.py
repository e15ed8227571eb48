"""What a thread's checkpoint looks like from outside: `StateSnapshot`, its tasks and its configs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from lawful.core.context import Run
from lawful.core.questions import Question
from lawful.graph.apply import store, tried
from lawful.graph.command import ROOT
from lawful.graph.handling import standing_handler
from lawful.graph.persist import parents_of
from lawful.graph.program import Node, Program
from lawful.graph.restored import Done, Restored
from lawful.graph.sizes import Sizes
from lawful.graph.standing import Standing
from lawful.graph.step_task import HANDLED, PULL, PUSH, Base, Task


class PregelTask(NamedTuple):
    """One task of a checkpoint."""

    id: str
    name: str
    path: tuple[Any, ...]
    error: Any = None
    """The repr of what it raised, or None."""
    interrupts: tuple[Question, ...] = ()
    state: Any = None
    """For a subgraph: the config of its own checkpoints, or with ``subgraphs=True`` its snapshot."""
    result: Any = None
    """Its writes as a dict; None if it has none yet, {} if it ran and wrote nothing visible."""


class StateSnapshot(NamedTuple):
    """A thread at one checkpoint."""

    values: Any
    next: tuple[str, ...]
    config: dict[str, Any]
    metadata: dict[str, Any] | None
    created_at: str | None
    parent_config: dict[str, Any] | None
    tasks: tuple[PregelTask, ...]
    interrupts: tuple[Question, ...]


def config_of(
    thread: str | None, ns: str, checkpoint: str | None, parents: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The config that names one checkpoint; ``parents`` maps each enclosing namespace to its checkpoint."""
    inner: dict[str, Any] = {"thread_id": thread, "checkpoint_ns": ns}
    if checkpoint is not None:
        inner["checkpoint_id"] = checkpoint
        if parents:
            inner["checkpoint_map"] = {**parents, ns: checkpoint}
    return {"configurable": inner}


def told_metadata(metadata: Mapping[str, Any], source: str, step: int) -> dict[str, Any]:
    """A checkpoint's metadata as users see it."""
    own: dict[str, Any] = {"source": source, "step": step, "parents": parents_of(metadata)}
    return {**own, **{k: v for k, v in metadata.items() if not k.startswith("_") and k not in own}}


def when(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()


def empty(thread: str, ns: str) -> StateSnapshot:
    """The snapshot of a thread without checkpoints."""
    return StateSnapshot({}, (), config_of(thread, ns, None), None, None, None, (), ())


class Viewer:
    """Makes snapshots for one program and thread."""

    def __init__(self, program: Program, run: Run, ns: str, path: str = "", most: int | None = None) -> None:
        self.program = program
        self.most = most
        """The state's limit in bytes."""
        self.run = run
        self.ns = ns
        self.path = path

    def tasks(self, made: Restored) -> list[Task]:
        """The tasks that the checkpoint planned; ids are the same in every process."""
        base = Base(
            self.run,
            self.program,
            made.values,
            checkpoint=made.row.id,
            ns=self.ns,
            path=self.path,
            step=made.row.step + 1,
            remaining=0,
            visits=made.visits,
        )
        out: list[Task] = []
        for entry in made.head.tasks:
            node = self.program.nodes.get(entry[0]) or _ghost(entry[0])
            task = Task(base, node, entry[1], None)
            task.position = len(out)
            out.append(task)
        return [t for task in out for t in self._with_handler(task, made)]

    def _with_handler(self, task: Task, made: Restored) -> list[Task]:
        """The task, and the error handler that has taken it over."""
        saved = made.saved.get(task.id)
        handler = standing_handler(self.program, task.base, task, saved.error) if saved is not None else None
        if handler is None:
            return [task]
        task.status = HANDLED
        return [task, handler]

    def snapshot(
        self,
        made: Restored,
        *,
        head: bool,
        results: Mapping[int, Done] | None = None,
        states: Mapping[str, Any] | None = None,
        extra: Sequence[tuple[str, Done]] = (),
    ) -> StateSnapshot:
        """``head``: apply the successful writes of the unfinished step, and show as next only what still has to run.

        ``results``: by place, what the tasks that ran from here wrote; ``states``: by task id, a subgraph's config.
        """
        row, thread = made.row, self.run.thread or ""
        tasks = self.tasks(made)
        values = dict(made.values)
        finished = [
            Done(t.node, t.task_node, saved.done)
            for t in tasks
            if (saved := made.saved.get(t.id)) is not None and saved.done is not None
        ]
        open_step = not head
        if head and finished:
            changed, wrong = tried(self.program, values, finished)
            if wrong is None and self.most is not None:
                wrong = Sizes(self.program, self.most).refused(values, changed, finished)
            store(values, changed if wrong is None else {})
            # After a conflict the last good state is the truth, and the step that it ended is still to be closed.
            open_step = wrong is not None
        shown = tuple(self._task(t, t.position, made, results or {}, states or {}) for t in tasks)
        waiting = [
            t.node
            for t in tasks
            if t.status != HANDLED and (open_step or (s := made.saved.get(t.id)) is None or s.done is None)
        ]
        parents = parents_of(row.metadata)
        return StateSnapshot(
            values=self.program.state_view(values),
            next=tuple(waiting),
            config=config_of(thread, self.ns, row.id, parents),
            metadata=told_metadata(row.metadata, row.source, row.step),
            created_at=when(row.at),
            parent_config=config_of(thread, self.ns, row.parent, parents) if row.parent else None,
            tasks=shown,
            interrupts=tuple(q for t in shown for q in t.interrupts),
        )

    def _task(
        self, task: Task, place: int, made: Restored, results: Mapping[int, Done], states: Mapping[str, Any]
    ) -> PregelTask:
        saved = made.saved.get(task.id)
        error: Any = None
        questions: tuple[Question, ...] = ()
        result: Any = None
        keys = self.program.stream_keys
        if place in results:
            result = result_of(keys, results[place].writes)
        elif saved is not None and saved.done is not None:
            result = result_of(keys, Done(task.node, task.task_node, saved.done).writes)
        elif saved is not None and saved.kind == "asked":
            questions = tuple(q for q in saved.questions if q.id not in made.answers)
        elif saved is not None:
            error = saved.error.get("repr")
        path = (PULL, task.node) if task.index < 0 else (PUSH, task.index, False)
        return PregelTask(task.id, task.node, path, error, questions, states.get(task.id), result)


def result_of(keys: Sequence[str], writes: Sequence[tuple[str, Any]]) -> Any:
    """A task's writes as a snapshot shows them: a dict, with {"$writes": [...]} where one key was written repeatedly."""
    if tuple(keys) == (ROOT,):
        found = [v for k, v in writes if k == ROOT]
        return found[0] if len(found) == 1 else {"$writes": found} if found else {}
    out: dict[str, list[Any]] = {}
    for key, value in writes:
        if key in keys:
            out.setdefault(key, []).append(value)
    return {k: vs[0] if len(vs) == 1 else {"$writes": vs} for k, vs in out.items()}


def _ghost(name: str) -> Any:
    """A node that the graph no longer has."""
    return Node.inert(name)


def child_ns(ns: str, task: Task) -> str:
    """The namespace of the graph that a task of namespace ``ns`` holds."""
    if task.task_node.subgraph.checkpointer is not True:
        return task.ns
    known = task.task_node.known_as
    return f"{ns}|{known}" if ns else known


def checkpoint_payload(machine: Standing) -> dict[str, Any]:
    """What the checkpoints mode shows: equal to the entry of the history."""
    row_metadata: Mapping[str, Any] = {}
    if machine.recorder is not None:
        id, then = machine.recorder.stood
        row_metadata = then if id == machine.checkpoint else machine.recorder.metadata
    parents = parents_of(row_metadata)
    thread = machine.run.thread
    tasks = [
        {
            "id": t.id,
            "name": t.node,
            "interrupts": tuple({"value": q.value, "id": q.id} for q in t.questions),
            "state": config_of(thread, child_ns(machine.ns, t), None) if t.task_node.subgraph is not None else None,
        }
        for t in machine.tasks
    ]
    return {
        "config": config_of(thread, machine.ns, machine.checkpoint, parents),
        "parent_config": config_of(thread, machine.ns, machine.parent, parents) if machine.parent else None,
        "values": machine.program.state_view(machine.values),
        "metadata": told_metadata(row_metadata, machine.source, machine.step),
        "next": [t.node for t in machine.tasks],
        "tasks": tasks,
    }
