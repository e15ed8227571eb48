"""How a run begins: with new input, with a Command, or going on from where its thread stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from lawful.core.errors import (
    EmptyInputError,
    InvalidUpdateError,
    nearest,
)
from lawful.core.questions import Principal, Question
from lawful.graph import orders as o
from lawful.graph.answers import answer
from lawful.graph.apply import finish, merge, store
from lawful.graph.calls import Calls
from lawful.graph.command import ROOT, START, Command
from lawful.graph.direct import straight_in
from lawful.graph.fitting import compatible
from lawful.graph.handling import placed, standing_handler
from lawful.graph.machine import Machine
from lawful.graph.notes import close_stored
from lawful.graph.persist import NULL_TASK
from lawful.graph.program import Node
from lawful.graph.restored import Done, Restored, Saved
from lawful.graph.standing import subscribed
from lawful.graph.step_task import DONE, HANDLED, Task


class Seed:
    """What a run begins from."""

    __slots__ = ("by", "fork", "given", "head", "restored")

    def __init__(
        self,
        given: Any,
        restored: Restored | None,
        *,
        head: str | None = None,
        fork: bool = False,
        by: Principal | str = "",
    ) -> None:
        self.given = given
        self.restored = restored
        self.head = head
        """The namespace's newest checkpoint, which the next one must follow."""
        self.fork = fork
        """Whether ``restored`` is not the newest: time travel."""
        self.by = by


def begin(m: Machine, seed: Seed) -> Sequence[o.Order]:
    """The first orders of a run.

    Raises, with nothing written: EmptyInputError, InvalidUpdateError for input that the state refuses, UnknownQuestion,
    AlreadyAnswered, ResumeRefused, RuntimeError for an ambiguous answer.
    """
    if seed.restored is not None:
        _stand_on(m, seed)
    m.expect = seed.head
    given: Any = seed.given
    if isinstance(given, Command):
        return _command(m, seed, cast("Command[Any]", given))
    if seed.given is None:
        return _go_on(m, seed)
    return _new_input(m, seed)


def _stand_on(m: Machine, seed: Seed) -> None:
    restored = seed.restored
    assert restored is not None
    m.values = restored.values
    m.visits = restored.visits
    m.step = restored.row.step
    m.source = restored.row.source
    m.checkpoint = restored.row.id
    m.parent = restored.row.parent
    m.fresh = restored.head.fresh
    m.stop = m.step + 1 + m.limits.recursion + 1
    if m.recorder is not None:
        m.recorder.known |= restored.known
        m.recorder.stood = restored.row.id, restored.row.metadata
        m.recorder.merges, m.recorder.print = restored.merges, restored.then
        m.recorder.weight = restored.row.weight if restored.row.snapshot is None else 0
    m.rebase()
    m.answers.update(restored.answers)
    m.null_parts = restored.null_parts
    m.null_refs = restored.null_refs


def stand(m: Machine, restored: Restored) -> None:
    """Make the tasks that the checkpoint planned, with what they had saved."""
    compatible(m.program, m.run.thread or "", restored)
    tasks: list[Task] = []
    for entry in restored.head.tasks:
        node = m.program.nodes[entry[0]]
        task = m.task(node, entry[1], entry[2] if len(entry) > 2 else None)
        if entry[0] == START:
            task.given = entry[2]
        elif entry[1] >= 0:
            task.timeout = entry[3]
            m.timed = m.timed or task.timeout is not None
        task.position = len(tasks)
        saved = restored.saved.get(task.id)
        if saved is not None:
            _saved(task, saved)
            if saved.lifted and m.recorder is not None:
                m.recorder.seal(task)
        tasks.append(task)
        if saved is not None and (handler := _handler(m, task, saved, restored)) is not None:
            tasks.append(handler)
    m.tasks = tasks
    m.standing = True
    planned = {task.id for task in tasks}
    called = {id: saved for id, saved in restored.saved.items() if id not in planned}
    if called:
        m.base.calls = Calls(called)
        close_stored(m.base, called.values())


def _handler(m: Machine, task: Task, saved: Saved, restored: Restored) -> Task | None:
    """The error handler that had taken the task over: it runs again, and the task does not."""
    handler = standing_handler(m.program, m.base, task, saved.error)
    if handler is None or m.recorder is None:
        return None
    task.status, task.saved = HANDLED, True
    m.recorder.empty(task)
    own = restored.saved.get(handler.id)
    if own is not None:
        _saved(handler, own)
    return handler


def _saved(task: Task, saved: Saved) -> None:
    if saved.done is not None:
        done = Done(task.node, task.task_node, saved.done)
        task.writes, task.targets, task.sends = done.writes, done.targets, done.sends
        task.status, task.saved, task.cached = DONE, True, True
        task.blob, task.refs = saved.blob, saved.refs
    else:
        task.questions = saved.questions


