"""The engine as a pure machine: events in, orders out; it knows no I/O, no thread and no event loop.

One superstep: the tasks that were planned run; when all have ended their writes are merged in the order of their paths
(conflicts are found before anything is applied), the next tasks follow from edges, goto's and channels, and what
happened is committed before they start. What must wait for a commit is parked in one field, `then`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lawful.core.errors import GraphRecursionError
from lawful.core.retry import RetryPolicy, policy_for
from lawful.core.signals import GraphDrained, ParentCommand
from lawful.graph import orders as o
from lawful.graph.apply import merge, tried
from lawful.graph.caching import keeps
from lawful.graph.crowding import crowded
from lawful.graph.handling import can_handle, handler_of, placed
from lawful.graph.standing import Standing
from lawful.graph.step_task import ASKED, BUBBLED, CANCELLED, DONE, DRAINED, FAILED, HANDLED, PENDING, Task
from lawful.graph.timing import alarms, rang


class Machine(Standing):
    """One run of one graph in one namespace."""

    __slots__ = ()

    def advance(self, event: Any) -> Sequence[o.Order]:
        """Take one event, give the orders that follow; the same events give the same orders."""
        return _RULES[type(event)](self, event)

    # Running a step

    def launch(self) -> Sequence[o.Order]:
        """Start the planned tasks that have no saved outcome, or end the run."""
        if self.step + 1 > self.stop:
            return self.end(o.Broke(self._out_of_steps()))
        if not self.tasks:
            return self.finish(self._done()) if self.recorder is None else self.end(self._done())
        if self.draining is not None:
            return self.end(o.Broke(GraphDrained(self.draining)))
        before = self.limits.before
        if before and self.fresh and self._named(before, (t.task_node for t in self.tasks)):
            return self.pause((), "interrupt_before")
        if self.caching and (asking := [t for t in self.tasks if self._may_be_cached(t)]):
            return (o.Recall(asking),)
        return self.announce()

    def _may_be_cached(self, task: Task) -> bool:
        return task.task_node.cache is not None and task.status == PENDING and not task.saved and not task.questions

    def _recalled(self, event: o.Recalled) -> Sequence[o.Order]:
        """What the cache had stands as if it had been saved; the rest is started."""
        if self.cancelled is not None:
            return ()
        self.standing = self.standing or any(t.cached for t in event.tasks)
        return self.announce()

    def announce(self) -> Sequence[o.Order]:
        """Say what is planned, and start it."""
        if self.listener is not None:
            self.listener.planned(self, self.tasks)
        waiting = self.tasks
        self.ended_tasks = []
        self.failing = self.trouble = False
        if self.standing:
            waiting = self._waiting()
        if not waiting:
            return self.close()
        if len(self.tasks) > 1 and self.program.remembering and (wrong := crowded(self.program, self.tasks)):
            return self.end(o.Broke(wrong))
        self.running = len(waiting)
        return self.start(waiting) if self.timed or self.listener is not None else (o.Start(waiting),)

    def start(self, tasks: Sequence[Task]) -> Sequence[o.Order]:
        """Have an attempt of each made, and an alarm set for those that have a limit."""
        if self.listener is not None:
            self.listener.started(self, tasks)
        return (o.Start(tasks), *alarms(tasks)) if self.timed else (o.Start(tasks),)

    def _waiting(self) -> list[Task]:
        """Of the tasks that an earlier run began, those that have to run; what the others wrote is told again."""
        self.standing = False
        self.ended_tasks = [t for t in self.tasks if (t.saved or t.cached) and t.status != HANDLED]
        self.trouble = any(t.status != DONE for t in self.ended_tasks)
        if self.listener is not None:
            for task in self.ended_tasks:
                if task.cached:
                    self.listener.ended(self, task)
        return [t for t in self.tasks if not (t.saved or t.cached)]

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
        if self.caching and task.cache_key is not None and task.status == DONE:
            return self._kept(event)
        if task.status == FAILED and not self.failing and self.cancelled is None:
            orders = self._forgiven(task)
            if orders is not None:
                return orders
        if self.holder is not None:
            self.holder.touch()
        self.running -= 1
        self.ended_tasks.append(task)
        if task.status != DONE:
            self.trouble = True
        if task.swallowed or self.listener is not None:
            self._told(task)
        if not self.running:
            return self.close()
        stop: Sequence[o.Order] = ()
        if task.status == FAILED and not self.failing and not task.task_node.spares:
            self.failing = True
            stop = (o.Cancel([t for t in self.tasks if t.status == 0 and t is not task]),)
        if self.recorder is not None and self._worth_saving(task):
            self.save(task)
            return (*stop, *self.flush())
        return stop

    def _told(self, task: Task) -> None:
        if task.swallowed:
            self.notice("signal_swallowed", {"node": task.node, "signal": type(task.signal).__name__})
        if self.listener is not None:
            self.listener.ended(self, task)

    def _kept(self, event: o.TaskEnded) -> Sequence[o.Order]:
        """A node with a cache policy has a result."""
        task = event.task
        key, task.cache_key = task.cache_key, None
        kept = (o.Remember(task, key),) if keeps(task) else ()
        return (*kept, *self._ended(event))

    def _forgiven(self, task: Task) -> Sequence[o.Order] | None:
        """Another attempt of a failed task, or its error handler's; None where the failure is the run's."""
        policy = _policy(task)
        if policy is not None and task.attempt < policy.max_attempts:
            return self._retry(task, policy)
        if task.task_node.handler is not None and can_handle(task.error):
            return self._hand_over(task, task.task_node.handler)
        return None

    def _retry(self, task: Task, policy: RetryPolicy) -> Sequence[o.Order]:
        """Another attempt, in a slot of its own: what is left over of the one before stays closed out."""
        again = task.again()
        self.tasks = [again if t is task else t for t in self.tasks]
        delay = policy.delay(task.attempt, self.run.clock.random())
        if self.listener is not None:
            self.listener.retrying(self, task, delay)
        return (o.Sleep(again, delay),)

    def _hand_over(self, task: Task, name: str) -> Sequence[o.Order]:
        """The error handler takes a failed task over, in this step, once the error is durable."""
        if self.listener is not None:
            self.listener.ended(self, task)
        task.status = HANDLED
        handler = handler_of(self.program, self.base, task, name)
        self.tasks = placed(self.tasks, handler)
        if self.recorder is not None:
            self.save(task)
            self.recorder.empty(task)
        if self.fresh and self._named(self.limits.before, (handler.task_node,)):
            handler.status = ASKED  # without a question: the run pauses before it
            return self._ended(o.TaskEnded(handler))
        self.handling.append(handler)
        return self.after_commit(self._start_handlers)

    def _start_handlers(self) -> Sequence[o.Order]:
        """What the handlers take over is durable: start them, unless the step has failed meanwhile."""
        handlers, self.handling = self.handling, []
        if not self.failing and self.cancelled is None:
            if self.listener is not None:
                self.listener.planned(self, handlers)
            return self.start(handlers)
        for handler in handlers:
            handler.status = CANCELLED
        self.running -= len(handlers)
        self.ended_tasks.extend(handlers)
        self.trouble = True
        return self.close() if not self.running else ()

    def _rang(self, event: o.Rang) -> Sequence[o.Order]:
        return rang(event.task, event.now)

    def _drain(self, event: o.DrainAsked) -> Sequence[o.Order]:
        self.draining = event.reason
        return ()

    def _worth_saving(self, task: Task) -> bool:
        return task.status in (DONE, ASKED, FAILED) or (task.status == CANCELLED and task.error is not None)

    def _timer(self, event: o.TimerFired) -> Sequence[o.Order]:
        task = event.task
        if self.failing or self.cancelled is not None:
            task.status = CANCELLED
            return self._ended(o.TaskEnded(task))
        task.status = 0
        return self.start((task,))

    # Closing a step

    def close(self) -> Sequence[o.Order]:
        """All tasks of the step have ended."""
        if self.cancelled is not None:
            return self.stop_short(o.Broke(self.cancelled))
        stop = self._why_stop()
        if stop is not None:
            return self.stop_short(stop)
        tasks = self.tasks
        changed = tasks[0].alone() if len(tasks) == 1 else None
        if changed is None:
            changed, wrong = tried(self.program, self.values, tasks)
            if wrong is not None:
                return self.stop_short(o.Broke(wrong))
        if self.limits.sizes is not None:
            wrong = self.limits.sizes.refused(self.values, changed, tasks)
            if wrong is not None:
                return self.stop_short(o.Broke(wrong))
        self.apply(tasks, changed)
        return self.next_step(tasks)

    def close_with(self, tasks: Sequence[Task]) -> Sequence[o.Order]:
        """Close the input phase, whose one task needed no driver; its failure is the caller's, with nothing written."""
        changed = merge(self.program, self.values, tasks)
        if self.limits.sizes is not None:
            wrong = self.limits.sizes.refused(self.values, changed, tasks)
            if wrong is not None:
                raise wrong
        self.apply(tasks, changed)
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

    def next_step(self, ran: Sequence[Task]) -> Sequence[o.Order]:
        """Record the step, tell who listens, pause if a breakpoint says so, and go on once it is durable."""
        self.ran = tuple([t.node for t in ran])
        if self.program.direct:
            self.show(self.written)
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
        if stop_after and self.fresh and self._named(stop_after, (t.task_node for t in ran if t.status != HANDLED)):
            return self.pause((), "interrupt_after")
        return self.after_commit(self.launch)

    # Ending

    def stop_short(self, outcome: o.Outcome) -> Sequence[o.Order]:
        """The step does not close: save every finished task, also the last one, so that none runs again."""
        if self.recorder is not None:
            for task in self.tasks:
                if not task.saved and self._worth_saving(task):
                    self.save(task)
            if self.base.calls is not None:
                self.dirty.extend(self.base.calls.taken())
        if isinstance(outcome, o.Halted) and self.listener is not None:
            self.listener.halted(self, outcome.questions)
        return self.end(outcome)

    def pause(self, questions: tuple[Any, ...], why: str) -> Sequence[o.Order]:
        """Halt between two steps."""
        if self.listener is not None:
            self.listener.halted(self, questions)
        return self.end(o.Halted(self.output(), questions, why))

    def end(self, outcome: o.Outcome) -> Sequence[o.Order]:
        """Finish once all is durable."""
        self.put_rest(isinstance(outcome, o.Ended))
        return self.after_commit(lambda: self.finish(outcome), last=True)

    def finish(self, outcome: o.Outcome) -> Sequence[o.Order]:
        """The run is over, and who listens is told."""
        if self.listener is not None:
            self.listener.finished(self, outcome)
        return (o.Finish(outcome),)

    def _done(self) -> o.Outcome:
        waiting = self.skipped()
        if waiting is not None:
            return o.Broke(waiting, self.output())
        return o.Ended(self.output())

    # Commits: one in flight, what comes meanwhile waits in ``dirty``

    def after_commit(
        self, orders: Callable[[], Sequence[o.Order]], last: bool = False, wait: bool = False
    ) -> Sequence[o.Order]:
        """What ``orders`` gives, once all that was noted is durable; ``wait`` for it whatever the durability."""
        if wait:
            self.put_held()
        if self.recorder is None or not (self.dirty or self.committing):
            return orders()
        if self.durable != "sync" and not last and not wait:
            return (*self.flush(), *orders())
        self.then = orders
        return () if self.committing else self.flush(last, wait)

    def flush(self, last: bool = False, wait: bool = False) -> Sequence[o.Order]:
        if not self.dirty or self.committing:
            return ()
        if self.durable == "exit" and not last and not wait:
            return ()
        self.committing = True
        records, self.dirty = self.dirty, []
        return (o.Commit(records, last, self.durable == "async" and not last and not wait),)

    def _committed(self, event: o.Committed) -> Sequence[o.Order]:
        self.committing = False
        if self.dirty:
            return self.flush(bool(self.then) and self.durable == "exit")
        then, self.then = self.then, None
        return then() if then is not None else ()

    def _refused(self, event: o.CommitRefused) -> Sequence[o.Order]:
        self.committing = False
        self.dirty, self.then = [], None
        self.recorder = None
        self.running -= len(self.handling)
        self.handling = []
        if self.running:
            self.failing = True
            self.cancelled = event.error
            return (o.Cancel([t for t in self.tasks if t.status == 0]),)
        return self.finish(o.Broke(event.error))

    def _cancelled(self, event: o.Cancelled) -> Sequence[o.Order]:
        self.cancelled = event.error
        if self.running:
            return (o.Cancel([t for t in self.tasks if t.status == 0]),)
        if self.committing:
            self.then = lambda: self.finish(o.Broke(event.error))
            return ()
        return self.end(o.Broke(event.error))


_RULES: dict[type, Callable[[Machine, Any], Sequence[o.Order]]] = {
    o.TaskEnded: Machine._ended,  # pyright: ignore[reportPrivateUsage]
    o.Committed: Machine._committed,  # pyright: ignore[reportPrivateUsage]
    o.TimerFired: Machine._timer,  # pyright: ignore[reportPrivateUsage]
    o.Rang: Machine._rang,  # pyright: ignore[reportPrivateUsage]
    o.Recalled: Machine._recalled,  # pyright: ignore[reportPrivateUsage]
    o.DrainAsked: Machine._drain,  # pyright: ignore[reportPrivateUsage]
    o.CommitRefused: Machine._refused,  # pyright: ignore[reportPrivateUsage]
    o.Cancelled: Machine._cancelled,  # pyright: ignore[reportPrivateUsage]
}


_BADNESS = {FAILED: 0, BUBBLED: 1, ASKED: 2, DRAINED: 3, CANCELLED: 4}


def _policy(task: Task) -> RetryPolicy | None:
    """The retry policy that fits what the task failed with."""
    if not task.task_node.retry or task.error is None:
        return None
    return policy_for(task.task_node.retry, task.error)


def _badness(task: Task) -> int:
    return _BADNESS.get(task.status, 5)
