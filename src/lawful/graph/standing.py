"""Where one run of one graph stands: values, tasks, checkpoint; planning the next tasks and noting what happened."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, cast

from lawful.core.context import Run
from lawful.core.errors import InvalidUpdateError
from lawful.graph.apply import after, finish, store, tried
from lawful.graph.channels import MISSING
from lawful.graph.command import START, Send
from lawful.graph.keeping import Held
from lawful.graph.orders import Order
from lawful.graph.persist import Recorder, parents_of
from lawful.graph.program import Node, Program
from lawful.graph.sizes import Bounds
from lawful.graph.state import View
from lawful.graph.step_task import DONE, Base, Task
from lawful.journal.ids import new_id
from lawful.journal.records import Record


class Listener(Protocol):
    """Who is told what happens, as it happens: the stream's projections."""

    def planned(self, machine: Standing, tasks: Sequence[Task]) -> None: ...
    def started(self, machine: Standing, tasks: Sequence[Task]) -> None: ...
    def retrying(self, machine: Standing, task: Task, delay: float) -> None: ...
    def ended(self, machine: Standing, task: Task) -> None: ...
    def stepped(self, machine: Standing, changed: dict[str, Any] | None) -> None: ...
    def checkpointed(self, machine: Standing) -> None: ...
    def halted(self, machine: Standing, questions: Sequence[Any]) -> None: ...
    def noticed(self, machine: Standing, what: str, details: dict[str, Any]) -> None: ...
    def finished(self, machine: Standing, outcome: Any) -> None: ...


