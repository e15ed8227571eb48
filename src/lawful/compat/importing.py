"""LangGraph's threads as threads of ours: their history, and a paused step with its questions, answers and saved writes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from msgspec import Struct

from lawful.compat.calling import RETURN, Call, Callers, asked_in, is_within, unsayable
from lawful.compat.envelope import Asked, Envelope, register_kept
from lawful.compat.folding import Pieces
from lawful.compat.planning import SENDS, Plan, body_of, is_state, parents_in, value_of
from lawful.compat.summing import check_whole, summed
from lawful.compat.tables import StoredCheckpoint, StoredWrite, Tables
from lawful.core.codec import Registry
from lawful.core.codec import default as default_registry
from lawful.core.context import Run
from lawful.core.errors import Failure, StoreError
from lawful.core.questions import Question
from lawful.graph.asking import question_id
from lawful.graph.command import Send
from lawful.graph.draw import graph_within
from lawful.graph.notes import note_id
from lawful.graph.persist import HEAD_VERSION, NULL_TASK, pack
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
        self.names: dict[str, str] = {}
        """LangGraph's namespaces by ours."""
        self.outer: dict[str, str] = {}
        """By a nested namespace of LangGraph's, the one around it."""
        self.questions: list[Question] = []
        self.asked: dict[str, list[tuple[Task, Question]]] = {}
        """By LangGraph's ids, what calls of tasks have asked."""
        self.waits: list[str] = []
        self.summed: dict[str, dict[str, Any]] = {}
        """By checkpoint, the values of channels that are stored as what was written."""
        self.count = 0

    # One namespace

    def namespace(
        self, old: str, ns: str, path: str, program: Program | None, more: Mapping[str, Any], task: str = ""
    ) -> list[Record]:
        """The records of LangGraph's namespace ``old`` as our ``ns``; ``task``: which of ours holds its graph."""
        out: list[Record] = []
        self.taken.add(old)
        self.names[old] = ns
        rows = self.found.get(old, [])
        for place, row in enumerate(rows):
            before = next((r for r in rows if r.id == row.parent), None)
            plan = Plan(row, self.sends_of(old, before, row), program)
            told = {**more, **self.holder(row, task)} if ns else more
            out += self.checkpoint(ns, row, before, plan, told, program)
            if place == len(rows) - 1:
                out += self.pending(old, ns, path, row, plan, program)
        for key, known in self.memories(old):
            if key not in self.taken:
                out += self.namespace(key, f"{ns}|{known}" if ns else known, "", _child(program, known), {})
        return out

    def holder(self, row: StoredCheckpoint, task: str) -> dict[str, Any]:
        """By what task, and beside which checkpoints of the graphs around it, a nested graph's checkpoint was made."""
        parents = parents_in(row)
        known = {self.names[ns]: id for ns, id in parents.items() if ns in self.names}
        around = self.outer[row.ns]
        now = bool(task) and parents.get(around) == self.found[around][-1].id
        return {"_task": task if now else "", "_parents": json.dumps(known)}

    def memories(self, old: str) -> list[tuple[str, str]]:
        """Namespaces just below ``old`` that bear no task's id: of graphs with a memory of their own."""
        found: list[tuple[str, str]] = []
        for key in self.found:
            if not key or key == old or (old and not key.startswith(f"{old}|")):
                continue
            rest = key.removeprefix(f"{old}|") if old else key
            name, _, nth = rest.partition("|")
            if ":" not in name and not name.isdigit() and (not nth or nth.isdigit()):
                found.append((key, rest))
                self.outer[key] = old
        return found

    def sends_of(self, ns: str, before: StoredCheckpoint | None, row: StoredCheckpoint) -> Sequence[Send]:
        """The packets to be sent: a channel of the checkpoint; before version 4, writes beside the one before it."""
        if row.checkpoint.get("v", 1) >= 4 or before is None:
            return cast("Sequence[Send]", row.checkpoint["channel_values"].get(SENDS) or ())
        writes = self.tables.writes(self.thread, ns, before.id, self.envelope)
        return [write.value for write in writes if write.channel == SENDS]

    def checkpoint(
        self,
        ns: str,
        row: StoredCheckpoint,
        before: StoredCheckpoint | None,
        plan: Plan,
        more: Mapping[str, Any],
        program: Program | None,
    ) -> list[Record]:
        where = f"thread {self.thread!r}, checkpoint {row.id}"
        values = self._whole(row, before, where, program)
        values |= {
            k: value_of(k, v) for k, v in row.checkpoint["channel_values"].items() if is_state(k, v, row, program)
        }
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

    def _whole(
        self, row: StoredCheckpoint, before: StoredCheckpoint | None, where: str, program: Program | None
    ) -> dict[str, Any]:
        """The values of channels that are stored as what was written.

        Raises: ValidationError, without the graph whose reducers add them up; for an entrypoint that is not named either.
        """
        if program is None:
            check_whole(row, where)
            return {}
        writes = self.tables.writes(self.thread, row.ns, before.id, self.envelope) if before is not None else []
        base = self.summed.get(before.id, {}) if before is not None else {}
        made = self.summed[row.id] = summed(program, row, base, writes, where)
        return {k: v for k, v in made.items() if k not in row.checkpoint["channel_values"]}

    # What waits

    def pending(
        self,
        old: str,
        ns: str,
        path: str,
        row: StoredCheckpoint,
        plan: Plan,
        program: Program | None,
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
        calls = Callers(base, row, old, plan, program).find(writes)
        out += self.called(ns, row, calls)
        for (task_id, where), given in writes.items():
            if task_id == NULL_TASK:
                out += self.null(ns, row, given)
            elif task_id not in calls:
                task = self.task(base, plan, where, program)
                out += self.saved(old, ns, row, task, task_id, given, program)
        return out

    def called(self, ns: str, row: StoredCheckpoint, calls: Mapping[str, Call]) -> list[Record]:
        """The results, questions and answers of calls."""
        out: list[Record] = []
        asked: dict[str, list[Question]] = {}
        for there, task, index, each in asked_in(calls):
            within = [question for caller, question in self.asked.get(there, ()) if is_within(caller, task)]
            if not within:
                within.append(self.question(ns, row, task, index, each))
                self.questions += within
                self.asked.setdefault(there, []).append((task, within[0]))
            asked.setdefault(task.id, []).extend(within)
        for call in calls.values():
            task, where = call.task, f"result of task {call.task.node!r}"
            answers = next((w.value for w in call.writes if w.channel == "__resume__"), None)
            out += self.answers(ns, row, task, cast("list[Any]", answers) if isinstance(answers, list) else [])
            given = [w.value for w in call.writes if w.channel == RETURN]
            if given:
                inner = self.registry.encode(given[0], where=where)
                out += self.put(ns, row, task, "done", [inner, "", note_id(task, "result"), 0])
            elif task.id in asked:
                out += self.put(ns, row, task, "asked", asked[task.id])
        return out

    def task(self, base: Base, plan: Plan, where: str, program: Program | None) -> Task:
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
            raise unsayable(
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
    ) -> list[Record]:
        out: list[Record] = []
        before = len(self.questions)
        for key, own, suffix in self.held(old, ns, row, task, task_id):
            self.outer[key] = old
            child = _child(program, task.node)
            out += self.namespace(key, own, f"{task.step_key}@{task.visit}{suffix}", child, {}, task.id)
        asked = self.questions[before:]
        answers = next((w.value for w in given if w.channel == "__resume__"), None)
        out += self.answers(ns, row, task, cast("list[Any]", answers) if isinstance(answers, list) else [])
        interrupts = next((w.value for w in given if w.channel == "__interrupt__"), None)
        if interrupts is not None:
            if not asked:
                first = len(cast("list[Any]", answers)) if isinstance(answers, list) else 0
                told = [self.once(ns, row, task, first + n, each) for n, each in enumerate(interrupts)]
                asked = [question for some in told for question in some]
            out += self.put(ns, row, task, "asked", asked)
        elif not any(w.channel in ("__error__", "__scheduled__") for w in given) and any(w.index >= 0 for w in given):
            out += self.put(ns, row, task, "done", body_of(given, program))
        return out

    def held(self, old: str, ns: str, row: StoredCheckpoint, task: Task, task_id: str) -> list[tuple[str, str, str]]:
        """The graphs that a task ran: each one's namespace there and here, and what tells several calls apart."""
        known = task.task_node.known_as
        found: list[tuple[str, str, str]] = []
        for name, own in ((f"{task.node}:{task_id}", task.ns), (task.node, f"{ns}|{known}" if ns else known)):
            for n in range(len(self.found)):
                suffix = f"|{n}" if n else ""
                key = (f"{old}|{name}" if old else name) + suffix
                rows = self.found.get(key, ())
                if key not in self.taken and rows and parents_in(rows[-1]).get(old) == row.id:
                    found.append((key, own + suffix, suffix))
        return found

    def once(self, ns: str, row: StoredCheckpoint, task: Task, index: int, asked: Any) -> list[Question]:
        """The question, or those which calls of the task have asked in its place."""
        if isinstance(asked, Asked) and asked.id in self.asked:
            return [question for _, question in self.asked[asked.id]]
        self.questions.append(self.question(ns, row, task, index, asked))
        return self.questions[-1:]

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
        part = pieces.encode(body_of(plain, None), f"writes of a command of thread {self.thread!r}")
        chunks = [PutChunks(pieces.found)] if pieces.found else []
        return [*chunks, PutWrites(TaskWrites(ns, row.id, NULL_TASK, "done", pack([part]), tuple(pieces.found)))]


def _child(program: Program | None, known: str) -> Program | None:
    """The program of the graph that a node is, or that its function names."""
    node = program.nodes.get(known.partition("|")[0]) if program is not None else None
    graph = node and (node.subgraph if node.subgraph is not None else graph_within(node.fn))
    return graph.program if graph is not None else None


def _kept(metadata: Mapping[str, Any]) -> dict[str, Any]:
    skip = ("source", "step")
    return {k: v for k, v in metadata.items() if k not in skip and (v is None or type(v) in (str, int, float, bool))}


def _at(checkpoint: Mapping[str, Any]) -> float:
    try:
        return datetime.fromisoformat(checkpoint["ts"]).timestamp()
    except (KeyError, TypeError, ValueError):
        return 0.0
