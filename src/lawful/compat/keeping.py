"""What LangGraph asks of a saver, over a journal: read, list, put, put writes, forget, copy, prune."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from heapq import merge
from itertools import islice
from math import isfinite
from threading import RLock
from typing import Any, Final, Literal, NamedTuple, Protocol, cast

from lawful.compat.folding import FORM, MARK, Fold, Held, Pieces, Unfold, Write, is_head
from lawful.core.codec import Registry
from lawful.core.errors import ValidationError, nearest
from lawful.journal.checks import SOURCES
from lawful.journal.port import Journal
from lawful.journal.records import (
    Batch,
    Chain,
    Checkpoint,
    PutCheckpoint,
    PutChunks,
    PutWrites,
    Record,
    Source,
    TaskWrites,
)

SPECIAL: Final = {"__error__": -1, "__scheduled__": -2, "__interrupt__": -3, "__resume__": -4}
"""Channels whose write is replaced by a later one, with the index that each has."""
KEPT: Final = 256
"""Namespaces whose newest checkpoint is remembered, so that the next one need not be compared with what is read back."""
STAGED: Final = "lawful-rebuilt-"
"""Begins the name of a thread that is being written anew."""


class Found(NamedTuple):
    """One stored checkpoint, as LangGraph shows it."""

    thread: str
    ns: str
    id: str
    parent: str | None
    checkpoint: dict[str, Any]
    metadata: dict[str, Any]
    writes: list[tuple[str, str, Write]]
    """Task path, task id, (index, channel, value); in LangGraph's order."""


class Native(Protocol):
    """A graph of ours, as far as its checkpoints are shown by LangGraph's names."""

    @property
    def registry(self) -> Registry: ...
    def seen(self, journal: Journal, thread: str, ns: str, id: str | None) -> Found | None: ...


