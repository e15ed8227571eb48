"""One task of a superstep, and the slot that both drivers share: enter, returned, routed, ended."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from lawful.core.context import Run, Slot
from lawful.core.errors import NodeCancelledError
from lawful.core.questions import Question, recovery_id
from lawful.core.signals import (
    ControlSignal,
    GraphDrained,
    GraphInterrupt,
    OutcomeUnknown,
    ParentCommand,
    find_signal,
    latch,
)
from lawful.graph.apply import merge, store
from lawful.graph.command import Send
from lawful.graph.program import Node, Program, Router

PENDING: Final = 0
DONE: Final = 1
FAILED: Final = 2
ASKED: Final = 3
BUBBLED: Final = 4
CANCELLED: Final = 5
DRAINED: Final = 6
HANDLED: Final = 7
"""It failed, and its node's error handler has taken over."""

_NONE: Any = ()
"""The writes of a task that has not returned: nothing can be added to them."""

PULL: Final = "__pregel_pull"
PUSH: Final = "__pregel_push"


class Task(Slot):
    """One visit of one node in one superstep; its attempts reuse it."""

    signal: ControlSignal | None = None
    status: int = PENDING
    writes: list[tuple[str, Any]] = _NONE
    targets: list[str] | None = None
    sends: list[Send] | None = None
    value: Any = None
    error: BaseException | None = None
    attempt: int = 0
    first_attempt: float | None = None
    """Seconds since 1970 UTC; known once a retry or the node's runtime asks for it."""
    begun: bool = False
    """Whether an attempt of it has entered the node's thread or coroutine."""
    questions: tuple[Question, ...] = ()
    merged: dict[str, Any] | None = None
    merged_at: int = -1
    blob: bytes | None = None
    refs: tuple[bytes, ...] = ()
    chunks: dict[bytes, bytes] | None = None
    cached: bool = False
    """Its outcome was saved by an earlier run."""
    saved: bool = False
    position: int = 0
    swallowed: bool = False
    given: Any = None
    """An input that takes the place of the state's view."""
    timeout: Any = None
    """A Send's own limit, in any form of one."""
    started: float | None = None
    """When the attempt began, on the clock's monotonic scale; known only where a limit is to be kept."""
    expired: BaseException | None = None
    """The limit that the attempt ran past; only a recorded signal wins over it."""
    origin: Task | None = None
    """For an error handler's task: the one that failed."""
    unfit: BaseException | None = None
    """Why the attempt cannot begin: its cache key could not be made, or what the cache holds cannot be read."""
    cache_key: Any = None
    called: bool = False
    """Whether it is the call of a `@task`, beside the step's tasks."""
    children: Any = None
    """The calls of tasks that this attempt has made (`lawful.graph.drivers.calls.Children`), once there is one."""
    _id: str | None = None

    def __init__(self, base: Base, node: Node, index: int, arg: Any) -> None:
        self.base = base
        self.task_node = node
        self.node = node.name
        self.index = index
        self.arg = arg

    @property
    def run(self) -> Run:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.base.run

    @property
    def program(self) -> Program:
        return self.base.program

    @property
    def values(self) -> Mapping[str, Any]:
        return self.base.values

    # What the ledger and questions are keyed by

    @property
    def step_key(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Namespace path with visits, node name, and a Send's index."""
        key = self.task_node.key if self.origin is None else f"{self.origin.task_node.key}%handler"
        tail = key if self.index < 0 else f"{key}#{self.index}"
        return f"{self.base.path}/{tail}" if self.base.path else tail

    @property
    def visit(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How often this node was planned in this lineage, from 1."""
        return self.base.visits.get(self.node, 0) + 1

    @property
    def id(self) -> str:
        """Deterministic: of the checkpoint it runs from, namespace, step, node and path; so every process agrees."""
        if self._id is None:
            base = self.base
            text = f"{base.checkpoint}\x1f{base.ns}\x1f{base.step}\x1f{self.task_node.known_as}\x1f{self.index}"
            if self.origin is not None:
                text += f"\x1f{self.origin.node}"
            h = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
            self._id = f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"
        return self._id

    @property
    def ns(self) -> str:
        """The namespace of a subgraph run inside this task."""
        own = f"{self.task_node.known_as}:{self.id}"
        return f"{self.base.ns}|{own}" if self.base.ns else own

    @property
    def path(self) -> tuple[Any, ...]:
        return (PULL, self.node) if self.index < 0 else (PUSH, self.index, False)

    @property
    def triggers(self) -> tuple[str, ...]:
        return self.task_node.triggers if self.index < 0 else (PUSH,)

    @property
    def limited(self) -> bool:
        """Whether it may have a limit to its time."""
        return self.task_node.timeout is not None or self.timeout is not None

    # One attempt, in the order the drivers call it

    def begin(self) -> None:
        """Start an attempt."""
        self.attempt += 1
        self.writes = _NONE

    @property
    def performs(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.task_node.performs and self.run.performs

    def unwritten(self) -> list[Any]:
        """Of the whole step."""
        recorder = self.base.recorder
        return recorder.noted(self.base.checkpoint) if recorder is not None else []

    def again(self) -> Task:
        """The slot of the next attempt of the same task."""
        made = Task(self.base, self.task_node, self.index, self.arg)
        made.attempt = self.attempt
        made.first_attempt = self.began()
        made.cache_key = self.cache_key
        made.position, made.given, made.timeout, made._id = self.position, self.given, self.timeout, self._id
        return made

    def began(self) -> float:
        """When the first attempt began, as far as anybody asked."""
        if self.first_attempt is None:
            self.first_attempt = self.run.clock.now()
        return self.first_attempt

    def enter(self) -> Any:
        """The node's input: made now, not when the task was planned, so that copies are not all alive at once."""
        if self.unfit is not None:
            raise self.unfit
        if self.origin is not None:
            self.origin.unfit = None
            return self.origin.enter()
        if self.index >= 0:
            return self.arg
        node = self.task_node
        if self.given is not None:
            return self.given
        if node.managed:
            remaining = self.base.remaining
            values = {**self.values, **{k: m.read(remaining) for k, m in node.managed.items()}}
            return node.view(values)
        return node.view(self.base.values)

    def to_write(self) -> None:
        """Have a list of its own for what it writes; before, thousands that wait share one that is empty."""
        if self.writes is _NONE:
            self.writes = []

    def returned(self, value: Any) -> None:
        """Take the node's return value: parse and check it, as this task's own failure."""
        node = self.task_node
        self.to_write()
        node.accept(self, value)
        self.value = value
        acceptor = self.base.program.acceptor
        if acceptor.prepares:
            acceptor.prepare(self.writes)
        if node.marks:
            self.writes.extend(node.marks)

    def routing(self) -> Mapping[str, Any]:
        """The state with this task's own writes applied, as its conditional edges see it."""
        base = self.base
        self.merged = merge(base.program, base.values, (self,))
        self.merged_at = len(self.writes)
        if base.program.plain:
            return {**base.values, **self.merged}
        local = dict(base.values)
        store(local, self.merged)
        return local

    def alone(self) -> dict[str, Any] | None:
        """What this task's writes change by themselves, if its conditional edges had that worked out already."""
        return self.merged if self.merged_at == len(self.writes) else None

    def fail(self, error: BaseException) -> None:
        """How the attempt ended other than by returning."""
        found = find_signal(error)
        if found is not None:
            latch(self, found)
        elif self.signal is None:
            self.error = error
        else:
            self.swallowed = True

    def commanded(self, error: BaseException | None) -> Any:
        """The command that a graph inside this node gave to ours, if that is how the call ended: the node's result."""
        if error is not None and (found := find_signal(error)) is not None:
            latch(self, found)
        signal = self.signal
        if not isinstance(signal, ParentCommand) or signal.command.graph is not None:
            return None
        self.signal = None
        return signal.command

    def settle(self, raised: bool) -> None:
        """Close the slot and decide the outcome: a recorded signal wins over whatever the attempt ended with."""
        self.closed = True
        signal = self.signal
        if self.fault is not None:
            self.status, self.error = FAILED, self.fault
        elif signal is None:
            self.error = self.expired or self.error
            self.status = DONE if self.error is None else FAILED
        else:
            self.error = None
            if not raised:
                self.swallowed = True
            self._signalled(signal)
        if self.status != DONE:
            self.writes, self.targets, self.sends = [], None, None

    def _signalled(self, signal: ControlSignal) -> None:
        match signal:
            case GraphInterrupt():
                self.status = ASKED
                self.questions = signal.interrupts
            case OutcomeUnknown():
                self.status = ASKED
                self.questions = (recovery_question(self, signal),)
            case ParentCommand():
                self.status = BUBBLED
                self.value = signal.command
            case GraphDrained():
                self.status = DRAINED
                self.value = signal
            case _:
                self.status = FAILED
                self.error = signal

    def cancelled_itself(self, error: BaseException) -> None:
        """The node raised CancelledError though nobody cancelled it: a failure, not a silent success."""
        self.error = NodeCancelledError(
            f"Node {self.node!r} raised CancelledError though the run was not cancelled",
            component="graph",
            operation=f"node {self.node!r}",
            details={"node": self.node},
            cause=error,
        )

    def sleep_on(self) -> None:
        """Stay asked without running again: none of its questions has an answer yet."""
        self.status, self.saved = ASKED, True

    def target(self, name: str) -> None:
        """Go to ``name`` in the next step; a deferred node's inbox is a channel of its own."""
        inbox = self.base.program.nodes[name].inbox
        if inbox is not None:
            self.writes.append((inbox, name))
        elif self.targets is None:
            self.targets = [name]
        else:
            self.targets.append(name)

    def send(self, packet: Send) -> None:
        if self.sends is None:
            self.sends = [packet]
        else:
            self.sends.append(packet)


class Base:
    """What all tasks of one step have in common."""

    __slots__ = (
        "_parents", "answers", "calls", "checkpoint", "listener", "ns", "path", "program", "recorder", "remaining", "run",
        "step", "values", "visits",
    )  # fmt: skip

    def __init__(
        self,
        run: Run,
        program: Program,
        values: Mapping[str, Any],
        *,
        checkpoint: str,
        ns: str,
        path: str,
        step: int,
        remaining: int,
        visits: Mapping[str, int],
    ) -> None:
        self.run = run
        self.program = program
        self.values = values
        """What is stored as the step begins; no task changes it."""
        self.checkpoint = checkpoint
        self.ns = ns
        self.path = path
        """Lineage path of this namespace: parents' step keys with their visits."""
        self.step = step
        self.remaining = remaining
        """Steps that the recursion limit still allows, this one included."""
        self.visits = visits
        self.answers: dict[str, Any] = {}
        """Answers to questions asked from this checkpoint, by id."""
        self._parents: Mapping[str, str] = {}
        self.calls: Any = None
        """What is kept of calls of tasks made in this step (`lawful.graph.calls.Calls`), once there is one."""
        self.listener: Any = None
        self.recorder: Any = None

    def parents(self) -> Mapping[str, str]:
        """Each enclosing namespace and the checkpoint it stands at."""
        return self._parents

    def within(self, parents: Mapping[str, str]) -> None:
        self._parents = parents


def recovery_question(task: Task, signal: OutcomeUnknown) -> Question:
    """The question that an unknown outcome pauses a run with.

    "reconcile" wakes the run, so that the ledger looks again; a decision of a person is taken once and settles the operation
    when the node runs again.
    """
    return Question(
        value={"operation": signal.op_id, "effect": signal.tool, "reason": signal.reason},
        id=recovery_id(task.run.lineage, task.step_key, task.visit, signal.op_id, signal.fence),
        node=task.node,
        kind="effect_recovery",
        ns=task.base.ns,
        checkpoint=task.base.checkpoint,
        task=task.id,
        details={
            "op_id": signal.op_id,
            "tool": signal.tool,
            "fence": signal.fence,
            "next_step": signal.next_step,
        },
    )


__all__ = ["ASKED", "BUBBLED", "CANCELLED", "DONE", "DRAINED", "FAILED", "HANDLED", "PENDING", "Base", "Router", "Task"]
