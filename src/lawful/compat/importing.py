"""LangGraph's threads as threads of ours: their history, and a paused step with its questions, answers and saved writes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from msgspec import Struct

from lawful.compat.envelope import Asked, Delta, Envelope, register_kept
from lawful.compat.folding import Pieces
from lawful.compat.tables import StoredCheckpoint, StoredWrite, Tables
from lawful.core.codec import Registry
from lawful.core.codec import default as default_registry
from lawful.core.context import Run
from lawful.core.errors import Failure, StoreError, ValidationError
from lawful.core.questions import Question
from lawful.graph.asking import question_id
from lawful.graph.command import START, Send
from lawful.graph.persist import HEAD_VERSION, NULL_TASK, pack, parents_of
from lawful.graph.policies import stored_timeout
from lawful.graph.program import Node, Program
from lawful.graph.step_task import Base, Task
from lawful.journal.checks import SOURCES
from lawful.journal.ids import thread_key
from lawful.journal.port import Journal
from lawful.journal.records import (
    Answer,
    Batch,
    Checkpoint,
    PutAnswer,
    PutCheckpoint,
    PutChunks,
    PutWrites,
    Record,
    TaskWrites,
)

SENDS = "__pregel_tasks"
BRANCH = "branch:to:"
JOIN = "join:"
HIDDEN = frozenset({"__no_writes__", "__return__", "__scheduled__", "__error__", "__error_source_node__"})


class Imported(Struct, frozen=True):
    """What became of one thread."""

    thread: str
    checkpoints: int = 0
    questions: tuple[Question, ...] = ()
    """What it waits for, under the ids that answers are given by here."""
    waits: tuple[str, ...] = ()
    """The nodes that are to run next."""
    left: tuple[str, ...] = ()
    """Namespaces of subgraphs that had ended: no run goes on from them, so they are not taken over."""
    error: Failure | None = None
    """Why it was not imported; nothing of it is in the journal then."""


def import_threads(tables: Tables, journal: Journal, *, program: Program | None = None) -> Iterator[Imported]:
    """Bring every thread of ``tables`` into ``journal``, each whole or not at all.

    ``program`` is the ported graph's (``graph.program``): it names the classes that its state holds, and its subgraphs.
    LangGraph and langchain need not be installed.
    """
    envelope = Envelope(program.registry if program is not None else default_registry)
    for thread in tables.threads():
        try:
            yield import_thread(tables, journal, thread, envelope, program)
        except Failure as error:
            yield Imported(thread, error=error)


def import_thread(
    tables: Tables, journal: Journal, thread: str, envelope: Envelope, program: Program | None
) -> Imported:
    """Raises: StoreError for a thread that is here already; UnknownType; ValidationError for what cannot be said here."""
    if journal.info(thread_key(thread)) is not None:
        raise StoreError(f"thread {thread!r} is in the journal already", component="compat", operation="import")
    found: dict[str, list[StoredCheckpoint]] = {}
    for each in tables.checkpoints(thread, envelope):
        found.setdefault(each.ns, []).append(each)
    work = _Thread(tables, thread, envelope, program, found)
    records = work.namespace("", "", "", program, {})
    journal.commit(Batch(thread_key(thread), tuple(records)))
    left = tuple(sorted(ns for ns in found if ns not in work.taken))
    return Imported(thread, work.count, tuple(work.questions), tuple(work.waits), left)


class _Thread:
    """One thread on its way."""

    def __init__(
        self,
        tables: Tables,
        thread: str,
        envelope: Envelope,
        program: Program | None,
        found: Mapping[str, list[StoredCheckpoint]],
    ) -> None:
        self.tables = tables
        self.thread = thread
        self.envelope = envelope
        self.found = found
        base = program.registry if program is not None else default_registry
        self.registry: Registry = register_kept(base.child())
        self.run = Run(run_id="", thread=thread, lineage=thread_key(thread))
        self.name = program.name if program is not None else ""
        self.taken: set[str] = set()
        self.questions: list[Question] = []
        self.waits: list[str] = []
        self.count = 0

    # One namespace

    def namespace(self, old: str, ns: str, path: str, program: Program | None, more: Mapping[str, Any]) -> list[Record]:
        """The records of LangGraph's namespace ``old`` as our ``ns``."""
        out: list[Record] = []
        self.taken.add(old)
        rows = self.found.get(old, [])
        for place, row in enumerate(rows):
            before = next((r for r in rows if r.id == row.parent), None)
            plan = _Plan(row, self.sends_of(old, before, row))
            out += self.checkpoint(ns, row, before, plan, more)
            if place == len(rows) - 1:
                out += self.pending(old, ns, path, row, plan, program, more)
        return out

    def sends_of(self, ns: str, before: StoredCheckpoint | None, row: StoredCheckpoint) -> Sequence[Send]:
        """The packets to be sent: a channel of the checkpoint; before version 4, writes beside the one before it."""
        if row.checkpoint.get("v", 1) >= 4 or before is None:
            return cast("Sequence[Send]", row.checkpoint["channel_values"].get(SENDS) or ())
        writes = self.tables.writes(self.thread, ns, before.id, self.envelope)
        return [write.value for write in writes if write.channel == SENDS]

    def checkpoint(
        self, ns: str, row: StoredCheckpoint, before: StoredCheckpoint | None, plan: _Plan, more: Mapping[str, Any]
    ) -> list[Record]:
        where = f"thread {self.thread!r}, checkpoint {row.id}"
        self._whole(row, where)
        values = {k: _value(k, v) for k, v in row.checkpoint["channel_values"].items() if _is_state(k, v, row)}
        pieces = Pieces(self.registry)
        snapshot = pieces.encode([values, {}, None, {}, None], where)
        head = pieces.encode([HEAD_VERSION, plan.tasks, [], True, False, None], where)
        self.count += 1
        source = row.metadata.get("source")
        made = Checkpoint(
            ns=ns,
            id=row.id,
            parent=before.id if before is not None else None,
            step=int(row.metadata.get("step", -1)),
            source=source if source in SOURCES else "loop",
            at=_at(row.checkpoint),
            head=head,
            snapshot=snapshot,
            refs=tuple(pieces.found),
            metadata={**_kept(row.metadata), **({"_graph": self.name} if self.name and not ns else {}), **more},
        )
        chunks = [PutChunks(pieces.found)] if pieces.found else []
        return [*chunks, PutCheckpoint(made)]

    def _whole(self, row: StoredCheckpoint, where: str) -> None:
        """Raises: ValidationError, for channels whose value is not in the checkpoint, and for the functional form."""
        deltas = row.metadata.get("counters_since_delta_snapshot") or ()
        lacking = [k for k in deltas if k not in row.checkpoint["channel_values"]]
        if lacking:
            raise _unsayable(f"{where} keeps {lacking[0]!r} (a DeltaChannel) as deltas that only LangGraph can add up")
        if "__end__" in row.checkpoint["channel_versions"]:
            raise _unsayable(
                f"{where} is an entrypoint's, whose calls cannot be told apart here: let it end under LangGraph"
            )

    # What waits

    def pending(
        self,
        old: str,
        ns: str,
        path: str,
        row: StoredCheckpoint,
        plan: _Plan,
        program: Program | None,
        more: Mapping[str, Any],
    ) -> list[Record]:
        """The saved work of the newest checkpoint's tasks."""
        writes: dict[tuple[str, str], list[StoredWrite]] = {}
        for write in self.tables.writes(self.thread, old, row.id, self.envelope):
            writes.setdefault((write.task, write.path), []).append(write)
        base = Base(
            self.run,
            program or Program("imported", {}, {}, strict=False),
            {},
            checkpoint=row.id,
            ns=ns,
            path=path,
            step=int(row.metadata.get("step", -1)) + 1,
            remaining=0,
            visits={},
        )
        self.waits += [task[0] for task in plan.tasks if not ns]
        out: list[Record] = []
        for (task_id, where), given in writes.items():
            if task_id == NULL_TASK:
                out += self.null(ns, row, given)
            else:
                task = self.task(base, plan, where, program)
                out += self.saved(old, ns, row, task, task_id, given, program, more)
        return out

    def task(self, base: Base, plan: _Plan, where: str, program: Program | None) -> Task:
        """Our task in the place of LangGraph's. Raises: ValidationError, where it is not known whose writes these are."""
        kind, _, rest = where.removeprefix("~").partition(", ")
        entry: Sequence[Any] | None = None
        if kind == "__pregel_pull":
            entry = next((t for t in plan.tasks if t[0] == rest and t[1] < 0), None)
        elif kind == "__pregel_push" and (index := rest.partition(", ")[0]).isdigit():
            entry = next((t for t in plan.tasks if t[1] == int(index)), None)
        elif not where and len(plan.tasks) == 1:
            entry = plan.tasks[0]
        if entry is None:
            raise _unsayable(
                f"thread {self.thread!r} has saved writes of a task {where or 'without a path'!r}, which is not among those"
                f" that wait ({', '.join(t[0] for t in plan.tasks) or 'none'}): let it end under LangGraph"
            )
        node = program.nodes.get(entry[0]) if program is not None else None
        return Task(base, node or Node.inert(entry[0]), entry[1], entry[2] if len(entry) > 2 else None)

    def saved(
        self,
        old: str,
        ns: str,
        row: StoredCheckpoint,
        task: Task,
        task_id: str,
        given: Sequence[StoredWrite],
        program: Program | None,
        more: Mapping[str, Any],
    ) -> list[Record]:
        out: list[Record] = []
        inner = f"{old}|{task.node}:{task_id}" if old else f"{task.node}:{task_id}"
        asked: list[Question] = []
        if inner in self.found:
            node = program.nodes.get(task.node) if program is not None else None
            graph = node.subgraph if node is not None else None
            parents = {"_task": task.id, "_parents": json.dumps({**parents_of(more), ns: row.id})}
            before = len(self.questions)
            child = graph.program if graph is not None else None
            out += self.namespace(inner, task.ns, f"{task.step_key}@{task.visit}", child, parents)
            asked = self.questions[before:]
        answers = next((w.value for w in given if w.channel == "__resume__"), None)
        out += self.answers(ns, row, task, cast("list[Any]", answers) if isinstance(answers, list) else [])
        interrupts = next((w.value for w in given if w.channel == "__interrupt__"), None)
        if interrupts is not None:
            if inner not in self.found:
                first = len(cast("list[Any]", answers)) if isinstance(answers, list) else 0
                asked = [self.question(ns, row, task, first + n, each) for n, each in enumerate(interrupts)]
                self.questions += asked
            out += self.put(ns, row, task, "asked", asked)
        elif not any(w.channel in ("__error__", "__scheduled__") for w in given) and any(w.index >= 0 for w in given):
            out += self.put(ns, row, task, "done", _body(given, program))
        return out

    def question(self, ns: str, row: StoredCheckpoint, task: Task, index: int, asked: Any) -> Question:
        value = asked.value if isinstance(asked, Asked) else asked
        qid = question_id(task, f"index:{index}")
        return Question(value, id=qid, node=task.node, ns=ns, checkpoint=row.id, task=task.id)

    def answers(self, ns: str, row: StoredCheckpoint, task: Task, given: Sequence[Any]) -> list[Record]:
        out: list[Record] = []
        for index, value in enumerate(given):
            blob = self.registry.encode([value, "", ""], where=f"answer {index} of node {task.node!r}")
            out.append(PutAnswer(Answer(ns, row.id, question_id(task, f"index:{index}"), blob)))
        return out

    def put(self, ns: str, row: StoredCheckpoint, task: Task, kind: Any, body: Any) -> list[Record]:
        pieces = Pieces(self.registry)
        blob = pieces.encode(body, f"writes of node {task.node!r}")
        chunks = [PutChunks(pieces.found)] if pieces.found else []
        return [*chunks, PutWrites(TaskWrites(ns, row.id, task.id, kind, blob, tuple(pieces.found)))]

    def null(self, ns: str, row: StoredCheckpoint, given: Sequence[StoredWrite]) -> list[Record]:
        """Writes that came with a command, beside the tasks."""
        plain = [write for write in given if write.index >= 0]
        if not plain:
            return []
        pieces = Pieces(self.registry)
        part = pieces.encode(_body(plain, None), f"writes of a command of thread {self.thread!r}")
        chunks = [PutChunks(pieces.found)] if pieces.found else []
        return [*chunks, PutWrites(TaskWrites(ns, row.id, NULL_TASK, "done", pack([part]), tuple(pieces.found)))]


