"""Every interleaving of tasks, commits, refusals and crashes of small graphs, held against the order that commits must have.

The driver here is a model that chooses what happens next; machine, sessions and journal are the real ones. What must hold
is written down in `Spec`, by what the journal holds and not by what the machine believes. Planted mutations of the
machine must be found.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, TypedDict, cast

import pytest

from lawful.core.errors import NetworkError, StoreFull
from lawful.graph import START, Command, StateGraph, interrupt
from lawful.graph import orders as o
from lawful.graph.attempt import attempt
from lawful.graph.machine import Machine
from lawful.graph.running import _take as take  # pyright: ignore[reportPrivateUsage]
from lawful.graph.session import Options, Session
from lawful.graph.step_task import CANCELLED, DONE, Task
from lawful.journal.memory import MemoryJournal
from lawful.journal.records import PutCheckpoint, PutWrites

pytestmark = pytest.mark.property

THREAD = "t"


class Log(TypedDict):
    log: Annotated[list[str], operator.add]


class Violated(AssertionError):
    """The machine did what `Spec` forbids."""


class Spec:
    """What must hold of one thread over all its lives."""

    def __init__(self, journal: MemoryJournal) -> None:
        self.journal = journal
        self.kept: set[str] = set()
        """Nodes whose result is durable: in a checkpoint, or among the writes of an open step."""
        self.names: dict[str, str] = {}
        self.refused = False

    def starts(self, machine: Machine, tasks: Sequence[Task], committing: bool) -> None:
        if self.refused:
            raise Violated("a task starts though a commit was refused")
        if committing or self.journal.chain(THREAD, "", machine.checkpoint) is None:
            raise Violated(f"{[t.node for t in tasks]} start before the step they follow from is durable")
        for task in tasks:
            self.names[task.id] = task.node
            if task.node in self.kept:
                raise Violated(f"{task.node} starts again though its result is durable")

    def commits(self, committing: bool) -> None:
        if committing:
            raise Violated("two commits are under way")

    def durable(self, order: o.Commit, ended: Sequence[Task]) -> None:
        for record in order.records:
            if isinstance(record, PutWrites) and record.writes.kind == "done":
                self.kept.add(self.names[record.writes.task])
            elif isinstance(record, PutCheckpoint):
                self.kept |= {t.node for t in ended if t.status == DONE}

    def finishes(self, ended: Sequence[Task], committing: bool) -> None:
        if committing:
            raise Violated("the run is over while a commit is under way")
        lost = {t.node for t in ended if t.status == DONE} - self.kept
        if lost and not self.refused:
            raise Violated(f"the run is over and the results of {sorted(lost)} are not durable")


class Life:
    """One run of the thread, until its end or a crash."""

    def __init__(self, graph: Any, spec: Spec, given: Any) -> None:
        self.spec = spec
        self.session = Session(graph, None, Options(thread=THREAD), None)
        take(self.session)
        self.machine = self.session.machine
        self.waiting: list[Task] = []
        self.ended: list[Task] = []
        self.flying: o.Commit | None = None
        self.outcome: o.Outcome | None = None
        self.carry(self.session.begin(given))

    def carry(self, orders: Sequence[o.Order]) -> None:
        for order in orders:
            match order:
                case o.Start(tasks):
                    self.spec.starts(self.machine, tasks, self.flying is not None)
                    self.waiting += tasks
                case o.Commit():
                    self.spec.commits(self.flying is not None)
                    self.flying = order
                case o.Cancel(tasks):
                    for task in [t for t in tasks if t in self.waiting]:
                        self.waiting.remove(task)
                        task.closed, task.status = True, CANCELLED
                        self.carry(self.machine.advance(o.TaskEnded(task)))
                case o.Finish(outcome):
                    self.spec.finishes(self.ended, self.flying is not None)
                    self.outcome = outcome
                case _:
                    raise AssertionError(order)

    def choices(self) -> list[Callable[[], None]]:
        if self.outcome is not None:
            return []
        found: list[Callable[[], None]] = [lambda task=task: self.run(task) for task in self.waiting]
        return [*found, self.commit] if self.flying is not None else found

    def run(self, task: Task) -> None:
        self.waiting.remove(task)
        attempt(task, self.machine.recorder)
        self.ended.append(task)
        self.carry(self.machine.advance(o.TaskEnded(task)))

    def commit(self) -> None:
        order, self.flying = self.flying, None
        assert order is not None
        assert self.session.deal is not None
        self.session.deal.journal.commit(self.session.deal.batch(order))
        self.spec.durable(order, self.ended)
        self.carry(self.machine.advance(o.Committed()))

    def refuse(self) -> None:
        self.flying = None
        self.spec.refused = True
        self.carry(self.machine.advance(o.CommitRefused(StoreFull("disk full"))))


Build = Callable[[], StateGraph[Any]]


def say(name: str) -> Callable[[Log], Log]:
    def node(state: Log) -> Log:
        return {"log": [name]}

    node.__name__ = name
    return node


def fan(b: Callable[[Any], Any]) -> StateGraph[Any]:
    """a and b side by side, then c; their names are in the order of their paths."""
    graph = StateGraph(Log).add_node("a", say("a")).add_node("b", b).add_node("c", say("c"))
    return graph.add_edge(START, "a").add_edge(START, "b").add_edge(["a", "b"], "c")


def plain() -> StateGraph[Any]:
    return fan(say("b"))


def three() -> StateGraph[Any]:
    """Three side by side, so that one ends while another's result is being written and the third still runs."""
    graph = StateGraph(Log)
    for name in ("a", "b", "b2", "c"):
        graph.add_node(name, say(name))
    for name in ("a", "b", "b2"):
        graph.add_edge(START, name)
    return graph.add_edge(["a", "b", "b2"], "c")


