"""Threads of ours as LangGraph's: written by its own saver, so that LangGraph itself goes on with them."""

from __future__ import annotations

import binascii
import itertools
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple

from msgspec import Struct

from lawful.compat.calling import MARGIN, RETURN, path_text, tasks_of
from lawful.compat.folding import Write, is_head
from lawful.compat.keeping import SPECIAL, Found, Keeper
from lawful.compat.langgraph_codecs import langgraph_registry
from lawful.compat.outward import all_triggers, answers_of, held_by, metadata_of, plain, waiting_on, writes_of
from lawful.compat.planning import SENDS
from lawful.core.codec import Registry
from lawful.core.context import Run
from lawful.core.errors import ConfigurationError, Failure, StoreError, ValidationError
from lawful.core.lazy import late
from lawful.core.questions import Question
from lawful.graph.calls import CallTask
from lawful.graph.command import START, Send
from lawful.graph.functional import TaskFunction
from lawful.graph.program import Node, Program
from lawful.graph.restore import restore
from lawful.graph.restored import Restored
from lawful.graph.step_task import Base, Task
from lawful.journal.port import Journal

PULL, PUSH = "__pregel_pull", "__pregel_push"


class Exported(Struct, frozen=True):
    """What became of one thread."""

    thread: str
    checkpoints: int = 0
    error: Failure | None = None
    """Why it was not written; nothing of it is there then."""


def export_threads(
    journal: Journal,
    saver: Any,
    *,
    program: Program | None = None,
    threads: Sequence[str] | None = None,
    registry: Registry | None = None,
) -> Iterator[Exported]:
    """Write threads with ``saver``, a checkpointer of LangGraph's, in its own form.

    A thread of a graph of ours needs that graph's ``program`` and is written as it stands now, with what its paused step has
    saved and asked; one that a `JournalSaver` stored is written with its whole history, by that saver's ``registry``.
    """
    for thread in threads if threads is not None else [info.thread for info in journal.threads()]:
        try:
            yield Exported(thread, export_thread(journal, saver, thread, program, registry))
        except Failure as error:
            yield Exported(thread, error=error)


def export_thread(
    journal: Journal, saver: Any, thread: str, program: Program | None, known: Registry | None = None
) -> int:
    """How many checkpoints were written. Raises: StoreError, for a thread that is there already, or is not here."""
    chain = journal.chain(thread)
    if chain is None:
        raise StoreError(f"there is no thread {thread!r}", component="compat", operation="export")
    if saver.get_tuple({"configurable": {"thread_id": thread}}) is not None:
        raise StoreError(f"thread {thread!r} is there already", component="compat", operation="export")
    own = langgraph_registry() if known is None else known
    registry = program.registry if program is not None else own
    if is_head(registry.decode(chain.tip.head, chunks=chain.chunks, where=f"thread {thread!r}")):
        return _as_kept(Keeper(journal, own), saver, thread)
    if program is None:
        raise ValidationError(
            f"thread {thread!r} is one of a graph of ours: name it, --graph module:name",
            component="compat",
            operation="export",
        )
    work = _Thread(journal, thread)
    work.namespace("", "", program)
    for config, checkpoint, metadata, versions, writes in work.made:
        stored = saver.put(config, checkpoint, metadata, versions)
        for given, task, path in writes:
            saver.put_writes(stored, given, task, path)
    return len(work.made)


def _as_kept(keeper: Keeper, saver: Any, thread: str) -> int:
    found = sorted(keeper.list(thread, None), key=lambda each: each.id)
    for each in found:
        place = {"thread_id": thread, "checkpoint_ns": each.ns}
        config = {"configurable": {**place, **({"checkpoint_id": each.parent} if each.parent else {})}}
        stored = saver.put(config, each.checkpoint, each.metadata, each.checkpoint["channel_versions"])
        grouped: dict[tuple[str, str, bool], list[tuple[str, Any]]] = {}
        for path, task, (index, channel, value) in each.writes:
            grouped.setdefault((task, path, index < 0), []).append((channel, value))
        for (task, path, _), writes in grouped.items():
            saver.put_writes(stored, writes, task, path)
    return len(found)


def seen(journal: Journal, program: Program, thread: str, ns: str, id: str | None) -> Found | None:
    """One checkpoint of a graph of ours, as LangGraph would show it; None where there is none."""
    chain = journal.chain(thread, ns, id)
    if chain is None:
        return None
    work = _Thread(journal, thread)
    work.namespace(ns, ns, program, id=chain.tip.id)
    _, checkpoint, metadata, _, saved = work.made[0]
    writes: list[tuple[str, str, Write]] = []
    for given, task, path in saved:
        writes += [(path, task, (SPECIAL.get(channel, n), channel, value)) for n, (channel, value) in enumerate(given)]
    return Found(thread, ns, chain.tip.id, chain.tip.parent, checkpoint, metadata, writes)