class _Plan:
    """The tasks that a checkpoint's channels and versions say are next."""

    def __init__(self, row: StoredCheckpoint, sends: Sequence[Send]) -> None:
        told = row.checkpoint
        self._versions: Mapping[str, Any] = told["channel_versions"]
        self._seen: Mapping[str, Mapping[str, Any]] = told.get("versions_seen") or {}
        values: Mapping[str, Any] = told["channel_values"]
        self.tasks: list[list[Any]] = []
        if START in values and self._new(START, START):
            self.tasks.append([START, -1, values[START]])
            return
        names: set[str] = set()
        for channel, value in values.items():
            name = _target(channel, value)
            if name is not None and self._new(channel, name):
                names.add(name)
        self.tasks += [[name, -1] for name in sorted(names)]
        self.tasks += [[s.node, n, s.arg, stored_timeout(s.timeout)] for n, s in enumerate(sends)]

    def _new(self, channel: str, node: str) -> bool:
        """Whether the node has not seen the channel's version."""
        now, seen = self._versions.get(channel), self._seen.get(node, {}).get(channel)
        return now is not None and (seen is None or now > seen)


def _target(channel: str, value: Any) -> str | None:
    """The node that a channel sets off, if it can be read."""
    if channel.startswith(BRANCH):
        ended = not isinstance(value, list | tuple) or bool(cast("Sequence[Any]", value)[-1])
        return channel.removeprefix(BRANCH) if ended else None
    if not channel.startswith(JOIN):
        return None
    sources, _, name = channel.removeprefix(JOIN).rpartition(":")
    if isinstance(value, list | tuple):  # of a deferred node: the sources, and whether all else has ended
        come, ended = cast("Sequence[Any]", value)
        return name if ended and set(come) >= set(sources.split("+")) else None
    return name if set(value) >= set(sources.split("+")) else None