def failing() -> StateGraph[Any]:
    """b fails the first time."""
    failed: list[int] = []

    def b(state: Log) -> Log:
        if not failed:
            failed.append(1)
            raise NetworkError("down")
        return {"log": ["b"]}

    return fan(b)


def asking() -> StateGraph[Any]:
    """b asks."""

    def b(state: Log) -> Log:
        return {"log": [interrupt("what?")]}

    return fan(b)


def lives(build: Build, decide: Iterator[int], options: list[int], troubles: int) -> None:
    """A thread from its input to its end; ``decide`` gives the choices, ``options`` notes how many there were."""
    journal = MemoryJournal()
    graph = build().compile(journal)
    spec = Spec(journal)
    given: Any = {"log": ["in"]}
    outcome: o.Outcome | None = None
    for _ in range(6):
        life = Life(graph, spec, given)
        while (choices := life.choices()) and life.outcome is None:
            able: list[Callable[[], None] | str] = [*choices]
            if troubles:
                able += ["crash", *(["refuse"] if life.flying is not None else [])]
            options.append(len(able))
            chosen = able[next(decide, 0)]
            if chosen == "crash":
                troubles -= 1
                break
            if chosen == "refuse":
                troubles -= 1
                life.refuse()
            else:
                cast("Callable[[], None]", chosen)()
        for task in life.waiting:
            task.closed = True
        life.session.close()
        spec.refused = False
        outcome = life.outcome
        if isinstance(outcome, o.Ended):
            break
        if isinstance(outcome, o.Halted):
            given = Command(resume=[question.answer("b") for question in outcome.questions])
        else:
            given = None if journal.chain(THREAD) is not None else {"log": ["in"]}
    assert isinstance(outcome, o.Ended)
    if outcome.output != {"log": ["in", *sorted(graph.nodes)]}:
        raise Violated(f"it ends in {outcome.output}")


def every_way(build: Build, troubles: int) -> int:
    """Goes through all interleavings, and gives how many there are."""
    todo: list[list[int]] = [[]]
    count = 0
    while todo:
        path = todo.pop()
        options: list[int] = []
        lives(build, iter(path), options, troubles)
        count += 1
        for at in range(len(path), len(options)):
            todo += ([*path, *[0] * (at - len(path)), other] for other in range(1, options[at]))
    return count


@pytest.mark.parametrize(
    "build, troubles, at_least", [(plain, 2, 500), (three, 1, 500), (failing, 1, 50), (asking, 1, 50)]
)
def test_every_interleaving_keeps_the_order_of_commits(build: Build, troubles: int, at_least: int) -> None:
    """Rows: S0-211. Rules: 90."""
    assert every_way(build, troubles) >= at_least


def _no_wait(self: Machine, orders: Any, last: bool = False, wait: bool = False) -> Any:
    return (*self.flush(), *orders())


def _nothing_saved(self: Machine, task: Task) -> bool:
    return False


def _flush_always(self: Machine, last: bool = False, wait: bool = False) -> Any:
    if not self.dirty:
        return ()
    self.committing = True
    records, self.dirty = self.dirty, []
    return (o.Commit(records, last),)


def _goes_on(self: Machine, event: o.CommitRefused) -> Any:
    self.committing = False
    then, self.then = self.then, None
    return then() if then is not None else ()


@pytest.mark.parametrize(
    "name, mutant, said",
    [
        ("after_commit", _no_wait, "before the step they follow from is durable|while a commit is under way"),
        ("_worth_saving", _nothing_saved, "starts again|are not durable"),
        ("flush", _flush_always, "two commits are under way|commit is under way"),
    ],
)
def test_a_machine_that_breaks_a_rule_is_found(
    name: str, mutant: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows: S0-211."""
    monkeypatch.setattr(Machine, name, mutant)
    with pytest.raises(Violated, match=said):
        _ = [every_way(build, troubles) for build, troubles in ((failing, 1), (asking, 1), (three, 0))]


def test_a_machine_that_goes_on_after_a_refusal_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows: S0-211."""
    rules = cast("dict[type, Any]", vars(sys.modules[Machine.__module__])["_RULES"])
    monkeypatch.setitem(rules, o.CommitRefused, _goes_on)
    with pytest.raises(Violated, match=r"though a commit was refused|before the step"):
        every_way(plain, 1)
