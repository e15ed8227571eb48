"""One invocation: everything between the caller's arguments and the driver; lease, load, begin, close."""

from __future__ import annotations

import itertools
import json
import logging
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from lawful.core.clock import SYSTEM, Clock
from lawful.core.context import Run, current_task
from lawful.core.errors import (
    AlreadyAnswered,
    EmptyInputError,
    GraphRecursionError,
    ThreadBusy,
    UnknownQuestion,
)
from lawful.core.lazy import late
from lawful.graph import orders as o
from lawful.graph.answers import won
from lawful.graph.begin import Seed, begin
from lawful.graph.command import START, Command
from lawful.graph.config import (
    Target,
    check_one_thread,
    concurrency,
    durability_of,
    metadata_of,
    recursion_limit,
    target_of,
)
from lawful.graph.crowding import enter, leave
from lawful.graph.drivers.shared import Deal, drainable
from lawful.graph.hearing import announced, broke_off, equip, listener_of
from lawful.graph.machine import Machine
from lawful.graph.narrowing import narrowed, widened
from lawful.graph.options import Options
from lawful.graph.persist import Recorder
from lawful.graph.policies import Limits
from lawful.graph.program import Program
from lawful.graph.sizes import Bounds, Sizes
from lawful.graph.step_task import Task
from lawful.graph.streams import Hub
from lawful.graph.travel import Loaded, load_child, load_root
from lawful.graph.whereabouts import ThreadMissing, housed
from lawful.journal.port import Journal
from lawful.journal.records import Lease

_count = itertools.count(1)
_log = logging.getLogger("lawful.graph")


class Graph(Protocol):
    """A compiled graph, as far as running it goes."""

    program: Program
    checkpointer: Any
    cache: Any
    store: Any
    clock: Clock | None
    step_timeout: float | None
    limits: Limits
    is_async: bool
    async_node: str
    performs: bool

    @property
    def name(self) -> str: ...
    def merged(self, config: Mapping[str, Any] | None) -> Mapping[str, Any]: ...
    def context_of(self, given: Any) -> Any: ...
    def breakpoints(self, before: Any, after: Any) -> tuple[frozenset[str], frozenset[str]]: ...
    def astream(self, input: Any, config: Any = None, **options: Any) -> Any: ...
    def program_of(self, ns: str) -> Program: ...


