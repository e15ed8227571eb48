"""Change a thread from outside: `update_state` writes as if a node had returned; several steps are one commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, cast

from lawful.core.clock import SYSTEM, Clock
from lawful.core.context import Run
from lawful.core.errors import ConfigurationError, InvalidUpdateError
from lawful.core.lazy import late
from lawful.graph.command import END, START
from lawful.graph.config import RECURSION_LIMIT, Target, metadata_of, target_of
from lawful.graph.editing import COPY, INPUT, Editor, refusal
from lawful.graph.machine import Machine
from lawful.graph.persist import Recorder
from lawful.graph.program import Program
from lawful.graph.restore import restore
from lawful.graph.restored import Restored
from lawful.graph.sizes import Bounds
from lawful.graph.snapshot import config_of, parents_of
from lawful.journal.port import Journal
from lawful.journal.records import Batch


class StateUpdate(NamedTuple):
    """One write to a thread's state, as if ``as_node`` had returned ``values``."""

    values: Any
    as_node: str | None = None
    task_id: str | None = None
    """The task whose place it takes; not given: the first one of that node which was about to run."""


class NoUpdates(InvalidUpdateError, ValueError):
    """There is nothing to update with."""


class Face(Protocol):
    """What an update needs of a compiled graph."""

    program: Program
    clock: Clock | None

    def journal_of(self) -> Journal: ...
    def program_of(self, ns: str) -> Program: ...


def update(graph: Face, config: Any, supersteps: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Make one checkpoint of each superstep, in one commit, and give the config of the last.

    A superstep is a sequence of `StateUpdate` (or ``(values, as_node)`` tuples) that are applied together.

    Raises, with nothing written: InvalidUpdateError for an ambiguous or unknown node, a refused value, or what must stand
    alone and does not; ValueError for no superstep, an empty one, or a graph without a journal.
    """
    return _Update(graph, config).make([_read(step) for step in _some(supersteps, "supersteps")])


def _some(given: Sequence[Any], what: str) -> list[Any]:
    if not isinstance(given, (list, tuple)):
        raise refusal(f"Expected a list of {what}, got {given!r:.100}")
    told: list[Any] = list(given)  # pyright: ignore[reportUnknownArgumentType]
    if not told:
        raise NoUpdates(f"No {what} provided", component="graph", operation="update_state")
    return told


def _read(step: Sequence[Any]) -> list[StateUpdate]:
    updates = [one_update(item) for item in _some(step, "updates")]
    if len(updates) == 1:
        return updates
    for one in updates:
        if one.as_node in (INPUT, START, END, COPY):
            raise refusal(f"An update as {one.as_node!r} stands alone in its superstep", one.as_node)
        if one.as_node is None:
            raise refusal("as_node is required when applying multiple updates")
    return updates


def one_update(item: Any) -> StateUpdate:
    """A `StateUpdate`, however it was written down."""
    if isinstance(item, StateUpdate):
        return item
    if isinstance(item, (tuple, list)) and 1 <= len(item) <= 3:  # pyright: ignore[reportUnknownArgumentType]
        return StateUpdate(*cast("Sequence[Any]", item))
    raise refusal(f"Expected StateUpdate(values, as_node), got {item!r:.100}")


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

    def make(self, supersteps: Sequence[Sequence[StateUpdate]]) -> dict[str, Any]:
        leases = late("lawful.journal.leases")
        thread = self.target.thread or ""
        lease = leases.take(self.journal, thread, leases.owner_of(self.run.clock.token()))
        self.run.lease = lease
        try:
            return self._locked(supersteps)
        finally:
            if self.run.lease is not None:  # else it went with the commit
                self.journal.release(lease)

    def _locked(self, supersteps: Sequence[Sequence[StateUpdate]]) -> dict[str, Any]:
        thread, ns, wanted = self.target.thread or "", self.target.ns, self.target.checkpoint
        chain = self.journal.chain(thread, ns, wanted)
        if wanted is None:
            head = chain.tip.id if chain is not None else None
        elif chain is None:
            raise no_checkpoint(thread, wanted)
        else:
            head = self.journal.history(thread, ns, limit=1)[0].id
        bare = wanted is not None
        restored = restore(self.program, thread, chain, bare=bare) if chain is not None else None
        machine = self._machine(restored, head)
        editor = Editor(machine, restored, bare=bare)
        if chain is not None and chain.tip.id != head and machine.recorder is not None:
            machine.recorder.of = chain.tip.id
        for step in supersteps:
            self._superstep(editor, step)
        self.journal.commit(Batch(thread, tuple(machine.dirty), self.run.lease, release=True))
        self.run.lease = None
        parents = parents_of(machine.recorder.metadata) if machine.recorder is not None else {}
        return config_of(thread, ns, machine.checkpoint, parents)

    def _superstep(self, editor: Editor, updates: Sequence[StateUpdate]) -> None:
        one = updates[0]
        if one.as_node == COPY:
            editor.copy()
            more: Any = one.values
            if isinstance(more, (list, tuple)) and more:
                self._superstep(editor, _read(more))  # pyright: ignore[reportUnknownArgumentType]
        elif one.as_node == INPUT:
            editor.enter(one.values)
        elif one.as_node == END and one.values is None:
            editor.close()
        elif one.as_node is None and one.values is None and len(updates) == 1 and not editor.virgin:
            editor.stay()
        else:
            editor.write(updates)

    def _machine(self, restored: Restored | None, head: str | None) -> Machine:
        told = metadata_of(self.config)
        if restored is not None:
            told = {**{k: v for k, v in restored.row.metadata.items() if k.startswith("_") and k != "_of"}, **told}
        recorder = Recorder(self.program, self.target.ns, told)
        limits = Bounds(RECURSION_LIMIT, frozenset(), frozenset())
        machine = Machine(self.program, self.run, limits, ns=self.target.ns, recorder=recorder)
        machine.expect = head
        if restored is not None:
            machine.values, machine.visits = restored.values, restored.visits
            machine.step, machine.checkpoint, machine.parent = restored.row.step, restored.row.id, restored.row.parent
            machine.own = restored.own if self.target.ns else None
            recorder.known |= restored.known
            recorder.merges, recorder.print = restored.merges, restored.then
        else:
            machine.step = -1
        machine.rebase()
        return machine


def no_checkpoint(thread: str, checkpoint: str) -> ConfigurationError:
    """The error of a config that names a checkpoint which its thread does not have."""
    return ConfigurationError(
        f"Thread {thread!r} has no checkpoint {checkpoint!r}",
        component="graph",
        operation="checkpoint",
        details={"thread": thread, "checkpoint": checkpoint},
    )


__all__ = ["COPY", "INPUT", "Face", "NoUpdates", "StateUpdate", "no_checkpoint", "update"]