# New input


def _new_input(m: Machine, seed: Seed) -> Sequence[o.Order]:
    if m.program.direct:
        return straight_in(m, seed.given, seed.restored, keeps=seed.restored is None or seed.fork)
    writes = m.program.input_writes(seed.given)
    _tell_unknown(m, seed.given, writes)
    dropped: list[Node] = []
    if seed.restored is None:
        m.step = -2
    else:
        compatible(m.program, m.run.thread or "", seed.restored, pending=False)
        dropped = [m.program.nodes[n] for n in seed.restored.head.names if n in m.program.nodes]
    parts = discard(m, dropped)
    m.step += 1
    m.stop = m.step + 1 + m.limits.recursion
    m.parent = m.checkpoint if seed.restored is not None else None
    m.checkpoint = m.new_id()
    m.rebase()
    start = m.task(m.program.start)
    if m.recorder is not None or m.program.start.routers:
        start.given = dict(writes) if ROOT not in m.program.channels else seed.given
    m.tasks = [start]
    m.source = "input"
    m.fresh = True
    if dropped:
        m.ran = tuple(n.name for n in dropped)
        for name in set(m.ran):
            m.visits[name] = m.visits.get(name, 0) + 1
    if m.recorder is not None:
        if seed.fork and seed.restored is not None:
            m.recorder.of = seed.restored.row.id
        m.record("input", parts, [], [], drop=seed.restored is not None and not seed.fork)
        if m.listener is not None:
            m.listener.checkpointed(m)
    if m.program.start.routers:
        return m.after_commit(m.launch)
    return _started(m, start, writes)


def _tell_unknown(m: Machine, given: Any, writes: Sequence[Any]) -> None:
    """Keys that the input's schema does not have are left out; of a run's own input, strictly, not in silence."""
    if type(given) is not dict or m.run.parent is not None or not m.program.strict:
        return
    told = cast("dict[Any, Any]", given)
    if len(writes) >= len(told):
        return
    keys = m.program.input_keys
    for key in (k for k in told if k not in keys and ROOT not in keys):
        m.notice("input_dropped", {"key": key, "why": f"the input does not have it.{nearest(str(key), keys)}"})


def discard(m: Machine, dropped: Sequence[Node]) -> list[tuple[int, bytes]]:
    """New input ends an unfinished step: its triggers are consumed, what its tasks had saved is dropped."""
    program = m.program
    if not dropped or not (program.consuming or program.clearing):
        return []
    empty: list[Any] = [[], None, None]
    store(m.values, merge(program, m.values, [Done(n.name, n, empty) for n in dropped]))
    if m.recorder is None:
        return []
    blob = m.recorder.encode(empty, "input").blob
    return [(-2, blob) for _ in dropped]


def _started(m: Machine, start: Task, writes: list[tuple[str, Any]]) -> Sequence[o.Order]:
    """The input phase without a conditional entry: no user code runs, so no driver is needed."""
    start.begin()
    start.writes = [*writes]
    return _entered(m, start)


def _entered(m: Machine, start: Task) -> Sequence[o.Order]:
    start.writes.extend(start.task_node.marks)
    start.status = DONE
    if m.recorder is not None:
        m.recorder.seal(start)
    return m.close_with([start])


# Going on


def _go_on(m: Machine, seed: Seed) -> Sequence[o.Order]:
    if seed.restored is None:
        raise EmptyInputError(
            f"Received no input for {START}: this thread has nothing to go on from",
            component="graph",
            operation=m.program.name,
        )
    if seed.fork:
        _branch(m, seed.restored)
    else:
        stand(m, seed.restored)
    return _resume(m)


def _branch(m: Machine, restored: Restored) -> None:
    """Replay from an older checkpoint: a sibling of what followed it, with nothing that followed it."""
    restored.saved, restored.answers = {}, {}
    assert m.recorder is not None
    m.recorder.of = restored.row.id
    # A nested graph may go on in a namespace of its own: there nothing comes before.
    m.parent, m.checkpoint = (m.checkpoint if restored.row.ns == m.ns else None), m.new_id()
    m.step += 1
    m.null_parts, m.null_refs = [], ()
    m.rebase()
    stand(m, restored)
    m.source = "fork"
    aim: Any = m.run.shared.get("aim")
    if aim is not None:
        aim.follow(restored, m.program, m.tasks)
    m.ran = (START,) if restored.row.source == "input" else tuple(restored.head.ran)
    m.record("fork", [], [], [], drop=False, whole=True)
    if m.listener is not None:
        m.listener.checkpointed(m)


def _resume(m: Machine) -> Sequence[o.Order]:
    m.fresh = False
    m.show(None)
    if m.listener is not None:
        m.listener.stepped(m, None)
    if not m.tasks:
        return m.end(o.Ended(m.output()))
    return m.after_commit(m.launch)