def _is_state(channel: str, value: Any, row: StoredCheckpoint) -> bool:
    """Whether its value is kept here too; plain triggers are tasks, and inputs are one."""
    if channel in (START, SENDS, "__interrupt__") or channel.startswith(("__pregel", "start:")):
        return False
    if channel.startswith("branch:"):
        return _deferred(channel, value)
    # Before there were triggers, a node that had run was told by a channel of its name.
    return not (value == channel and channel in (row.checkpoint.get("versions_seen") or {}))


def _deferred(channel: str, value: Any) -> bool:
    """Whether a trigger's value also says if all other work has ended."""
    pair = cast("Sequence[Any]", value)
    return (
        channel.startswith((BRANCH, JOIN))
        and isinstance(value, list | tuple)
        and len(pair) == 2
        and type(pair[1]) is bool
    )


def _value(channel: str, value: Any) -> Any:
    if _deferred(channel, value):
        return tuple(value)
    return value.value if isinstance(value, Delta) else value


def _body(given: Sequence[StoredWrite], program: Program | None) -> list[Any]:
    """A finished task's writes, as our engine saves them."""
    writes: list[tuple[str, Any]] = []
    targets: list[str] = []
    sends: list[Any] = []
    for write in given:
        if write.channel == SENDS:
            sends.append([write.value.node, write.value.arg, stored_timeout(write.value.timeout)])
        elif write.channel.startswith(BRANCH) and (program is None or write.channel not in program.channels):
            targets.append(write.channel.removeprefix(BRANCH))
        elif write.channel not in HIDDEN and write.index >= 0:
            writes.append((write.channel, write.value))
    if program is not None and program.acceptor is not None and program.acceptor.prepares:
        program.acceptor.prepare(writes)
    return [writes, targets or None, sends or None]


def _kept(metadata: Mapping[str, Any]) -> dict[str, Any]:
    skip = ("source", "step")
    return {k: v for k, v in metadata.items() if k not in skip and (v is None or type(v) in (str, int, float, bool))}


def _at(checkpoint: Mapping[str, Any]) -> float:
    try:
        return datetime.fromisoformat(checkpoint["ts"]).timestamp()
    except (KeyError, TypeError, ValueError):
        return 0.0


def _unsayable(why: str) -> ValidationError:
    return ValidationError(why, component="compat", operation="import")
