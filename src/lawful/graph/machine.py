"""The engine as a pure machine: events in, orders out; it knows no I/O, no thread and no event loop.

One superstep: the tasks that were planned run; when all have ended their writes are merged in the order of their paths
(conflicts are found before anything is applied), the next tasks follow from edges, goto's and channels, and what
happened is committed before they start. What must wait for a commit is parked in one field, `then`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from lawful.core.context import Run
from lawful.core.errors import GraphRecursionError, InvalidUpdateError
from lawful.core.retry import policy_for
from lawful.core.signals import ParentCommand
from lawful.graph import orders as o
from lawful.graph.apply import after, finish, merge, store, tried
from lawful.graph.channels import MISSING
from lawful.graph.command import START, Send
from lawful.graph.persist import Recorder, parents_of
from lawful.graph.program import Node, Program
from lawful.graph.task import ASKED, BUBBLED, CANCELLED, DONE, DRAINED, FAILED, Base, Task
from lawful.journal.ids import new_id
from lawful.journal.records import Record


class Listener(Protocol):
    """Who is told what happens, as it happens: the stream's projections."""

    def planned(self, machine: Machine, tasks: Sequence[Task]) -> None: ...
    def ended(self, machine: Machine, task: Task) -> None: ...
    def stepped(self, machine: Machine, changed: dict[str, Any] | None) -> None: ...
    def checkpointed(self, machine: Machine) -> None: ...
    def halted(self, machine: Machine, questions: Sequence[Any]) -> None: ...
    def noticed(self, machine: Machine, what: str, details: dict[str, Any]) -> None: ...


class Limits:
    """What bounds a run and where it pauses by itself."""

    __slots__ = ("after", "before", "recursion")

    def __init__(self, recursion: int, before: frozenset[str], after: frozenset[str]) -> None:
        self.recursion = recursion
        self.before = before
        self.after = after