# Commands


def _command(m: Machine, seed: Seed, command: Command[Any]) -> Sequence[o.Order]:
    if command.graph is not None:
        raise InvalidUpdateError("There is no parent graph", component="graph", operation="input")
    resumes = command.resume is not None
    if resumes and m.recorder is None:
        raise RuntimeError("Cannot use Command(resume=...) without checkpointer")
    if not resumes and command.update is None and not command.goto:
        raise EmptyInputError("Received an empty Command: nothing to write, go to or answer", component="graph")
    restored = seed.restored
    if restored is None:
        m.rebase()
    null = _null_task(m, command)
    if restored is None:
        if null is not None and not m.program.direct:
            return _first_command(m, Command(update=command.update, goto=command.goto))
        _virgin(m)
    elif seed.fork:
        asked = {q.id: q for s in restored.saved.values() for q in s.questions}
        _branch(m, restored)
        return _answered(m, seed, command, null, asked)
    else:
        stand(m, restored)
    asked = {q.id: q for t in m.tasks for q in t.questions}
    return _answered(m, seed, command, null, asked)


def _first_command(m: Machine, command: Command[Any]) -> Sequence[o.Order]:
    """A Command is the first input of its thread: the graph begins as with any input, and at its goto too."""
    _virgin(m, command)
    [start] = m.tasks
    if m.recorder is not None and m.listener is not None:
        m.listener.checkpointed(m)
    if start.task_node.routers:
        return m.after_commit(m.launch)
    start.begin()
    start.to_write()
    start.task_node.accept(start, command)
    return _entered(m, start)


def _virgin(m: Machine, first: Command[Any] | None = None) -> None:
    """An empty checkpoint for what follows to stand on."""
    m.step = -1
    m.stop = m.step + 1 + m.limits.recursion
    m.parent = None
    m.checkpoint = m.new_id()
    m.rebase()
    m.tasks = []
    if first is not None:
        m.fresh = True
        m.tasks.append(m.task(m.program.start))
        m.tasks[0].given = first
    m.source = "input"
    if m.recorder is not None:
        m.record("input", [], [], [], drop=False)


def _answered(
    m: Machine, seed: Seed, command: Command[Any], null: Task | None, asked: dict[str, Question]
) -> Sequence[o.Order]:
    if command.resume is not None:
        answer(m, command.resume, asked, seed.by, alone=null is None)
    if null is not None:
        _write_null(m, null)
    m.fresh = False
    m.show(None)
    if m.listener is not None:
        m.listener.stepped(m, None)
    if not m.tasks:
        return m.end(o.Ended(m.output()))
    # A nested graph reads its answers from the journal.
    return m.after_commit(m.launch, wait=command.resume is not None)


def _null_task(m: Machine, command: Command[Any]) -> Task | None:
    """The command's update and goto, read and checked as a node's would be."""
    if command.update is None and not command.goto:
        return None
    node = Node.inert("__input__")
    task = m.task(node)
    task.begin()
    task.to_write()
    m.program.acceptor.command(task, Command(update=command.update, goto=command.goto))
    task.status = DONE
    return task


def _write_null(m: Machine, null: Task) -> None:
    store(m.values, merge(m.program, m.values, (null,)))
    handlers = [t for t in m.tasks if t.origin is not None]
    planned = [t for t in m.tasks if t.origin is None]
    names = {t.node for t in planned if t.index < 0}
    pulled = [t for t in planned if t.index < 0]
    pulled += [m.task(m.program.nodes[n]) for n in dict.fromkeys(null.targets or ()) if n not in names]
    pulled.sort(key=lambda t: t.node)
    pushed = [t for t in planned if t.index >= 0]
    for packet in null.sends or ():
        task = m.task(m.program.nodes[packet.node], len(pushed), packet.arg)
        task.timeout = packet.timeout
        m.timed = m.timed or task.timeout is not None
        pushed.append(task)
    if not pulled and not pushed and m.program.finishing:  # a deferred node, and nothing else to wait for
        waiting = subscribed(m.program, m.values, finish(m.program, m.values))
        pulled = [m.task(m.program.nodes[n]) for n in sorted(waiting)]
    m.tasks = [*pulled, *pushed]
    for position, task in enumerate(m.tasks):
        task.position = position
    for handler in handlers:
        m.tasks = placed(m.tasks, handler)
    if m.recorder is None:
        return
    m.recorder.seal(null)
    m.null_parts = [*m.null_parts, null.blob or b""]
    m.null_refs = (*m.null_refs, *null.refs)
    m.null_chunks.append(null.chunks)
    if m.held is None:
        m.dirty.extend(m.recorder.null_records(m.checkpoint, m.null_parts, m.null_refs, [null.chunks]))


__all__ = ["NULL_TASK", "Seed", "begin", "discard", "stand"]
