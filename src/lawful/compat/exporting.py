"""Threads of ours as LangGraph's: written by its own saver, so that LangGraph itself goes on with them."""

from __future__ import annotations

import binascii
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, cast

from msgspec import Struct

from lawful.compat.folding import Write, is_head
from lawful.compat.keeping import SPECIAL, Found, Keeper
from lawful.compat.langchain_messages import to_langchain
from lawful.compat.langgraph_codecs import langgraph_registry
from lawful.core.codec import Registry
from lawful.core.codec_types import class_of
from lawful.core.context import Run
from lawful.core.errors import ConfigurationError, Failure, StoreError, ValidationError
from lawful.core.lazy import late
from lawful.core.messages import Message, RemoveMessage
from lawful.graph.asking import question_id
from lawful.graph.command import START, Overwrite, Send
from lawful.graph.program import Node, Program
from lawful.graph.restore import Restored, restore
from lawful.graph.step_task import Base, Task
from lawful.journal.port import Journal

PULL, PUSH = "__pregel_pull", "__pregel_push"
SENDS = "__pregel_tasks"


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


class _Thread:
    """One thread on its way, as it stands now."""

    def __init__(self, journal: Journal, thread: str) -> None:
        self.journal = journal
        self.thread = thread
        self.made: list[tuple[Any, dict[str, Any], dict[str, Any], dict[str, Any], list[Any]]] = []
        self.digest = late("xxhash", "xxh3_128_hexdigest", extra="langgraph")
        self.interrupt = late("langgraph.types", "Interrupt", extra="langgraph")

    def namespace(self, ns: str, theirs: str, program: Program, path: str = "", *, id: str | None = None) -> None:
        """Write our namespace ``ns`` as LangGraph's ``theirs``, and those of the graphs that its tasks hold."""
        chain = self.journal.chain(self.thread, ns, id)
        if chain is None:
            return
        made = restore(program, self.thread, chain)
        step = made.row.step
        values = {k: plain(v) for k, v in made.values.items() if k not in program.untracked}
        seen: dict[str, dict[str, str]] = {"__input__": {}}
        waiting = _triggers(program, made)
        for task in made.head.tasks:
            if task[0] == START:
                values[START] = plain(task[2])
        for node, channel in waiting.items():
            if channel not in values:
                values[channel] = None
            seen[node] = {}
        sends = [Send(t[0], t[2], t[3]) for t in made.head.tasks if t[1] >= 0]
        if sends:
            values[SENDS] = [plain(send) for send in sends]
        versions = dict.fromkeys(values, f"{step + 2:032}.{'0' * 18}")
        checkpoint: dict[str, Any] = {
            "v": 4,
            "id": made.row.id,
            "ts": datetime.fromtimestamp(made.row.at, UTC).isoformat(),
            "channel_values": values,
            "channel_versions": versions,
            "versions_seen": seen,
            "updated_channels": sorted(values),
        }
        place = {"thread_id": self.thread, "checkpoint_ns": theirs}
        metadata: dict[str, Any] = {"source": made.row.source, "step": step, "parents": {}, **_told(made.row.metadata)}
        entry: tuple[Any, dict[str, Any], dict[str, Any], dict[str, Any], list[Any]]
        entry = ({"configurable": place}, checkpoint, metadata, dict(versions), [])
        self.made.append(entry)
        for task in made.head.tasks:
            self.task(ns, theirs, program, made, task, path, entry[4])

    def task(
        self,
        ns: str,
        theirs: str,
        program: Program,
        made: Restored,
        entry: Sequence[Any],
        lineage: str,
        out: list[Any],
    ) -> None:
        """What one task of the unfinished step has saved."""
        ours = ours_of(program, self.thread, ns, made, entry, lineage)
        name = str(entry[0])
        space = f"{theirs}|{name}" if theirs else name
        pulled = entry[1] < 0
        last = (PULL, *_all_triggers(program, name)) if pulled else (PUSH, str(entry[1]))
        task_id = self.id(made.row.id, space, str(made.row.step + 1), name, *last)
        path = f"~{PULL}, {name}" if pulled else f"~{PUSH}, {int(entry[1]):010d}, {0:010d}"
        node = program.nodes.get(name)
        if node is not None and node.subgraph is not None:
            self.namespace(ours.ns, f"{space}:{task_id}", node.subgraph.program, f"{ours.step_key}@{ours.visit}")
        saved = made.saved.get(ours.id)
        if saved is None:
            return
        if saved.done is not None:
            out.append((_writes(saved.done, node, program), task_id, path))
            return
        if answers := _answered(ours, made):
            out.append(([("__resume__", answers)], task_id, path))
        asked = [q for q in saved.questions if q.id not in made.answers]
        if asked:
            inner = f"{space}:{task_id}"
            told = [self.interrupt(plain(q.value), id=self.asked_id(inner, len(answers))) for q in asked]
            out.append(([("__interrupt__", told)], task_id, path))

    def asked_id(self, space: str, answered: int) -> str:
        return str(self.digest((f"{space}|{answered}" if answered else space).encode()))

    def id(self, checkpoint: str, *parts: str) -> str:
        told: str = self.digest(binascii.unhexlify(checkpoint.replace("-", "")) + "".join(parts).encode())
        return f"{told[:8]}-{told[8:12]}-{told[12:16]}-{told[16:20]}-{told[20:]}"


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