class Machine:
    """One run of one graph in one namespace."""

    __slots__ = (
        "answers",
        "at",
        "base",
        "cancelled",
        "checkpoint",
        "committing",
        "dirty",
        "durable",
        "ended_tasks",
        "expect",
        "failing",
        "finished",
        "fresh",
        "limits",
        "listener",
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
        "source",
        "standing",
        "step",
        "stop",
        "tasks",
        "then",
        "trouble",
        "values",
        "visits",
        "written",
    )  # fmt: skip

    def __init__(
        self,
        program: Program,
        run: Run,
        limits: Limits,
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
        self.committing = False
        self.then: Sequence[o.Order] = ()
        self.failing = False
        self.trouble = False
        """Whether a task of this step ended other than by returning."""
        self.standing = False
        """Whether the tasks were planned by an earlier run, so that some may have a saved outcome."""
        self.cancelled: BaseException | None = None
        self.null_parts: list[bytes] = []
        self.null_refs: tuple[bytes, ...] = ()
        self.null_chunks: list[dict[bytes, bytes] | None] = []
        self.answers: dict[str, Any] = {}
        self.own: list[tuple[str, Any]] | None = None
        """For a graph that is another's node: what its nodes wrote since its input, to be handed up as a delta."""
        self.at = 0.0
        self.source: Any = "input"
        self.base: Base

    def advance(self, event: Any) -> Sequence[o.Order]:
        """Take one event, give the orders that follow; the same events give the same orders."""
        return _RULES[type(event)](self, event)

    # Planning

    def rebase(self) -> None:
        """Start a step on the checkpoint that we stand on."""
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
                task.timeout = packet.timeout
            tasks.append(task)
        if self.recorder is not None:
            for position, task in enumerate(tasks):
                task.position = position
        self.tasks = tasks

    # Running a step

    def launch(self) -> Sequence[o.Order]:
        """Start the planned tasks that have no saved outcome, or end the run."""
        if self.step + 1 > self.stop:
            return self.end(o.Broke(self._out_of_steps()))
        if not self.tasks:
            return self.end(self._done())
        before = self.limits.before
        if before and self.fresh and self._named(before, (t.task_node for t in self.tasks)):
            return self.pause(())
        if self.listener is not None:
            self.listener.planned(self, self.tasks)
        waiting = self.tasks
        self.ended_tasks = []
        self.failing = self.trouble = False
        if self.standing:
            waiting = self._waiting()
        if not waiting:
            return self.close()
        self.running = len(waiting)
        return (o.Start(waiting),)

    def _waiting(self) -> list[Task]:
        """Of the tasks that an earlier run began, those that have to run; what the others wrote is told again."""
        self.standing = False
        self.ended_tasks = [t for t in self.tasks if t.saved]
        self.trouble = any(t.status != DONE for t in self.ended_tasks)
        if self.listener is not None:
            for task in self.ended_tasks:
                if task.cached:
                    self.listener.ended(self, task)
        return [t for t in self.tasks if not t.saved]

    def _named(self, wanted: frozenset[str], nodes: Any) -> bool:
        return any(node.name in wanted or ("*" in wanted and not node.hidden) for node in nodes)

    def _out_of_steps(self) -> GraphRecursionError:
        limit = self.limits.recursion
        return GraphRecursionError(
            f"Recursion limit of {limit} reached without hitting a stop condition."
            " You can increase the limit by setting the `recursion_limit` config key.",
            component="graph",
            operation=self.program.name,
            details={"limit": str(limit), "next": ", ".join(t.node for t in self.tasks[:8])},
        )

    def _ended(self, event: o.TaskEnded) -> Sequence[o.Order]:
        task = event.task
        if task.status == FAILED and not self.failing and self.cancelled is None:
            policy = policy_for(task.task_node.retry, task.error) if task.task_node.retry else None
            if policy is not None and task.attempt < policy.max_attempts:
                return (o.Sleep(task, policy.delay(task.attempt, self.run.clock.random())),)
        self.running -= 1
        self.ended_tasks.append(task)
        if task.status != DONE:
            self.trouble = True
        if self.listener is not None:
            if task.swallowed:
                self.listener.noticed(self, "signal_swallowed", {"node": task.node})
            self.listener.ended(self, task)
        if not self.running:
            return self.close()
        stop: Sequence[o.Order] = ()
        if task.status == FAILED and not self.failing:
            self.failing = True
            stop = (o.Cancel([t for t in self.tasks if t.status == 0 and t is not task]),)
        if self.recorder is not None and self._worth_saving(task):
            self.save(task)
            return (*stop, *self.flush())
        return stop

    def _worth_saving(self, task: Task) -> bool:
        return task.status in (DONE, ASKED, FAILED) or (task.status == CANCELLED and task.error is not None)

    def save(self, task: Task) -> None:
        """Note a finished task of a step that is not closed."""
        assert self.recorder is not None
        self.dirty.extend(self.recorder.writes(self.checkpoint, task))
        task.saved = True

    def _timer(self, event: o.TimerFired) -> Sequence[o.Order]:
        task = event.task
        if self.failing or self.cancelled is not None:
            task.status = CANCELLED
            return self._ended(o.TaskEnded(task))
        task.status = 0
        return (o.Start((task,)),)

    # Closing a step

    def close(self) -> Sequence[o.Order]:
        """All tasks of the step have ended."""
        if self.cancelled is not None:
            return self.stop_short(o.Broke(self.cancelled))
        stop = self._why_stop()
        if stop is not None:
            return self.stop_short(stop)
        tasks = self.tasks
        changed, wrong = tried(self.program, self.values, tasks)
        if wrong is not None:
            return self.stop_short(o.Broke(wrong))
        self.apply(tasks, changed)
        return self.next_step(tasks)

    def close_with(self, tasks: Sequence[Task]) -> Sequence[o.Order]:
        """Close the input phase, whose one task needed no driver; its failure is the caller's, with nothing written."""
        self.apply(tasks, merge(self.program, self.values, tasks))
        return self.next_step(tasks)

    def _why_stop(self) -> o.Outcome | None:
        if not self.trouble:
            return None
        worst: Task | None = None
        for task in self.ended_tasks:
            if task.status != DONE and (worst is None or _badness(task) < _badness(worst)):
                worst = task
        if worst is None:
            return None
        if worst.status == BUBBLED:
            return o.Broke(ParentCommand(worst.value))
        if worst.status == DRAINED:
            return o.Broke(worst.value)
        if worst.status == ASKED:
            asked = [q for t in self.tasks if t.status == ASKED for q in t.questions]
            return o.Halted(self.output(partial=True), tuple(asked))
        return o.Broke(worst.error or RuntimeError(f"task {worst.node!r} ended without a result"))

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
                for node in _subscribed(program, values, moved):
                    names.add(node)
        if changed or names or sends:
            self.fresh = True
        self.written = changed
        self.step += 1
        self.source = "loop"
        self._plan_on_new(names, sends)

    def _plan_on_new(self, names: set[str], sends: Sequence[Send]) -> None:
        self.parent, self.checkpoint = self.checkpoint, self.new_id()
        self.rebase()
        self.plan(names, sends)

    def new_id(self) -> str:
        """The id of the next checkpoint: time-ordered where it is stored."""
        if self.recorder is None:
            return f"{self.run.run_id}.{self.step}"
        self.at = self.run.clock.now()
        return new_id(self.at, self.expect if self.expect is not None else self.parent)

    def next_step(self, ran: Sequence[Task]) -> Sequence[o.Order]:
        """Record the step, tell who listens, pause if a breakpoint says so, and go on once it is durable."""
        self.ran = tuple(t.node for t in ran)
        if self.recorder is not None:
            self.record(
                "loop",
                [(t.position, t.blob or b"") for t in ran],
                [t.refs for t in ran],
                [t.chunks for t in ran],
                drop=True,
            )
        if self.listener is not None:
            self.listener.stepped(self, self.written)
            if self.recorder is not None:
                self.listener.checkpointed(self)
        stop_after = self.limits.after
        if stop_after and self.fresh and self._named(stop_after, (t.task_node for t in ran)):
            return self.pause(())
        return self.after_commit(self.launch)

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
        ran = self.ran
        if self.null_parts:
            parts = [*((-1, blob) for blob in self.null_parts), *parts]
            ran = (*("" for _ in self.null_parts), *ran)
            refs = [self.null_refs, *refs]
            chunks = [*self.null_chunks, *chunks]
            self.null_parts, self.null_refs, self.null_chunks = [], (), []
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
                refs=[r for rs in refs for r in rs],
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

    # Ending

    def stop_short(self, outcome: o.Outcome) -> Sequence[o.Order]:
        """The step does not close: save every finished task, also the last one, so that none runs again."""
        if self.recorder is not None:
            for task in self.tasks:
                if not task.saved and self._worth_saving(task):
                    self.save(task)
        if isinstance(outcome, o.Halted) and self.listener is not None:
            self.listener.halted(self, outcome.questions)
        return self.end(outcome)

    def pause(self, questions: tuple[Any, ...]) -> Sequence[o.Order]:
        """Halt between two steps."""
        if self.listener is not None:
            self.listener.halted(self, questions)
        return self.end(o.Halted(self.output(), questions))

    def end(self, outcome: o.Outcome) -> Sequence[o.Order]:
        """Finish once all is durable."""
        return self.after_commit(lambda: (o.Finish(outcome),), last=True)

    def _done(self) -> o.Outcome:
        waiting = self._skipped()
        if waiting is not None:
            return o.Broke(waiting, self.output())
        return o.Ended(self.output())

    def _skipped(self) -> InvalidUpdateError | None:
        """Joins that have some of their sources and can get no more."""
        for join in self.program.joins.values():
            seen = self.values.get(join.channel)
            if not seen:
                continue
            got = seen[0] if isinstance(seen, tuple) else seen
            missing = sorted(set(join.sources) - set(got))
            if not missing:
                continue
            if self.listener is not None:
                self.listener.noticed(self, "join_skipped", {"join": join.target, "missing": missing})
            if self.program.strict and join.rule is None:
                return InvalidUpdateError(
                    f"The join of {list(join.sources)} into {join.target!r} waits for {missing}, which can no longer run."
                    ' State its rule: add_edge([...], target, join="all" | "activated").',
                    component="graph",
                    operation="join",
                    details={"join": join.target, "missing": ", ".join(missing)},
                )
        return None

    def output(self, partial: bool = False) -> Any:
        """The output keys' values; with ``partial``, the unfinished step's finished writes applied."""
        values = self.values
        done = [t for t in self.tasks if t.status == DONE] if partial else []
        if done:
            changed, _ = tried(self.program, values, done)
            values = {**values}
            store(values, changed)
        return self.program.output_view(values)

    # Commits: one in flight, what comes meanwhile waits in ``dirty``

    def after_commit(
        self, orders: Callable[[], Sequence[o.Order]], last: bool = False, wait: bool = False
    ) -> Sequence[o.Order]:
        """What ``orders`` gives, once all that was noted is durable; ``wait`` for it whatever the durability."""
        if self.recorder is None or not (self.dirty or self.committing):
            return orders()
        if self.durable != "sync" and not last and not wait:
            return (*self.flush(), *orders())
        self.then = (_Later(orders),)
        return () if self.committing else self.flush(last, wait)

    def flush(self, last: bool = False, wait: bool = False) -> Sequence[o.Order]:
        if not self.dirty or self.committing:
            return ()
        if self.durable == "exit" and not last and not wait:
            return ()
        self.committing = True
        records, self.dirty = self.dirty, []
        return (o.Commit(records, last),)

    def _committed(self, event: o.Committed) -> Sequence[o.Order]:
        self.committing = False
        if self.dirty:
            return self.flush(bool(self.then) and self.durable == "exit")
        then, self.then = self.then, ()
        if then and type(then[0]) is _Later:
            return then[0].orders()
        return then

    def _refused(self, event: o.CommitRefused) -> Sequence[o.Order]:
        self.committing = False
        self.dirty, self.then = [], ()
        self.recorder = None
        if self.running:
            self.failing = True
            self.cancelled = event.error
            return (o.Cancel([t for t in self.tasks if t.status == 0]),)
        return (o.Finish(o.Broke(event.error)),)

    def _cancelled(self, event: o.Cancelled) -> Sequence[o.Order]:
        self.cancelled = event.error
        if self.running:
            return (o.Cancel([t for t in self.tasks if t.status == 0]),)
        if self.committing:
            self.then = (o.Finish(o.Broke(event.error)),)
            return ()
        return self.end(o.Broke(event.error))


class _Later:
    """Orders that are made when their commit is done."""

    __slots__ = ("orders",)

    def __init__(self, orders: Callable[[], Sequence[o.Order]]) -> None:
        self.orders = orders


_RULES: dict[type, Callable[[Machine, Any], Sequence[o.Order]]] = {
    o.TaskEnded: Machine._ended,  # pyright: ignore[reportPrivateUsage]
    o.Committed: Machine._committed,  # pyright: ignore[reportPrivateUsage]
    o.TimerFired: Machine._timer,  # pyright: ignore[reportPrivateUsage]
    o.CommitRefused: Machine._refused,  # pyright: ignore[reportPrivateUsage]
    o.Cancelled: Machine._cancelled,  # pyright: ignore[reportPrivateUsage]
}


_BADNESS = {FAILED: 0, BUBBLED: 1, ASKED: 2, DRAINED: 3, CANCELLED: 4}


def _badness(task: Task) -> int:
    return _BADNESS.get(task.status, 5)


def _subscribed(program: Program, values: dict[str, Any], moved: Sequence[str]) -> set[str]:
    from_channels = {k: program.subscribers.get(k, ()) for k in moved}
    return {n for k, nodes in from_channels.items() if program.channels[k].get(values[k]) is not MISSING for n in nodes}


__all__ = ["Limits", "Listener", "Machine"]
