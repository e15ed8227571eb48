"""One thread's rows in memory: its namespaces, the order of their checkpoints, what is kept out of sight, its chunks."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from lawful.journal.checks import (
    answered,
    check_head,
    chunk_missing,
    corrupt,
    matches,
    parent_missing,
)
from lawful.journal.records import (
    Answer,
    Batch,
    Chain,
    Checkpoint,
    DropWrites,
    PutAnswer,
    PutCheckpoint,
    PutChunks,
    PutWrites,
    Record,
    TaskWrites,
    ThreadInfo,
)
from lawful.journal.retention import Line, plan


class Space:
    """One namespace: checkpoints by id, their ids in order, and what belongs to single checkpoints."""

    __slots__ = ("answers", "children", "hidden", "order", "rows", "writes")

    def __init__(self) -> None:
        self.rows: dict[str, Checkpoint] = {}
        self.order: list[str] = []
        self.hidden: set[str] = set()
        self.children: dict[str, list[str]] = {}
        self.writes: dict[str, dict[str, TaskWrites]] = {}
        self.answers: dict[str, dict[str, Answer]] = {}

    @property
    def newest(self) -> str | None:
        return self.order[-1] if self.order else None

    def put(self, row: Checkpoint) -> None:
        self.rows[row.id] = row
        insort(self.order, row.id)
        if row.parent is not None:
            self.children.setdefault(row.parent, []).append(row.id)

    def visible(self, id: str) -> bool:
        return id in self.rows and id not in self.hidden

    def copy(self) -> Space:
        other = Space()
        other.rows, other.order, other.hidden = dict(self.rows), list(self.order), set(self.hidden)
        other.children = {k: list(v) for k, v in self.children.items()}
        other.writes = {k: dict(v) for k, v in self.writes.items()}
        other.answers = {k: dict(v) for k, v in self.answers.items()}
        return other

    def path(self, thread: str, id: str) -> list[Checkpoint]:
        """The rows from the nearest snapshot down to ``id``."""
        rows = [self.rows[id]]
        while rows[-1].snapshot is None and (parent := rows[-1].parent) is not None:
            if parent not in self.rows:
                raise corrupt("checkpoint", thread=thread, ns=rows[-1].ns, id=rows[-1].id, parent=parent)
            rows.append(self.rows[parent])
        return rows[::-1]


class ThreadRows:
    """All of one thread."""

    __slots__ = ("chunks", "created", "lineage", "spaces")

    def __init__(self, lineage: str, created: float) -> None:
        self.lineage = lineage
        self.created = created
        self.spaces: dict[str, Space] = {}
        self.chunks: dict[bytes, bytes] = {}

    def space(self, ns: str) -> Space:
        found = self.spaces.get(ns)
        if found is None:
            found = self.spaces[ns] = Space()
        return found

    @property
    def begun(self) -> bool:
        """Whether it has a checkpoint."""
        return any(space.rows for space in self.spaces.values())

    def info(self, thread: str) -> ThreadInfo:
        heads = [space.rows[space.order[-1]] for space in self.spaces.values() if space.order]
        root = next((row for row in heads if row.ns == ""), None)
        graph = root.metadata.get("_graph", "") if root is not None else ""
        return ThreadInfo(
            thread=thread,
            lineage=self.lineage,
            created=self.created,
            updated=max([self.created, *(row.at for row in heads)]),
            graph=graph if isinstance(graph, str) else "",
        )

    # A batch is checked against the rows and what precedes it in the batch, then applied; applying cannot fail.

    def check(self, batch: Batch) -> None:
        """Refuse what the rows do not allow, before anything of ``batch`` is applied."""
        heads: dict[str, str | None] = {}
        ids: set[tuple[str, str]] = set()
        answers: set[tuple[str, str, str]] = set()
        chunks: set[bytes] = set()
        for record in batch.records:
            if isinstance(record, PutCheckpoint):
                self._check_checkpoint(batch.thread, record, heads, ids)
                self._check_chunks(batch.thread, record.checkpoint.refs, chunks)
            elif isinstance(record, PutWrites):
                self._check_chunks(batch.thread, record.writes.refs, chunks)
            elif isinstance(record, PutChunks):
                chunks.update(record.chunks)
            elif isinstance(record, PutAnswer):
                answer = record.answer
                key = (answer.ns, answer.checkpoint, answer.question)
                space = self.spaces.get(answer.ns)
                if key in answers or (space and answer.question in space.answers.get(answer.checkpoint, ())):
                    raise answered(batch.thread, answer)
                answers.add(key)

    def _check_checkpoint(
        self, thread: str, put: PutCheckpoint, heads: dict[str, str | None], ids: set[tuple[str, str]]
    ) -> None:
        row = put.checkpoint
        space = self.spaces.get(row.ns)
        newest = heads.get(row.ns, space.newest if space else None)
        check_head(thread, put, newest)
        if row.snapshot is None and row.parent is not None:
            stored = space is not None and row.parent in space.rows
            if not stored and (row.ns, row.parent) not in ids:
                raise parent_missing(thread, row)
        heads[row.ns] = row.id
        ids.add((row.ns, row.id))

    def _check_chunks(self, thread: str, refs: Iterable[bytes], sent: set[bytes]) -> None:
        for digest in refs:
            if digest not in sent and digest not in self.chunks:
                raise chunk_missing(thread, digest)

    def apply(self, record: Record) -> None:
        if isinstance(record, PutCheckpoint):
            self.space(record.checkpoint.ns).put(record.checkpoint)
        elif isinstance(record, PutWrites):
            writes = record.writes
            self.space(writes.ns).writes.setdefault(writes.checkpoint, {})[writes.task] = writes
        elif isinstance(record, DropWrites):
            if (space := self.spaces.get(record.ns)) is not None:
                space.writes.pop(record.checkpoint, None)
        elif isinstance(record, PutChunks):
            for digest, chunk in record.chunks.items():
                self.chunks.setdefault(digest, chunk)
        else:
            answer = record.answer
            self.space(answer.ns).answers.setdefault(answer.checkpoint, {})[answer.question] = answer

    # Reading.

    def chain(self, thread: str, ns: str, checkpoint: str | None) -> Chain | None:
        space = self.spaces.get(ns)
        if space is None:
            return None
        id = space.newest if checkpoint is None else checkpoint
        if id is None or not space.visible(id):
            return None
        rows = tuple(space.path(thread, id))
        writes = tuple(space.writes.get(id, {}).values())
        chunks: dict[bytes, bytes] = {}
        for holder in (*rows, *writes):
            for digest in holder.refs:
                if digest not in self.chunks:
                    raise corrupt("chunk", thread=thread, ns=ns, id=id, chunk=digest.hex())
                chunks[digest] = self.chunks[digest]
        return Chain(rows=rows, writes=writes, answers=tuple(space.answers.get(id, {}).values()), chunks=chunks)

    def history(self, ns: str, before: str | None, limit: int | None, filter: Mapping[str, Any]) -> list[Checkpoint]:
        found: list[Checkpoint] = []
        space = self.spaces.get(ns)
        if space is None or limit == 0:
            return found
        end = len(space.order) if before is None else bisect_left(space.order, before)
        for id in reversed(space.order[:end]):
            row = space.rows[id]
            if id not in space.hidden and matches(row.metadata, row.source, row.step, filter):
                found.append(row)
                if len(found) == limit:
                    break
        return found

    def children(self, ns: str, checkpoint: str) -> list[Checkpoint]:
        space = self.spaces.get(ns)
        if space is None:
            return []
        return [space.rows[id] for id in sorted(space.children.get(checkpoint, ())) if space.visible(id)]

    # Retention.

    def prune(self, now: float, keep_last: int, keep_every: int | None, older_than: float | None) -> int:
        dropped = sum(
            _prune_space(space, now, keep_last, keep_every, older_than) for space in self.spaces.values() if space.rows
        )
        used = {digest for space in self.spaces.values() for digest in _refs(space)}
        self.chunks = {digest: chunk for digest, chunk in self.chunks.items() if digest in used}
        return dropped

    def copy(self) -> ThreadRows:
        other = ThreadRows(self.lineage, self.created)
        other.spaces = {ns: space.copy() for ns, space in self.spaces.items()}
        other.chunks = dict(self.chunks)
        return other


def _refs(space: Space) -> Iterable[bytes]:
    for row in space.rows.values():
        yield from row.refs
    for tasks in space.writes.values():
        for writes in tasks.values():
            yield from writes.refs


def _prune_space(space: Space, now: float, keep_last: int, keep_every: int | None, older_than: float | None) -> int:
    rows = [space.rows[id] for id in space.order]
    lines = [Line(r.id, r.parent, r.step, r.at, r.snapshot is not None, r.id in space.hidden) for r in rows]
    going = plan(lines, now=now, keep_last=keep_last, keep_every=keep_every, older_than=older_than)
    for id in (*going.drop, *going.hide):
        space.writes.pop(id, None)
        space.answers.pop(id, None)
    for id in going.hide:
        space.hidden.add(id)
        space.rows[id] = _bare(space.rows[id])
    for id in going.drop:
        del space.rows[id]
        space.hidden.discard(id)
    space.order = [id for id in space.order if id in space.rows]
    left = {parent: [id for id in ids if id in space.rows] for parent, ids in space.children.items()}
    space.children = {parent: ids for parent, ids in left.items() if ids}
    return going.count


def _bare(row: Checkpoint) -> Checkpoint:
    """What rebuilding a kept descendant needs of a row that is out of sight."""
    return msgspec.structs.replace(row, metadata={}, delta=b"" if row.snapshot is not None else row.delta)