def _all_triggers(program: Program, name: str) -> list[str]:
    """Every channel that sets a node off, as LangGraph names and orders them."""
    if name == START:
        return [START]
    return sorted([f"branch:to:{name}", *(join.channel for join in program.joins.values() if join.target == name)])


def _triggers(program: Program, made: Restored) -> dict[str, str]:
    """By waiting node, the channel that is to set it off: a join that is complete, else the plain one."""
    out: dict[str, str] = {}
    for task in made.head.tasks:
        name = str(task[0])
        if task[1] >= 0 or name == START:
            continue
        joins = [join.channel for join in program.joins.values() if join.target == name]
        full = [c for c in joins if c in made.values and program.channels[c].get(made.values[c]) is None]
        out[name] = full[0] if full else f"branch:to:{name}"
    return out


def _writes(body: Sequence[Any], node: Node | None, program: Program) -> list[tuple[str, Any]]:
    """A finished task's writes, with those that LangGraph makes for its edges."""
    writes, targets, sends = body
    out = [(key, plain(value)) for key, value in writes]
    known = {key for key, _ in out}
    if node is not None:
        out += [(channel, value) for channel, value in node.marks if channel not in known]
    going = dict.fromkeys([*(node.targets if node is not None else ()), *(targets or ())])
    out += [(f"branch:to:{name}", None) for name in going if name in program.nodes]
    out += [(SENDS, plain(Send(*send))) for send in sends or ()]
    return out or [("__no_writes__", None)]


def _answered(task: Task, made: Restored) -> list[Any]:
    """The answers that the task has had, in the order of its questions."""
    out: list[Any] = []
    while (held := made.answers.get(question_id(task, f"index:{len(out)}"))) is not None:
        out.append(plain(held[0]))
    return out


def plain(value: Any) -> Any:
    """A value as LangGraph keeps it: our messages as langchain's, our packets as its own."""
    if isinstance(value, Message | RemoveMessage):
        return to_langchain(value)
    if isinstance(value, Send):
        timeout = value.timeout
        run = getattr(timeout, "run_timeout", timeout)
        return late("langgraph.types", "Send", extra="langgraph")(value.node, plain(value.arg), timeout=run)
    if isinstance(value, Overwrite):
        return late("langgraph.types", "Overwrite", extra="langgraph")(plain(value.value))
    kind = class_of(value)
    if issubclass(kind, list):
        return [plain(each) for each in value]
    if kind is tuple:
        return tuple(plain(each) for each in value)
    if kind is dict:
        return {key: plain(each) for key, each in cast("dict[Any, Any]", value).items()}
    return value


def _told(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in metadata.items() if not key.startswith("_")}


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