class _Place(NamedTuple):
    """One namespace as it stands, and where LangGraph has it."""

    ns: str
    theirs: str
    program: Program
    made: Restored
    path: str
    around: Mapping[str, str]


class _Thread:
    """One thread on its way, as it stands now."""

    def __init__(self, journal: Journal, thread: str) -> None:
        self.journal = journal
        self.thread = thread
        self.made: list[tuple[Any, dict[str, Any], dict[str, Any], dict[str, Any], list[Any]]] = []
        self.taken: set[str] = set()
        self.asked: dict[str, Any] = {}
        """By our questions' ids, LangGraph's."""
        self.digest = late("xxhash", "xxh3_128_hexdigest", extra="langgraph")
        self.interrupt = late("langgraph.types", "Interrupt", extra="langgraph")

    def namespace(
        self,
        ns: str,
        theirs: str,
        program: Program,
        path: str = "",
        *,
        id: str | None = None,
        parents: Mapping[str, str] | None = None,
    ) -> bool:
        """Write our namespace ``ns`` as LangGraph's ``theirs``, and those of the graphs that its tasks hold.

        ``parents``: by the namespaces around it, the checkpoints that these stand at. False where there is none.
        """
        chain = self.journal.chain(self.thread, ns, id)
        if chain is None or theirs in self.taken:
            return False
        self.taken.add(theirs)
        made = restore(program, self.thread, chain)
        checkpoint = _checkpoint(program, made)
        metadata = {"source": made.row.source, "step": made.row.step, "parents": dict(parents or {})}
        metadata |= metadata_of(made.row.metadata)
        place = {"configurable": {"thread_id": self.thread, "checkpoint_ns": theirs}}
        entry: tuple[Any, dict[str, Any], dict[str, Any], dict[str, Any], list[Any]]
        entry = (place, checkpoint, metadata, dict(checkpoint["channel_versions"]), [])
        self.made.append(entry)
        around = {**(parents or {}), theirs: made.row.id}
        for task in made.head.tasks:
            self.task(_Place(ns, theirs, program, made, path, around), task, entry[4])
        if id is None:
            for name, node in program.nodes.items():
                graph = held_by(node)
                if graph is not None and graph.checkpointer is True:
                    known = node.known_as
                    self.memories(
                        f"{ns}|{known}" if ns else known, f"{theirs}|{name}" if theirs else name, graph, "", around
                    )
        return True

    def memories(self, ns: str, theirs: str, graph: Any, path: str, around: Mapping[str, str]) -> None:
        """The namespaces of one graph inside a node: that of its first call, of its second, and so on."""
        for n in itertools.count():
            more = f"|{n}" if n else ""
            lineage = path + more if path else ""
            if not self.namespace(ns + more, theirs + more, graph.program, lineage, parents=around):
                return

    def task(self, at: _Place, entry: Sequence[Any], out: list[Any]) -> None:
        """What one task of the unfinished step has saved."""
        ours = ours_of(at.program, self.thread, at.ns, at.made, entry, at.path)
        name = str(entry[0])
        space = f"{at.theirs}|{name}" if at.theirs else name
        pulled = entry[1] < 0
        last = (PULL, *all_triggers(at.program, name)) if pulled else (PUSH, str(entry[1]))
        task_id = self.id(at.made.row.id, space, str(at.made.row.step + 1), name, *last)
        where = (PULL, name) if pulled else (PUSH, int(entry[1]))
        path = path_text(where) if pulled else path_text((*where, False))
        node = at.program.nodes.get(name)
        graph = held_by(node) if node is not None else None
        lineage = f"{ours.step_key}@{ours.visit}"
        if graph is not None and graph.checkpointer is True:
            known = ours.task_node.known_as
            self.memories(f"{at.ns}|{known}" if at.ns else known, space, graph, lineage, at.around)
        elif graph is not None:
            self.memories(ours.ns, f"{space}:{task_id}", graph, lineage, at.around)
        if node is not None:
            self.calls(at, ours, f"{space}:{task_id}", where, {t.name: t for t in tasks_of(node.fn)}, out)
        saved = at.made.saved.get(ours.id)
        if saved is not None and saved.done is not None:
            out.append((writes_of(saved.done, node, at.program), task_id, path))
        elif saved is not None:
            self.waiting(at, ours, saved.questions, f"{space}:{task_id}", (task_id, path), out)

    def calls(
        self,
        at: _Place,
        parent: Task,
        space: str,
        where: tuple[Any, ...],
        known: Mapping[str, TaskFunction[..., Any]],
        out: list[Any],
    ) -> None:
        """What calls of tasks have left: those that ``parent``, of LangGraph's namespace ``space``, made."""
        most = len(at.made.saved) + MARGIN if known and len(at.made.saved) > 0 else 0
        for index, (name, function) in itertools.product(range(most), known.items()):
            call = CallTask(parent, function.node, ((), {}), index)
            saved = at.made.saved.get(call.id)
            if saved is None:
                continue
            step = str(at.made.row.step + 1)
            own = self.id(at.made.row.id, f"{space}|{name}", step, name, PUSH, path_text(where), str(index))
            self.calls(at, call, f"{space}|{name}:{own}", (PUSH, where, index, True), known, out)
            path = path_text((PUSH, where, index))
            if saved.done is not None:
                value = at.program.registry.decode(saved.done[0], where=f"result of task {name!r}")
                out.append(([(RETURN, plain(value))], own, path))
            else:
                self.waiting(at, call, saved.questions, f"{space}|{name}:{own}", (own, path), out)

    def waiting(
        self, at: _Place, task: Task, questions: Sequence[Question], space: str, named: tuple[str, str], out: list[Any]
    ) -> None:
        """The answers that a task has had, and what it asks; what a call of it asks has its id already."""
        answers = answers_of(task, at.made)
        if answers:
            out.append(([("__resume__", answers)], *named))
        asked = [q for q in questions if q.id not in at.made.answers]
        for question in asked:
            if question.id not in self.asked:
                self.asked[question.id] = self.interrupt(plain(question.value), id=self.asked_id(space, len(answers)))
        if asked:
            out.append(([("__interrupt__", [self.asked[q.id] for q in asked])], *named))

    def asked_id(self, space: str, answered: int) -> str:
        return str(self.digest((f"{space}|{answered}" if answered else space).encode()))

    def id(self, checkpoint: str, *parts: str) -> str:
        told: str = self.digest(binascii.unhexlify(checkpoint.replace("-", "")) + "".join(parts).encode())
        return f"{told[:8]}-{told[8:12]}-{told[12:16]}-{told[16:20]}-{told[20:]}"


