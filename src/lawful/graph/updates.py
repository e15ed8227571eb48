"""Change a thread from outside: `update_state` writes as if a node had returned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

from msgspec import Struct

from lawful.core.clock import SYSTEM, Clock
from lawful.core.context import Run
from lawful.core.errors import InvalidUpdateError, nearest
from lawful.core.lazy import late
from lawful.graph.apply import after, merge, store, tried
from lawful.graph.attempt import attempt
from lawful.graph.command import END, START
from lawful.graph.config import RECURSION_LIMIT, Target, metadata_of, target_of
from lawful.graph.drivers.shared import Deal
from lawful.graph.machine import Machine
from lawful.graph.orders import Commit
from lawful.graph.persist import Recorder
from lawful.graph.program import Node, Program
from lawful.graph.restore import Restored, restore
from lawful.graph.snapshot import config_of, parents_of
from lawful.graph.standing import Limits
from lawful.graph.task import DONE, Task
from lawful.journal.port import Journal

INPUT = "__input__"


class StateUpdate(Struct, frozen=True):
    """One write to a thread's state, as if ``as_node`` had returned ``values``."""

    values: Any
    as_node: str | None = None
    task_id: str | None = None


class Face(Protocol):
    """What an update needs of a compiled graph."""

    program: Program
    clock: Clock | None

    def journal_of(self) -> Journal: ...
    def program_of(self, ns: str) -> Program: ...


def update(graph: Face, config: Any, updates: Sequence[StateUpdate]) -> dict[str, Any]:
    """Make one checkpoint of ``updates`` and give its config.

    Raises: InvalidUpdateError for an ambiguous or unknown node or a refused value; ValueError without a journal.
    """
    return _Update(graph, config).make(updates)


