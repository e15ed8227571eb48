"""Pure: what an update from outside makes of the checkpoint it stands on; every form of ``as_node``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from lawful.core.errors import InvalidUpdateError, nearest
from lawful.graph.apply import after, finish, merge, store, tried, triggered
from lawful.graph.attempt import attempt
from lawful.graph.begin import discard
from lawful.graph.command import ROOT, START, Send
from lawful.graph.machine import Machine
from lawful.graph.program import Node
from lawful.graph.restored import Done, Restored
from lawful.graph.standing import subscribed
from lawful.graph.step_task import DONE, Task

INPUT: Final = "__input__"
"""As ``as_node``: a new input."""
COPY: Final = "__copy__"
"""As ``as_node``: a sibling of the checkpoint, with nothing that was done from it."""


class Update(Protocol):
    """One write, as `lawful.graph.updates` reads it."""

    @property
    def values(self) -> Any: ...
    @property
    def as_node(self) -> str | None: ...
    @property
    def task_id(self) -> str | None: ...


def refusal(text: str, node: Any = None) -> InvalidUpdateError:
    """An update that cannot be made."""
    details = {} if node is None else {"node": str(node)}
    return InvalidUpdateError(text, component="graph", operation="update_state", details=details)


class Editor:
    """Makes checkpoints one after the other; ``m.dirty`` gathers their records."""

    def __init__(self, m: Machine, restored: Restored | None, *, bare: bool) -> None:
        self.m = m
        self.program = m.program
        self.virgin = restored is None
        """Whether the thread has no checkpoint yet."""
        self.ran: tuple[str, ...] = ()
        """Who wrote the checkpoint that we stand on."""
        self.done: list[Task] = []
        """Tasks of the unfinished step whose writes are still to be applied."""
        if restored is not None:
            self.ran = (START,) if restored.row.source == "input" else tuple(restored.head.ran)
            m.tasks = self._planned(restored)
            if not bare:
                m.null_parts, m.null_refs = restored.null_parts, restored.null_refs
                self.done = self._finished(restored)

    def _planned(self, restored: Restored) -> list[Task]:
        """What was about to run, nodes that the graph no longer has included."""
        tasks: list[Task] = []
        for entry in restored.head.tasks:
            node = self.program.nodes.get(entry[0]) or Node.inert(entry[0])
            task = self.m.task(node, entry[1], entry[2] if entry[1] >= 0 else None)
            if entry[1] >= 0:
                task.timeout = entry[3]
            elif entry[0] == START:
                task.given = entry[2]
            task.position = len(tasks)
            tasks.append(task)
        return tasks

    def _finished(self, restored: Restored) -> list[Task]:
        done: list[Task] = []
        for task in self.m.tasks:
            saved = restored.saved.get(task.id)
            if saved is not None and saved.done is not None and task.node in self.program.nodes:
                told = Done(task.node, task.task_node, saved.done)
                task.writes = [(k, v) for k, v in told.writes if k in self.program.kinds]
                task.targets, task.sends = told.targets, told.sends
                task.status, task.blob, task.refs = DONE, saved.blob, saved.refs
                if saved.lifted and self.m.recorder is not None:
                    self.m.recorder.seal(task)
                done.append(task)
        return done

    # The forms

    def write(self, updates: Sequence[Update]) -> None:
        """As if these nodes had just returned: beside what had finished, and in place of what had not."""
        m, program = self.m, self.program
        pending = [t.node for t in m.tasks]
        taken: set[int] = set()
        tasks = [self._returned(one, taken) for one in updates]
        changed, wrong = tried(program, m.values, self.done)
        done = [] if wrong is not None else self.done  # after a conflict the last good state is what is changed
        store(m.values, changed)
        changed = {**changed, **(own := merge(program, m.values, tasks))}
        store(m.values, own)
        self._visited([t.node for t in done] + [t.node for t in tasks if t.node in pending])
        names = after(program, m.values, [*done, *tasks], changed)
        sends = [s for t in (*done, *tasks) for s in t.sends or ()]
        self._handed_up([*done, *tasks])
        self._move("update")
        m.ran = tuple(t.node for t in tasks)
        self._plan(names, sends)
        self._record(tasks)

    def close(self) -> None:
        """What was pending is over; what had finished counts."""
        m = self.m
        pending = [t.node for t in m.tasks]
        changed, wrong = tried(self.program, m.values, self.done)
        done = [] if wrong is not None else self.done
        store(m.values, changed)
        self._visited(pending)
        self._handed_up(done)
        self._move("update")
        m.ran = tuple(t.node for t in done) or self.ran
        self._record(done)

    def stay(self) -> None:
        """A checkpoint with the same values, from which the same tasks are to run."""
        tasks = self.m.tasks
        self._move("update")
        self.m.ran = self.ran
        self._again(tasks)
        self._record([])

    def copy(self) -> None:
        """A sibling: made from the same checkpoint, with the same values and tasks, and nothing that was done from it."""
        m = self.m
        if self.virgin:
            raise refusal("Cannot copy a non-existent checkpoint", COPY)
        tasks, parent = m.tasks, m.parent
        m.null_parts, m.null_refs = [], ()
        assert m.recorder is not None
        m.recorder.of = m.checkpoint
        self._move("fork")
        m.parent, m.ran = parent, self.ran
        self._again(tasks)
        self._record([])

    def enter(self, values: Any) -> None:
        """New input, which ends what was pending; it is processed when the thread is run."""
        m = self.m
        if values is None:
            raise refusal(f"Received no input writes for {START}", INPUT)
        writes = self.program.input_writes(values)
        dropped = [t.task_node for t in m.tasks if t.node in self.program.nodes]
        discard(m, dropped)
        self._visited([n.name for n in dropped])
        if self.virgin:
            m.step = -2
        if self.program.direct:
            self._enter_directly(writes)
            return
        self._move("input")
        start = m.task(self.program.start)
        start.given = dict(writes) if ROOT not in self.program.channels else values
        m.tasks, m.ran = [start], ()
        self._record([])
        self.ran = (START,)

    def _enter_directly(self, writes: list[tuple[str, Any]]) -> None:
        """New input of a low-level graph, which goes straight into its channels."""
        m = self.m
        changed = merge(self.program, m.values, [Done("", Node.inert(""), [writes, None, None])])
        store(m.values, changed)
        self._move("input")
        m.ran = ()
        self._plan(triggered(self.program, m.values, changed), ())
        self._record([])

    # Their parts

    def _visited(self, names: Sequence[str]) -> None:
        for name in set(names):
            self.m.visits[name] = self.m.visits.get(name, 0) + 1

    def _handed_up(self, tasks: Sequence[Task]) -> None:
        """Of a nested graph: what its holder gets of it."""
        if self.m.own is None:
            return
        if any(t.node == START for t in tasks):
            self.m.own = []
        else:
            self.m.own = [*self.m.own, *(w for t in tasks for w in t.writes)]

    def _move(self, source: str) -> None:
        m = self.m
        m.parent = None if self.virgin else m.checkpoint
        m.checkpoint = m.new_id()
        m.step += 1
        m.source = source
        m.fresh, m.finished = True, False
        m.rebase()
        m.tasks = []
        self.virgin, self.done = False, []

    def _plan(self, names: set[str], sends: Sequence[Send]) -> None:
        m = self.m
        if self.program.finishing and not names and not sends:
            moved = finish(self.program, m.values)
            m.finished = bool(moved)
            names |= subscribed(self.program, m.values, moved)
        m.plan(names, sends)

    def _again(self, tasks: Sequence[Task]) -> None:
        m = self.m
        for old in tasks:
            task = m.task(old.task_node, old.index, old.arg)
            task.timeout, task.given, task.position = old.timeout, old.given, old.position
            m.tasks.append(task)

    def _record(self, tasks: Sequence[Task]) -> None:
        m = self.m
        m.record(
            m.source,
            [(t.position, t.blob or b"") for t in tasks],
            [t.refs for t in tasks],
            [t.chunks for t in tasks],
            drop=False,
            whole=True,
        )
        self.ran = m.ran

    # As which node

    def _returned(self, one: Update, taken: set[int]) -> Task:
        m = self.m
        name: Any = one.as_node if one.as_node is not None else self._author()
        if not isinstance(name, str):
            raise refusal(f"as_node is a node's name, got {name!r:.80}")
        node = self.program.nodes.get(name)
        if node is None:
            known = [n for n, each in self.program.nodes.items() if not each.hidden]
            raise refusal(f"Node {name!r} does not exist.{nearest(name, known)}", name)
        task = m.task(_returning(node, one.values))
        task.position = self._place(name, one.task_id, taken)
        assert m.recorder is not None
        attempt(task, m.recorder)
        if task.error is not None:
            raise task.error
        if task.status != DONE:
            raise refusal(
                f"An update as node {name!r} must be plain state: it cannot ask a question or command a parent graph",
                name,
            )
        return task

    def _place(self, name: str, task_id: str | None, taken: set[int]) -> int:
        """The place of the task that was about to run as this node, so that history shows the update as its result."""
        tasks = self.m.tasks
        if task_id is not None and all(t.id != task_id for t in tasks):
            raise refusal(f"Task {task_id!r} was not about to run.{nearest(task_id, [t.id for t in tasks])}", name)
        for task in tasks:
            if task.position not in taken and (task.id == task_id if task_id is not None else task.node == name):
                taken.add(task.position)
                return task.position
        return len(tasks) + len(taken)

    def _author(self) -> str:
        """The node that last updated the state, where that is one node."""
        names = [n for n, node in self.program.nodes.items() if not node.hidden]
        if self.virgin:
            return names[0] if self.program.direct and len(names) == 1 else START
        if len(names) == 1:
            return names[0]
        wrote = [n for n in dict.fromkeys(self.ran) if n and n != START]
        if len(wrote) == 1:
            return wrote[0]
        if START in self.ran and not wrote:
            return START
        raise refusal(
            f"Ambiguous update, specify as_node: {', '.join(map(repr, wrote)) or 'no node'} last updated this thread"
        )


def _returning(node: Node, values: Any) -> Node:
    """The node as if it had returned ``values``: its writers and conditional edges run, its function does not."""

    def nothing(given: Any, task: Any) -> None:
        return None

    accept = nothing if values is None else node.accept
    made = Node(node.name, None, call=lambda given, task: values, is_async=False, view=_no_view, accept=accept)
    made.routers, made.targets, made.marks, made.consumes = node.routers, node.targets, node.marks, node.consumes
    made.triggers, made.hidden, made.inbox = node.triggers, node.hidden, node.inbox
    return made


def _no_view(values: Mapping[str, Any]) -> Any:
    return values


__all__ = ["COPY", "INPUT", "Editor", "refusal"]