def _checkpoint(program: Program, made: Restored) -> dict[str, Any]:
    """Our checkpoint in LangGraph's form."""
    values = {k: plain(v) for k, v in made.values.items() if k not in program.untracked}
    seen: dict[str, dict[str, str]] = {"__input__": {}}
    for task in made.head.tasks:
        if task[0] == START:
            values[START] = plain(task[2])
    for node, channel in waiting_on(program, made).items():
        values.setdefault(channel, None)
        seen[node] = {}
    sends = [Send(t[0], t[2], t[3]) for t in made.head.tasks if t[1] >= 0]
    if sends:
        values[SENDS] = [plain(send) for send in sends]
    return {
        "v": 4,
        "id": made.row.id,
        "ts": datetime.fromtimestamp(made.row.at, UTC).isoformat(),
        "channel_values": values,
        "channel_versions": dict.fromkeys(values, f"{made.row.step + 2:032}.{'0' * 18}"),
        "versions_seen": seen,
        "updated_channels": sorted(values),
    }


def ours_of(program: Program, thread: str, ns: str, made: Restored, entry: Sequence[Any], path: str) -> Task:
    """The task as our engine makes it, for its id and namespace."""
    base = Base(
        Run(run_id="", thread=thread, lineage=thread),
        program,
        made.values,
        checkpoint=made.row.id,
        ns=ns,
        path=path,
        step=made.row.step + 1,
        remaining=0,
        visits=made.visits,
    )
    return Task(base, program.nodes.get(entry[0]) or Node.inert(entry[0]), entry[1], None)


@contextmanager
def saver_at(kind: str, url: str) -> Generator[Any]:
    """LangGraph's own saver on a database.

    Raises: ConfigurationError, for another kind, or naming the package where that saver is not installed.
    """
    if kind not in ("sqlite", "postgres"):
        raise ConfigurationError(f"threads are written to sqlite or postgres, not {kind!r}", component="compat")
    try:
        if kind == "sqlite":
            saver = late("langgraph.checkpoint.sqlite", "SqliteSaver")
        else:
            saver = late("langgraph.checkpoint.postgres", "PostgresSaver")
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"LangGraph's saver for {kind} is not installed: pip install langgraph langgraph-checkpoint-{kind}",
            component="compat",
            operation="export",
            cause=error,
        ) from error
    with saver.from_conn_string(url.removeprefix("sqlite:///")) as made:
        made.setup()
        yield made