class Keeper:
    """Keeps LangGraph's checkpoints in ``journal``; safe to call from any thread."""

    def __init__(self, journal: Journal, registry: Registry, native: Native | None = None) -> None:
        self.journal = journal
        self.native = native
        """Shows what a graph of ours has stored; None where none was named."""
        self.registry = registry
        self._lock = RLock()
        self._held: dict[tuple[str, str], Held] = {}

    # Reading

    def get(self, thread: str, ns: str, id: str | None) -> Found | None:
        """The newest checkpoint of a namespace, or the one named."""
        chain = self.journal.chain(thread, ns, id)
        if chain is None:
            return None
        if self.native is not None and not is_head(Unfold(self.native.registry, thread, chain).head_of(chain.tip)):
            return self.native.seen(self.journal, thread, ns, chain.tip.id)
        return self._found(thread, chain)

    def _found(self, thread: str, chain: Chain) -> Found:
        row, read = chain.tip, Unfold(self.registry, thread, chain)
        told = read.head(row)
        metadata: dict[str, Any] = told.pop("metadata")
        parent: str | None = told.pop("parent", row.parent)
        checkpoint = {**told, "id": row.id, "channel_values": read.values()}
        return Found(thread, row.ns, row.id, parent, checkpoint, metadata, read.writes())

    def list(
        self,
        thread: str | None,
        ns: str | None,
        *,
        id: str | None = None,
        filter: Mapping[str, Any] | None = None,
        before: str | None = None,
        limit: int | None = None,
    ) -> Iterator[Found]:
        """Checkpoints, newest first; of every thread and namespace where none is named."""
        threads = [info.thread for info in self.journal.threads()] if thread is None else [thread]
        places = [(t, n) for t in threads for n in (self.journal.namespaces(t) if ns is None else [ns])]
        first, rest = _split(filter or {})

        def rows(thread: str, ns: str) -> Iterator[tuple[str, str, str]]:
            for row in self.journal.history(thread, ns, before=before, filter=first):
                if id is None or row.id == id:
                    yield row.id, thread, ns

        every = merge(*(rows(*place) for place in places), reverse=True)
        found = (self.get(thread, ns, id) for id, thread, ns in every)
        fit = (each for each in found if each is not None and _fits(each.metadata, rest))
        yield from islice(fit, limit)

    # Writing

    def put(
        self, thread: str, ns: str, parent: str | None, checkpoint: Mapping[str, Any], metadata: Mapping[str, Any]
    ) -> None:
        """Store a checkpoint made from ``parent``. Raises: ValidationError for what no codec is registered for."""
        with self._lock:
            held = self._parent(thread, ns, parent)
            records, made = self._records(thread, ns, parent, held, checkpoint, metadata)
            self.journal.commit(Batch(thread, tuple(records)))
            self._remember(thread, ns, made)

    def _records(
        self,
        thread: str,
        ns: str,
        parent: str | None,
        held: Held | None,
        checkpoint: Mapping[str, Any],
        metadata: Mapping[str, Any],
    ) -> tuple[list[Record], Held]:
        fold = Fold(self.registry, checkpoint, held, f"thread {thread!r}")
        told = {k: v for k, v in checkpoint.items() if k not in ("channel_values", "id")}
        told["metadata"] = dict(metadata)
        if parent is not None and held is None:
            told["parent"] = parent
        pieces = Pieces(self.registry)
        head = pieces.encode([MARK, FORM, told], f"thread {thread!r}")
        row = Checkpoint(
            ns=ns,
            id=checkpoint["id"],
            parent=parent if held is not None else None,
            step=_step(metadata),
            source=_source(metadata),
            at=_at(checkpoint),
            head=head,
            delta=fold.delta,
            snapshot=fold.snapshot,
            weight=fold.held.weight,
            refs=tuple(dict.fromkeys((*fold.refs, *pieces.found))),
            metadata={k: v for k, v in metadata.items() if _plain(k, v)},
        )
        records: list[Record] = [PutCheckpoint(row)]
        if chunks := {**fold.chunks, **pieces.found}:
            records.insert(0, PutChunks(chunks))
        return records, fold.held

    def _parent(self, thread: str, ns: str, parent: str | None) -> Held | None:
        if parent is None:
            # A thread of a graph of ours is not to be written over by LangGraph: reading its head raises.
            chain = self.journal.chain(thread, ns)
            if chain is not None:
                Unfold(self.registry, thread, chain).head(chain.tip)
            return None
        known = self._held.get((thread, ns))
        if known is not None and known.checkpoint == parent:
            return known
        chain = self.journal.chain(thread, ns, parent)
        return Unfold(self.registry, thread, chain).held() if chain is not None else None

    def _remember(self, thread: str, ns: str, held: Held) -> None:
        self._held.pop((thread, ns), None)
        self._held[thread, ns] = held
        if len(self._held) > KEPT:
            del self._held[next(iter(self._held))]

    def put_writes(
        self, thread: str, ns: str, checkpoint: str, writes: Sequence[tuple[str, Any]], task: str, path: str
    ) -> None:
        """Keep what a task wrote; special writes replace what was there, others are kept as they came first."""
        given: list[Write] = [
            (SPECIAL.get(channel, n), channel, _told(value)) for n, (channel, value) in enumerate(writes)
        ]
        with self._lock:
            records: list[Record] = []
            plain = [write for write in given if write[0] >= 0]
            if plain:
                known = self._known(thread, ns, checkpoint, task)
                had = {write[0] for write in known}
                records += self._writes(
                    ns, checkpoint, task, path, [*known, *(w for w in plain if w[0] not in had)], thread
                )
            for write in given:
                if write[0] < 0:
                    records += self._writes(ns, checkpoint, f"{task}!{-write[0]}", path, [write], thread)
            if records:
                self.journal.commit(Batch(thread, tuple(records)))

    def _known(self, thread: str, ns: str, checkpoint: str, task: str) -> list[Write]:
        """What the task wrote before; seldom anything, but a command's writes may come in several calls."""
        chain = self.journal.chain(thread, ns, checkpoint)
        record = next((r for r in chain.writes if r.task == task), None) if chain is not None else None
        assert chain is not None or record is None
        return Unfold(self.registry, thread, cast("Chain", chain)).record(record)[1] if record is not None else []

    def _writes(
        self, ns: str, checkpoint: str, task: str, path: str, writes: Sequence[Write], thread: str
    ) -> list[Record]:
        pieces = Pieces(self.registry)
        blob = pieces.encode([path, [list(write) for write in writes]], f"writes of task {task} of thread {thread!r}")
        kinds: dict[int, Literal["done", "error", "asked"]] = {-1: "error", -3: "asked"}
        kind = kinds.get(writes[0][0], "done")
        made = PutWrites(TaskWrites(ns, checkpoint, task, kind, blob, tuple(pieces.found)))
        return [PutChunks(pieces.found), made] if pieces.found else [made]

    # Whole threads

    def delete(self, thread: str) -> None:
        with self._lock:
            self.journal.delete_thread(thread)
            for key in [key for key in self._held if key[0] == thread]:
                del self._held[key]

    def copy(self, source: str, target: str) -> None:
        self.journal.copy_thread(source, target)

    def prune(self, thread: str, strategy: str) -> None:
        """ "keep_latest" or "delete". A thread with a DeltaChannel of LangGraph's is left whole: it needs its history.

        Raises: ValidationError for another strategy.
        """
        if strategy == "delete":
            self.delete(thread)
        elif strategy != "keep_latest":
            known = ("keep_latest", "delete")
            raise ValidationError(
                f"There is no strategy {strategy!r} to prune by.{nearest(strategy, known)}", component="compat"
            )
        elif not any(self._needs_history(thread, ns) for ns in self.journal.namespaces(thread)):
            self.journal.prune(thread, keep_last=1)

    def _needs_history(self, thread: str, ns: str) -> bool:
        tip = self.get(thread, ns, None)
        return tip is not None and "counters_since_delta_snapshot" in tip.metadata

    def delete_runs(self, runs: Sequence[str]) -> None:
        """Forget every checkpoint that was made in one of these runs, with what was written beside it.

        A thread that keeps others is written anew, under another name first: if that is broken off, nothing is lost, and
        the next call does it again.
        """
        gone = set(runs)
        with self._lock:
            for info in self.journal.threads():
                if info.thread.startswith(STAGED):
                    self._unstage(info.thread)
            for info in self.journal.threads():
                self._without(info.thread, gone)

    def _without(self, thread: str, gone: set[str]) -> None:
        rows = [row for ns in self.journal.namespaces(thread) for row in self.journal.history(thread, ns)]
        if not any(row.metadata.get("run_id") in gone for row in rows):
            return
        kept = [each for each in self.list(thread, None) if each.metadata.get("run_id") not in gone]
        staged = STAGED + thread
        if kept:
            self.journal.delete_thread(staged)
            self.journal.commit(Batch(staged, tuple(self._anew(staged, kept))))
        self.delete(thread)
        if kept:
            self._unstage(staged)

    def _anew(self, thread: str, kept: Sequence[Found]) -> Iterator[Record]:
        """The records of a thread that has only these checkpoints."""
        held: dict[tuple[str, str], Held] = {}
        for each in sorted(kept, key=lambda each: each.id):
            before = held.get((each.ns, each.parent or ""))
            checkpoint, metadata = each.checkpoint, each.metadata
            records, held[each.ns, each.id] = self._records(thread, each.ns, each.parent, before, checkpoint, metadata)
            yield from records
            yield from self._written(thread, each)

    def _written(self, thread: str, each: Found) -> Iterator[Record]:
        grouped: dict[tuple[str, str], list[Write]] = {}
        for path, task, write in each.writes:
            grouped.setdefault((path, task if write[0] >= 0 else f"{task}!{-write[0]}"), []).append(write)
        for (path, key), writes in grouped.items():
            yield from self._writes(each.ns, each.id, key, path, writes, thread)

    def _unstage(self, staged: str) -> None:
        """Bring a thread that was written anew to its own name, unless that one was not forgotten, or is there already."""
        thread = staged.removeprefix(STAGED)
        if self.journal.info(thread) is None:
            self.journal.copy_thread(staged, thread)
        self.journal.delete_thread(staged)