class Session:
    """One run from its arguments to its end."""

    __slots__ = (
        "asked_at", "bounds", "config", "deal", "goes_on", "graph", "held", "hub", "journal", "limit", "machine", "nested",
        "options", "run", "slot", "target",
    )  # fmt: skip

    def __init__(self, graph: Graph, config: Any, options: Options, hub: Hub | None) -> None:
        self.graph = graph
        self.options = options
        check_one_thread(config, options.thread)
        self.config: Mapping[str, Any] = graph.merged(config if isinstance(config, Mapping) else None)  # pyright: ignore[reportUnknownArgumentType]
        self.target = target_of(config if not isinstance(config, Mapping) else self.config, options.thread)
        self.slot = _slot()
        self.nested = self.slot is not None and self._inside(self.slot)
        self.journal = self._journal()
        self.held: Any = None
        self.hub = hub
        self.bounds = options.limits.within(graph.limits)
        self.limit = concurrency(self.config, self.bounds.concurrency)
        self.asked_at = 0.0
        self.goes_on = False
        """Whether this run goes on where an earlier one stopped."""
        self.run = self._run()
        self.deal: Deal | None = None
        self.machine = self._machine()

    # Where it stands

    def _inside(self, slot: Task) -> bool:
        """Whether this is a child of the running node, rather than a run on a thread of its own."""
        thread = self.target.thread
        if thread is None or slot.run.thread is None:
            return thread is None
        if thread != slot.run.thread:
            return False
        if self.target.ns == slot.ns or (self.options.thread is None and self.target.ns):
            return True
        raise ThreadBusy(
            f"Node {slot.node!r} runs on thread {thread!r} and cannot start another run on it",
            component="graph",
            operation="invoke",
            details={"thread": thread, "node": slot.node},
        )

    def _journal(self) -> Journal | None:
        own = self.graph.checkpointer
        if own is False:
            return None
        if self.nested and self.slot is not None and self.slot.run.journal is not None:
            return self.slot.run.journal  # the run's one journal, whichever this graph would use by itself
        if own is None or own is True:
            if self.slot is not None:
                return self.slot.run.journal
            if own is True:
                raise RuntimeError("checkpointer=True cannot be used for root graphs.")
            return None
        if self.nested:
            raise ThreadMissing(
                f"{self.graph.name!r} has a journal, and the run that it is part of has neither journal nor thread: compile"
                " the outer graph with the journal, or call this one with a thread of its own",
                component="graph",
                operation="config",
            )
        return own

    def _run(self) -> Run:
        slot = self.slot
        if self.nested:
            assert slot is not None
            parent = slot.run
            _check_depth(parent)
            run = Run(
                run_id=f"{parent.run_id}.{next(_count)}",
                parent=parent,
                thread=parent.thread if self.journal is not None else None,
                scope=parent.scope,
                lineage=parent.lineage,
                clock=parent.clock,
                journal=self.journal,
                deadline=parent.deadline,
                context=self.graph.context_of(self.options.context)
                if self.options.context is not None
                else parent.context,
                store=self.graph.store if self.graph.store is not None else parent.store,
                config={**parent.config, **self.config},
                durability=parent.durability,
                holder=slot,
            )
        else:
            if self.journal is None and self.options.durability is not None:
                warnings.warn("`durability` has no effect when no checkpointer is present.", stacklevel=2)
            clock = self.graph.clock or SYSTEM
            thread = self.target.thread if self.journal is not None else None
            housed(self.graph.name, self.journal, thread, self.options.thread, self.config, self.graph.program.strict)
            run = Run(
                run_id=clock.token(),
                thread=thread,
                scope=self.journal.scope if self.journal is not None else "local",
                lineage=thread or "",
                clock=clock,
                journal=self.journal,
                context=self.graph.context_of(self.options.context),
                store=self.graph.store,
                config=self.config,
                durability=durability_of(self.options.durability),
            )
        run.performs = run.performs and self.graph.performs
        equip(run, self.hub, self.options.on_event, self.config)
        if self.graph.cache is not None:
            run.cache = self.graph.cache
        elif run.cache is None and self.graph.program.caches:
            _log.warning("Nodes of %s have a cache policy, but it was compiled without a cache", self.graph.name)
        if self.options.control is not None:
            run.shared["control"] = self.options.control
        if self.bounds.seconds is not None:
            until = run.clock.monotonic() + self.bounds.seconds
            run.deadline = until if run.deadline is None else min(until, run.deadline)
        return run

    def _ns(self) -> tuple[str, str]:
        """The namespace of this run, and its lineage path."""
        slot = self.slot
        if not self.nested or slot is None:
            return "", ""
        path = f"{slot.step_key}@{slot.visit}"
        own = slot.ns
        if self.graph.checkpointer is True:
            known = slot.task_node.known_as
            own = f"{slot.base.ns}|{known}" if slot.base.ns else known
        nth = slot.count("subgraph")
        return (own if nth == 0 else f"{own}|{nth}"), (path if nth == 0 else f"{path}|{nth}")

    def _machine(self) -> Machine:
        graph, run = self.graph, self.run
        ns, path = self._ns()
        recorder: Recorder | None = None
        if self.journal is not None:
            recorder = Recorder(graph.program, ns, self._metadata(ns))
        before, after = graph.breakpoints(self.options.before, self.options.after)
        most = self.bounds.state_bytes
        bounds = Bounds(
            recursion_limit(self.config, self.bounds.steps),
            before,
            after,
            Sizes(graph.program, most) if most is not None else None,
        )
        keys = self.options.output_keys
        program = graph.program if self.hub is None else widened(graph.program)
        machine = Machine(
            program if keys is None else narrowed(graph.program, keys),
            run,
            bounds,
            ns=ns,
            path=path,
            recorder=recorder,
            listener=listener_of(run, self.hub, ns),
            durable=run.durability,
        )
        if self.nested:
            machine.own = []
            if machine.held is not None:
                machine.held.transient = graph.checkpointer is not True
        if drainable(machine) and (control := run.shared.get("control")) is not None:
            machine.draining = control.drain_reason
        return machine

    def _metadata(self, ns: str) -> dict[str, Any]:
        told = metadata_of(self.config)
        slot = self.slot
        if self.nested and slot is not None:
            told["_task"] = slot.id
            told["_parents"] = json.dumps({**slot.base.parents(), slot.base.ns: slot.base.checkpoint})
        else:
            told["_graph"] = self.graph.name
        return told

    # Beginning, in the order the drivers call it

    def taking(self) -> Any:
        """The lease to be taken first, or None where none is needed."""
        if self.journal is None or self.nested:
            return None
        self.asked_at = self.run.clock.monotonic()
        leases = late("lawful.journal.leases")
        policy = "reject" if self.options.busy == "fork" else self.options.busy
        return leases.Taking(
            self.journal, self.run.thread, leases.owner_of(self.run.run_id), policy, self.options.busy_timeout
        )

    def forked(self) -> Any:
        """Policy ``fork``: the thread is busy, so this run goes on a copy of it."""
        assert self.journal is not None
        assert self.run.thread is not None
        copy = f"{self.run.thread}~{self.run.run_id[:8]}"
        self.journal.copy_thread(self.run.thread, copy)
        self.run.thread = copy
        self.target.checkpoint = None
        return self.taking()

    def took(self, lease: Lease) -> None:
        assert self.journal is not None
        self.run.lease = lease
        self.held = late("lawful.journal.leases").keeper.hold(self.journal, lease)

    def begin(self, given: Any) -> Sequence[o.Order]:
        """Load where the thread stands and give the first orders."""
        if self.run.teller is None:
            return self._begin(given)
        announced(self)
        try:
            return self._begin(given)
        except BaseException as error:
            broke_off(self.run, error)
            raise

    def _begin(self, given: Any) -> Sequence[o.Order]:
        machine, journal = self.machine, self.journal
        if journal is None:
            if given is None and not self.nested:
                raise EmptyInputError(f"Received no input for {START}", component="graph", operation="invoke")
            return begin(machine, Seed(given, None))
        self.deal = Deal(self.run, journal, not self.nested)
        loaded = self._load(journal, going_on=given is None or isinstance(given, Command))
        restored = loaded.restored
        if self.nested and self.slot is not None:
            machine.dirty.extend(self.slot.unwritten())  # what it was told may be in what it gives its graph
        if self.nested and self.slot is not None and not isinstance(given, Command):
            given = loaded.input(given, self.slot)
            if given is None and restored is not None:
                machine.own = list(restored.own)
        self.goes_on = restored is not None and (given is None or isinstance(given, Command))
        try:
            return begin(machine, Seed(given, restored, head=loaded.head, fork=loaded.fork, by=self.options.by))
        except UnknownQuestion as error:
            self._told_already(journal, error.details.get("question", ""))
            raise

    def _told_already(self, journal: Journal, question: str) -> None:
        """Raises: AlreadyAnswered, where an earlier checkpoint of the thread has the answer."""
        thread = self.run.thread or ""
        for ns in journal.namespaces(thread):
            for row in journal.history(thread, ns):
                chain = journal.chain(thread, ns, row.id)
                told = [a for a in chain.answers if a.question == question] if chain is not None else []
                if told:
                    held = self.graph.program.registry.decode(told[0].blob, where=f"answer to {question}")
                    raise AlreadyAnswered(
                        f"Question {question} of thread {thread!r} has its answer already{won(held)}",
                        component="graph",
                        operation="resume",
                        details={"thread": thread, "question": question},
                    )

    def _load(self, journal: Journal, *, going_on: bool) -> Loaded:
        if self.nested:
            if self.graph.checkpointer is True and self.slot is not None:
                enter(self.run.shared, self.machine.ns, self.slot)
            return load_child(journal, self.graph, self.run, self.machine.ns)
        self.graph.program_of(self.target.ns)
        return load_root(journal, self.graph.program, self.run, self.target, going_on=going_on)

    # Ending

    def close(self) -> None:
        """Give the lease back, whatever happened, and log what was noticed."""
        if self.run.teller is not None:
            broke_off(self.run, None)
        for what, details in self.machine.notices:
            told = ", ".join(f"{name} {value!r}" for name, value in details.items() if name != "why")
            why = f": {details['why']}" if "why" in details else ""
            _log.warning("%s: %s: %s%s", self.graph.name, what.replace("_", " "), told, why)
        if self.nested and self.graph.checkpointer is True:
            leave(self.run.shared, self.machine.ns, self.slot)
        if self.held is None:
            return
        late("lawful.journal.leases").keeper.drop(self.held)
        refused = self.machine.recorder is None  # and with the commit the release that went with it
        if self.deal is None or not self.deal.released or refused:
            assert self.journal is not None
            self.journal.release(self.held.lease)
        self.held = None


_DEEPEST = 48
"""Graphs inside graphs: what still leaves the stack room for the nodes and the codec of the innermost one."""


def _check_depth(run: Run) -> None:
    depth, at = 1, run
    while at.parent is not None:
        depth, at = depth + 1, at.parent
    if depth > _DEEPEST:
        raise GraphRecursionError(
            f"Graphs are nested {depth} deep; a graph that calls itself must come to an end before {_DEEPEST}",
            component="graph",
            operation="invoke",
            details={"depth": str(depth)},
        )


def _slot() -> Task | None:
    slot = current_task.get()
    return slot if isinstance(slot, Task) and not slot.closed else None


__all__ = ["Options", "Session", "Target"]
