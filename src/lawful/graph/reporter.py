"""The events of one machine: what it does, told to the root run's `Teller`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from lawful.core import events as ev
from lawful.core.errors import LeaseLost
from lawful.core.signals import GraphDrained, ParentCommand
from lawful.core.teller import Teller, code_of
from lawful.graph import orders as o
from lawful.graph.channels import MISSING
from lawful.graph.command import ROOT
from lawful.graph.standing import Standing
from lawful.graph.step_task import ASKED, BUBBLED, CANCELLED, DONE, DRAINED, Task


class Reporter:
    """Listens to one machine and tells its events; nothing is told of hidden nodes."""

    __slots__ = ("_spans", "_teller")

    def __init__(self, teller: Teller) -> None:
        self._teller = teller
        self._spans: dict[str, str] = {}
        """By task id, the span of the attempt that runs."""

    def _tell(self, machine: Standing, event: ev.Event) -> None:
        self._teller.tell(machine.run, event)

    def planned(self, machine: Standing, tasks: Sequence[Task]) -> None:
        """Told when they start, attempt by attempt."""

    def started(self, machine: Standing, tasks: Sequence[Task]) -> None:
        for task in tasks:
            if not task.task_node.hidden:
                number = task.attempt + 1
                span = self._spans[task.id] = f"{task.id}#{number}"
                if task.called:
                    self._tell(machine, ev.TaskStarted(task.node, span))
                else:
                    self._tell(machine, ev.NodeStarted(task.node, span, task.base.step, number))

    def retrying(self, machine: Standing, task: Task, delay: float) -> None:
        span = self._spans.pop(task.id, None)
        if span is not None:
            self._tell(machine, failed(task, span))
        self._tell(machine, ev.RetryScheduled(task.node, task.attempt, delay))

    def ended(self, machine: Standing, task: Task) -> None:
        span = self._spans.pop(task.id, None)
        if span is None:
            return  # saved by an earlier run, or hidden: it did not start here
        if task.status == ASKED and not task.called:
            for question in task.questions:
                self._tell(machine, ev.Interrupted(task.node, question.id))
        if task.status not in (DONE, BUBBLED):
            self._tell(machine, failed(task, span))
        elif task.called:
            self._tell(machine, ev.TaskEnded(task.node, span))
        else:
            self._tell(machine, ev.NodeEnded(task.node, span))

    def stepped(self, machine: Standing, changed: dict[str, Any] | None) -> None:
        if changed is None or any(changed.get(k, MISSING) is not MISSING for k in machine.program.output_keys):
            shown: Any = machine.output()
            told = cast("dict[str, Any]", shown) if isinstance(shown, dict) else {ROOT: shown}
            self._tell(machine, ev.StateUpdated(told))

    def checkpointed(self, machine: Standing) -> None:
        self._tell(machine, ev.Checkpointed(machine.checkpoint, machine.ns, machine.step))

    def halted(self, machine: Standing, questions: Sequence[Any]) -> None:
        """The end of the run tells it."""

    def noticed(self, machine: Standing, what: str, details: dict[str, Any]) -> None:
        if what == "signal_swallowed":
            self._tell(machine, ev.SignalSwallowed(details["node"], details.get("signal", "")))
        elif what == "join_skipped":
            self._tell(machine, ev.JoinSkipped(details["join"], tuple(details["missing"])))

    def finished(self, machine: Standing, outcome: o.Outcome) -> None:
        thread = machine.run.thread
        match outcome:
            case o.Ended():
                self._tell(machine, ev.RunFinished(thread))
            case o.Halted():
                asked = tuple(question.id for question in outcome.questions)
                self._tell(machine, ev.RunFinished(thread, "interrupt", asked))
            case o.Broke(error):
                if isinstance(error, LeaseLost):
                    self._tell(machine, ev.LeaseLost(thread or ""))
                self._tell(machine, broken(thread, error))


def broken(thread: str | None, error: BaseException) -> ev.RunFinished | ev.RunFailed:
    """The end of a run that left by an exception: a drain and a command to the parent are no failures."""
    if isinstance(error, GraphDrained):
        return ev.RunFinished(thread, "drained")
    if isinstance(error, ParentCommand):
        return ev.RunFinished(thread)
    return ev.RunFailed(code_of(error), str(error))


def failed(task: Task, span: str) -> ev.NodeFailed | ev.TaskFailed:
    """How an attempt ended that did not return."""
    kind = ev.TaskFailed if task.called else ev.NodeFailed
    if task.status == ASKED:
        return kind(task.node, span, "interrupt")
    if task.status == DRAINED:
        return kind(task.node, span, "drained")
    if task.error is not None:
        return kind(task.node, span, code_of(task.error), str(task.error))
    return kind(task.node, span, "cancelled" if task.status == CANCELLED else "failed")


class Both:
    """Two listeners as one."""

    __slots__ = ("_first", "_second")

    def __init__(self, first: Any, second: Any) -> None:
        self._first = first
        self._second = second

    def planned(self, machine: Standing, tasks: Sequence[Task]) -> None:
        self._first.planned(machine, tasks)
        self._second.planned(machine, tasks)

    def started(self, machine: Standing, tasks: Sequence[Task]) -> None:
        self._first.started(machine, tasks)
        self._second.started(machine, tasks)

    def retrying(self, machine: Standing, task: Task, delay: float) -> None:
        self._first.retrying(machine, task, delay)
        self._second.retrying(machine, task, delay)

    def ended(self, machine: Standing, task: Task) -> None:
        self._first.ended(machine, task)
        self._second.ended(machine, task)

    def stepped(self, machine: Standing, changed: dict[str, Any] | None) -> None:
        self._first.stepped(machine, changed)
        self._second.stepped(machine, changed)

    def checkpointed(self, machine: Standing) -> None:
        self._first.checkpointed(machine)
        self._second.checkpointed(machine)

    def halted(self, machine: Standing, questions: Sequence[Any]) -> None:
        self._first.halted(machine, questions)
        self._second.halted(machine, questions)

    def noticed(self, machine: Standing, what: str, details: dict[str, Any]) -> None:
        self._first.noticed(machine, what, details)
        self._second.noticed(machine, what, details)

    def finished(self, machine: Standing, outcome: o.Outcome) -> None:
        self._first.finished(machine, outcome)
        self._second.finished(machine, outcome)