class Standing:
    """The data of a run, and what can be said and noted of it without running anything."""

    __slots__ = (
        "answers",
        "at",
        "base",
        "based",
        "caching",
        "cancelled",
        "checkpoint",
        "committing",
        "dirty",
        "draining",
        "durable",
        "ended_tasks",
        "expect",
        "failing",
        "finished",
        "fresh",
        "handling",
        "held",
        "holder",
        "limits",
        "listener",
        "newest",
        "notices",
        "ns",
        "null_chunks",
        "null_parts",
        "null_refs",
        "own",
        "parent",
        "path",
        "program",
        "ran",
        "recorder",
        "run",
        "running",
        "shown",
        "source",
        "standing",
        "step",
        "stop",
        "tasks",
        "then",
        "timed",
        "trouble",
        "values",
        "visits",
        "written",
    )  # fmt: skip

    failing: bool
    """Whether a task of this step has failed, so that the others are being stopped."""
    trouble: bool
    """Whether a task of this step ended other than by returning."""
    standing: bool
    """Whether the tasks were planned by an earlier run, so that some may have a saved outcome."""
    newest: str | None
    """The last checkpoint id that this run made."""
    null_parts: list[bytes]
    null_refs: tuple[bytes, ...]
    null_chunks: list[dict[bytes, bytes] | None]

    def __init__(
        self,
        program: Program,
        run: Run,
        limits: Bounds,
        *,
        ns: str = "",
        path: str = "",
        recorder: Recorder | None = None,
        listener: Listener | None = None,
        durable: str = "sync",
    ) -> None:
        self.program = program
        self.run = run
        self.limits = limits
        self.ns = ns
        self.path = path
        self.recorder = recorder
        self.listener = listener
        self.durable = durable
        self.values: dict[str, Any] = program.initial
        self.visits: dict[str, int] = {}
        self.step = -2
        """The step of the checkpoint that we stand on; -2 before the first."""
        self.stop = limits.recursion
        self.checkpoint = run.run_id
        self.parent: str | None = None
        self.expect: str | None = None
        """The newest checkpoint of the namespace, which the next one must follow."""
        self.tasks: list[Task] = []
        self.ended_tasks: list[Task] = []
        self.running = 0
        self.fresh = True
        """Whether a channel has changed since the run was last paused or resumed."""
        self.finished = False
        self.ran: tuple[str, ...] = ()
        self.written: dict[str, Any] | None = None
        self.dirty: list[Record] = []
        self.newest: str | None = None
        self.held = Held() if durable == "exit" else None
        self.committing = False
        """Whether a commit is under way; what comes meanwhile waits in ``dirty``."""
        self.then: Callable[[], Sequence[Order]] | None = None
        """What follows once all that was noted is durable."""
        self.failing = self.trouble = self.standing = self.based = False
        self.cancelled: BaseException | None = None
        self.null_parts, self.null_refs, self.null_chunks = [], (), []
        self.answers: dict[str, Any] = {}
        self.own: list[tuple[str, Any]] | None = None
        """For a graph that is another's node: what its nodes wrote since its input, to be handed up as a delta."""
        self.notices: list[tuple[str, dict[str, Any]]] = []
        """What was noticed and is no error: swallowed signals, joins that were skipped."""
        self.at = 0.0
        self.source: Any = "input"
        self.shown: Any = None  # of a low-level graph: the output as of the last step that wrote any of it
        self.base: Base
        self._guard()

    def _guard(self) -> None:
        """What policies need to know."""
        self.holder = self.run.holder
        """The attempt that is alive as long as we are."""
        self.handling: list[Task] = []
        """Error handlers that wait until what they take over is durable."""
        self.draining: str | None = None
        """Why the run is to stop once its step has ended."""
        self.timed = self.program.timed
        """Whether a task may have a limit to its time."""
        self.caching = self.program.caches and self.run.cache is not None
        """Whether a cache is to be asked before tasks start."""

    def rebase(self) -> None:
        """Start a step on the checkpoint that we stand on."""
        if self.recorder is None and self.based:
            # Nobody keeps a step that is over: what its tasks have in common becomes the next one's.
            base = self.base
            base.values, base.visits, base.checkpoint = self.values, self.visits, self.checkpoint
            base.step = self.step + 1
            base.remaining = self.stop - self.step - 1
            base.calls = None
            return
        self.based = True
        self.base = Base(
            self.run,
            self.program,
            self.values,
            checkpoint=self.checkpoint,
            ns=self.ns,
            path=self.path,
            step=self.step + 1,
            remaining=self.stop - self.step - 1,
            visits=self.visits,
        )
        self.base.answers = self.answers = {}
        self.base.listener, self.base.recorder = self.listener, self.recorder
        if self.recorder is not None and "_parents" in self.recorder.metadata:
            self.base.within(parents_of(self.recorder.metadata))

    def task(self, node: Node, index: int = -1, arg: Any = None) -> Task:
        return Task(self.base, node, index, arg)

    def plan(self, names: set[str], sends: Sequence[Send]) -> None:
        """Make the next tasks: edge-triggered ones by name, then one for each Send in order."""
        nodes, base = self.program.nodes, self.base
        tasks = [Task(base, nodes[n], -1, None) for n in (sorted(names) if len(names) > 1 else names)]
        for index, packet in enumerate(sends):
            task = Task(base, nodes[packet.node], index, packet.arg)
            if packet.timeout is not None:
                task.timeout, self.timed = packet.timeout, True
            tasks.append(task)
        if self.recorder is not None:
            for position, task in enumerate(tasks):
                task.position = position
        self.tasks = tasks

    def save(self, task: Task) -> None:
        """Note a finished task of a step that is not closed."""
        assert self.recorder is not None
        if self.held is not None:
            self.held.tasks.append(task)
        else:
            self.dirty.extend(self.recorder.writes(self.checkpoint, task))
        task.saved = True

    def apply(self, tasks: Sequence[Task], changed: dict[str, Any]) -> None:
        """Take a merged step into the state and plan what follows."""
        program, values = self.program, self.values
        if program.plain:
            values.update(changed)
        else:
            store(values, changed)
        names = after(program, values, tasks, changed)
        visits = self.visits
        for name in {t.node for t in tasks} if len(tasks) > 1 else (tasks[0].node,):
            visits[name] = visits.get(name, 0) + 1
        sends: list[Send] = []
        for task in tasks:
            if task.sends is not None:
                sends.extend(task.sends)
        if self.own is not None and tasks[0].node != START:
            self.own.extend(w for t in tasks for w in t.writes)
        self.finished = False
        if program.finishing and not names and not sends:
            moved = finish(program, values)
            if moved:
                self.finished = True
                for node in subscribed(program, values, moved):
                    names.add(node)
        if changed or names or sends:
            self.fresh = True
        self.written = changed
        self.step += 1
        self.source = "loop"
        self.parent = self.checkpoint if self.held is None else self.held.parent(self)
        self.checkpoint = self.new_id()
        self.rebase()
        self.plan(names, sends)

    def new_id(self) -> str:
        """The id of the next checkpoint: time-ordered where it is stored."""
        if self.recorder is None:
            return f"{self.run.run_id}.{self.step}"
        self.at = self.run.clock.now()
        self.newest = new_id(self.at, self.newest or self.expect or self.parent)
        return self.newest

    def record(
        self,
        source: Any,
        parts: list[tuple[int, bytes]],
        refs: Sequence[tuple[bytes, ...]],
        chunks: Sequence[dict[bytes, bytes] | None],
        *,
        drop: bool,
        whole: bool = False,
    ) -> None:
        """Note the checkpoint that we stand on."""
        assert self.recorder is not None
        if self.held is not None:
            self.held.hold(source)
            self.null_parts, self.null_refs, self.null_chunks = [], (), []
            return
        ran = self.ran
        if self.null_parts:
            parts = [*((-1, blob) for blob in self.null_parts), *parts]
            ran = (*("" for _ in self.null_parts), *ran)
            refs = [self.null_refs, *refs]
            chunks = [*self.null_chunks, *chunks]
            self.null_parts, self.null_refs, self.null_chunks = [], (), []
        self._put(source, ran, parts, [r for rs in refs for r in rs], chunks, drop=drop, whole=whole)

    def _put(
        self,
        source: Any,
        ran: Sequence[str],
        parts: Sequence[tuple[int, bytes]],
        refs: Sequence[bytes],
        chunks: Sequence[dict[bytes, bytes] | None],
        *,
        drop: bool,
        whole: bool,
    ) -> None:
        assert self.recorder is not None
        self.dirty.extend(
            self.recorder.checkpoint(
                id=self.checkpoint,
                parent=self.parent,
                step=self.step,
                source=source,
                at=self.at,
                tasks=self.tasks,
                ran=ran,
                parts=parts,
                refs=refs,
                chunks=chunks,
                fresh=self.fresh,
                finished=self.finished,
                values=self.values,
                visits=self.visits,
                own=self.own,
                whole=whole,
                expect=self.expect,
                drop=drop,
            )
        )
        self.expect = self.checkpoint

    def put_held(self) -> None:
        """Note the checkpoint that was held back after all: whole, and as made from the last stored one."""
        if self.held is not None and self.held.source is not None:
            self._put(self.held.source, self.ran, [], [], [], drop=False, whole=True)
            self.held.source = None

    def put_rest(self, ended: bool) -> None:
        """Note what was held back and outlives the run: nothing, if it is transient and came to its end."""
        if self.held is None or self.recorder is None or (ended and self.held.transient):
            return
        self.put_held()
        if self.null_chunks:
            self.dirty.extend(
                self.recorder.null_records(self.checkpoint, self.null_parts, self.null_refs, self.null_chunks)
            )
            self.null_chunks = []
        for task in self.held.tasks:
            self.dirty.extend(self.recorder.writes(self.checkpoint, task))
        self.held.tasks = []

    def notice(self, what: str, details: dict[str, Any]) -> None:
        """Say what happened that a reader of the log or the debug stream should know."""
        self.notices.append((what, details))
        if self.listener is not None:
            self.listener.noticed(self, what, details)

    def skipped(self) -> InvalidUpdateError | None:
        """Joins that have some of their sources and can get no more."""
        for join in self.program.joins.values():
            seen = self.values.get(join.channel)
            if not seen:
                continue
            got = cast("frozenset[str]", seen[0] if isinstance(seen, tuple) else seen)
            missing = sorted(set(join.sources) - set(got))
            if not missing:
                continue
            self.notice("join_skipped", {"join": join.target, "missing": missing})
            if self.program.strict and join.rule is None:
                return InvalidUpdateError(
                    f"The join of {list(join.sources)} into {join.target!r} waits for {missing}, which can no longer run."
                    ' State its rule: add_edge([...], target, join="all" | "activated").',
                    component="graph",
                    operation="join",
                    details={"join": join.target, "missing": ", ".join(missing)},
                )
        return None

    def show(self, changed: Mapping[str, Any] | None) -> None:
        """The output of a low-level graph is what it was when any of it was last written, in this run or before a resume."""
        if changed is None or any(changed.get(k, MISSING) is not MISSING for k in self.program.output_keys):
            self.shown = self.program.output_view(self.values)

    def output(self, partial: bool = False, view: View | None = None) -> Any:
        """The output keys' values, or what ``view`` sees; with ``partial``, the unfinished step's finished writes applied."""
        values = self.values
        done = [t for t in self.tasks if t.status == DONE] if partial else []
        if self.program.direct and not any(k in self.program.output_keys for t in done for k, _ in t.writes):
            return self.shown
        if done:
            changed, wrong = tried(self.program, values, done)
            sizes = self.limits.sizes
            if wrong is None and (sizes is None or sizes.refused(values, changed, done) is None):
                values = {**values}
                store(values, changed)
        return (view or self.program.output_view)(values)


def subscribed(program: Program, values: dict[str, Any], moved: Sequence[str]) -> set[str]:
    from_channels = {k: program.subscribers.get(k, ()) for k in moved}
    return {n for k, nodes in from_channels.items() if program.channels[k].get(values[k]) is not MISSING for n in nodes}