class _Update:
    def __init__(self, graph: Face, config: Any) -> None:
        self.journal = graph.journal_of()
        self.target: Target = target_of(config)
        self.program = graph.program_of(self.target.ns)
        self.run = Run(
            run_id="update",
            thread=self.target.thread,
            lineage=self.target.thread or "",
            scope=self.journal.scope,
            clock=graph.clock or SYSTEM,
            journal=self.journal,
            config=cast("Mapping[str, Any]", config) if isinstance(config, Mapping) else {},
        )
        self.config = self.run.config

    def make(self, updates: Sequence[StateUpdate]) -> dict[str, Any]:
        leases = late("lawful.journal.leases")
        thread = self.target.thread or ""
        lease = leases.take(self.journal, thread, leases.owner_of(self.run.clock.token()))
        self.run.lease = lease
        try:
            return self._locked(updates)
        finally:
            self.journal.release(lease)

    def _locked(self, updates: Sequence[StateUpdate]) -> dict[str, Any]:
        thread, ns = self.target.thread or "", self.target.ns
        tip = self.journal.chain(thread, ns)
        head = tip.tip.id if tip is not None else None
        chain = tip
        if self.target.checkpoint is not None and self.target.checkpoint != head:
            chain = self.journal.chain(thread, ns, self.target.checkpoint)
        restored = restore(self.program, thread, chain) if chain is not None else None
        machine = self._machine(restored, head)
        self._apply(machine, restored, updates, forked=chain is not tip)
        batch = Deal(self.run, self.journal, False).batch(Commit(machine.dirty))
        self.journal.commit(batch)
        parents = parents_of(machine.recorder.metadata) if machine.recorder is not None else {}
        return config_of(thread, ns, machine.checkpoint, parents)

    def _machine(self, restored: Restored | None, head: str | None) -> Machine:
        told = metadata_of(self.config)
        if restored is not None:
            told = {**{k: v for k, v in restored.row.metadata.items() if k.startswith("_")}, **told}
        recorder = Recorder(self.program, self.target.ns, told)
        limits = Limits(RECURSION_LIMIT, frozenset(), frozenset())
        machine = Machine(self.program, self.run, limits, ns=self.target.ns, recorder=recorder)
        machine.expect = head
        if restored is not None:
            machine.values, machine.visits = restored.values, restored.visits
            machine.step, machine.checkpoint = restored.row.step, restored.row.id
            machine.own = restored.own if self.target.ns else None
            recorder.known |= restored.known
            recorder.merges = restored.merges
            machine.rebase()
        else:
            machine.step = -1
            machine.rebase()
        return machine

    def _apply(self, m: Machine, restored: Restored | None, updates: Sequence[StateUpdate], *, forked: bool) -> None:
        first = updates[0]
        if first.as_node == END and first.values is None:
            self._close(m, restored)
            return
        tasks = [self._written(m, restored, u) for u in updates if not (u.values is None and u.as_node is None)]
        if not tasks:
            self._record(m, restored, [], keep=True)
            return
        if not forked:
            self._finished(m, restored)
        changed = merge(self.program, m.values, tasks)
        store(m.values, changed)
        names = after(self.program, m.values, tasks, changed)
        sends = [s for t in tasks for s in t.sends or ()]
        m.ran = tuple(t.node for t in tasks)
        self._move(m, restored)
        m.plan(names, sends)
        self._record_on(m, tasks)

    def _finished(self, m: Machine, restored: Restored | None) -> None:
        """What the unfinished step's tasks had saved stays true when the newest checkpoint is updated."""
        if restored is None or self.target.checkpoint is not None:
            return
        m.null_parts, m.null_refs = restored.null_parts, restored.null_refs
        changed, _ = tried(self.program, m.values, self._saved(m, restored))
        store(m.values, changed)

    def _saved(self, m: Machine, restored: Restored) -> list[Task]:
        """The tasks of the unfinished step that had finished."""
        done: list[Task] = []
        for place, entry in enumerate(restored.head.tasks):
            node = self.program.nodes.get(entry[0])
            if node is None:
                continue
            task = m.task(node, entry[1])
            task.position = place
            saved = restored.saved.get(task.id)
            if saved is not None and saved.done is not None:
                task.writes = [(k, v) for k, v in saved.done[0] if k in self.program.kinds]
                task.status, task.blob, task.refs = DONE, saved.blob, saved.refs
                done.append(task)
        return done

    def _close(self, m: Machine, restored: Restored | None) -> None:
        """END: what was pending, its finished writes included, is over."""
        done = self._saved(m, restored) if restored is not None else []
        changed, wrong = tried(self.program, m.values, done)
        if wrong is not None:
            done = []  # a conflict: the last good state stays
        store(m.values, changed)
        m.ran = tuple(t.node for t in done)
        self._move(m, restored)
        m.tasks = []
        self._record_on(m, done)

    def _record(self, m: Machine, restored: Restored | None, tasks: Sequence[Task], *, keep: bool) -> None:
        """An update of nothing: a new checkpoint at which the same tasks are pending."""
        m.ran = ()
        self._move(m, restored)
        if keep and restored is not None:
            for entry in restored.head.tasks:
                task = m.task(self.program.nodes[entry[0]], entry[1], entry[2] if len(entry) > 2 else None)
                if entry[0] == START:
                    task.given = entry[2]
                task.position = len(m.tasks)
                m.tasks.append(task)
        self._record_on(m, tasks)

    def _move(self, m: Machine, restored: Restored | None) -> None:
        m.parent = m.checkpoint if restored is not None else None
        m.checkpoint = m.new_id()
        m.step += 1
        m.source = "update"
        m.fresh = True
        m.rebase()
        m.tasks = []

    def _record_on(self, m: Machine, tasks: Sequence[Task]) -> None:
        m.record(
            "update",
            [(t.position, t.blob or b"") for t in tasks],
            [t.refs for t in tasks],
            [t.chunks for t in tasks],
            drop=False,
            whole=True,
        )

    # As which node

    def _written(self, m: Machine, restored: Restored | None, one: StateUpdate) -> Task:
        name = one.as_node if one.as_node is not None else self._author(restored)
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidUpdateError(
                f"as_node is a node's name, got {name!r:.80}", component="graph", operation="update_state"
            )
        node = self.program.nodes.get(START if name == INPUT else name)
        if node is None or name == END:
            raise InvalidUpdateError(
                f"Node {name!r} does not exist.{nearest(name, [n for n in self.program.nodes if n != START])}",
                component="graph",
                operation="update_state",
                details={"node": name},
            )
        task = m.task(_returning(node, one.values))
        task.position = self._place(restored, name)
        assert m.recorder is not None
        attempt(task, m.recorder)
        if task.error is not None:
            raise task.error
        if task.status != DONE:
            raise InvalidUpdateError(
                f"An update as node {name!r} must be plain state: it cannot ask a question or command a parent graph",
                component="graph",
                operation="update_state",
                details={"node": name},
            )
        return task

    def _place(self, restored: Restored | None, name: str) -> int:
        """The place of the task that was about to run as this node, so that history shows the update as its result."""
        names = restored.head.names if restored is not None else ()
        return names.index(name) if name in names else len(names)

    def _author(self, restored: Restored | None) -> str:
        """The node that last updated the state, where that is one node."""
        names = [n for n, node in self.program.nodes.items() if not node.hidden]
        if restored is None:
            return names[0] if self.program.direct and len(names) == 1 else START
        if len(names) == 1:
            return names[0]
        wrote = [n for n in dict.fromkeys(restored.head.ran) if n and n != START]
        if len(wrote) == 1:
            return wrote[0]
        if restored.row.source == "input" or (START in restored.head.ran and not wrote):
            return START
        raise InvalidUpdateError(
            f"Ambiguous update, specify as_node: {', '.join(map(repr, wrote)) or 'no node'} last updated this thread",
            component="graph",
            operation="update_state",
        )


def _returning(node: Node, values: Any) -> Node:
    """The node as if it had returned ``values``: its writers and conditional edges run, its function does not."""
    made = Node(node.name, None, call=lambda given, task: values, is_async=False, view=dict, accept=node.accept)
    made.routers, made.targets, made.marks, made.consumes = node.routers, node.targets, node.marks, node.consumes
    made.triggers, made.hidden, made.inbox = node.triggers, node.hidden, node.inbox
    return made