def _told(value: Any) -> Any:
    """A failure is kept as its text, as LangGraph's own savers do."""
    return repr(value) if isinstance(value, BaseException) else value


def _plain(key: str, value: Any) -> bool:
    """Whether a piece of metadata is one that a journal filters by."""
    if type(value) is float:
        return isfinite(value)
    if type(value) is int:
        return -(2**63) <= value < 2**63
    return value is None or type(value) is bool or (type(value) is str and "\0" not in value + key)


def _source(metadata: Mapping[str, Any]) -> Source:
    source = metadata.get("source")
    return source if source in SOURCES else "loop"


def _step(metadata: Mapping[str, Any]) -> int:
    step = metadata.get("step")
    return step if type(step) is int else -1


def _at(checkpoint: Mapping[str, Any]) -> float:
    try:
        return datetime.fromisoformat(checkpoint["ts"]).timestamp()
    except (KeyError, TypeError, ValueError):
        return 0.0


def _split(filter: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a journal can compare, and what is compared here."""
    first = {k: v for k, v in filter.items() if k.isidentifier() and k.isascii() and _plain(k, v) and v is not None}
    return first, {k: v for k, v in filter.items() if k not in first}


def _fits(metadata: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(key in metadata and metadata[key] == value for key, value in wanted.items())
