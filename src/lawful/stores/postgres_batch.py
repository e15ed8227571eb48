"""How the batches of one transaction are checked against what is stored, each by itself, and then written together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from lawful.core.errors import Failure
from lawful.journal.checks import answered, check_head, chunk_missing, lease_lost, parent_missing
from lawful.journal.records import (
    Batch,
    DropWrites,
    Lease,
    PutAnswer,
    PutCheckpoint,
    PutChunks,
    PutWrites,
    Record,
)
from lawful.stores.postgres_link import Link
from lawful.stores.postgres_rows import ANSWER, CHECKPOINT, WRITES, answer_in, ns_key, stored_id, writes_in
from lawful.stores.rows import Row, checkpoint_row, checksum, raw_id, unpack

Part: TypeAlias = "tuple[str, list[Any]]"
"""A statement and its values."""

_FACTS = """
SELECT k.n, t.id, l.owner, l.fence, s.id, s.key, h.id
FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY AS k(scope, name, n)
LEFT JOIN @thread t ON t.scope=k.scope AND t.name=k.name
LEFT JOIN @lease l ON l.scope=k.scope AND l.thread=k.name
LEFT JOIN @space s ON s.thread=t.id AND s.key=ANY(%s::bytea[])
LEFT JOIN LATERAL (SELECT c.id FROM @checkpoint c WHERE c.space=s.id ORDER BY c.id DESC LIMIT 1) h ON true"""
_ROWS = 200
"""Rows of one INSERT."""
_VALUES = 10_000
"""Values of one statement; the protocol counts up to 65,535."""


class Thread:
    """What is stored of one thread, and what this transaction adds."""

    __slots__ = ("drafts", "fence", "heads", "name", "number", "owner", "scope", "spaces")

    def __init__(self, scope: str, name: str) -> None:
        self.scope = scope
        self.name = name
        self.number: int | None = None
        self.owner: str | None = None
        self.fence: int | None = None
        self.spaces: dict[bytes, int] = {}
        self.heads: dict[bytes, bytes | None] = {}
        self.drafts: list[Draft] = []

    def check_lease(self, lease: Lease) -> None:
        """Raises: LeaseLost, unless ``lease`` is this thread's."""
        if self.owner is None or self.fence != lease.fence:
            raise lease_lost(lease.thread, lease.fence, self.owner)


class Draft:
    """What one batch would write; spaces are known by their keys."""

    __slots__ = ("answers", "chunks", "heads", "rows", "spaces", "writes")

    def __init__(self, heads: dict[bytes, bytes | None]) -> None:
        self.heads = heads
        self.spaces: dict[bytes, str] = {}
        self.rows: list[tuple[bytes, Row]] = []
        self.writes: list[tuple[bytes, bytes, Row | None]] = []
        """By space and checkpoint, in order: a row to put, or None to drop what is there."""
        self.chunks: dict[bytes, Row] = {}
        self.answers: dict[tuple[bytes, bytes, bytes], Row] = {}


class Group:
    """The batches of one transaction, whose threads are locked."""

    def __init__(self, link: Link, now: float, batches: Sequence[tuple[str, Batch]]) -> None:
        self._link = link
        self._now = now
        self._frees: list[tuple[str, Lease]] = []
        self._threads: dict[tuple[str, str], Thread] = {}
        keys: dict[bytes, None] = {}
        for scope, batch in batches:
            self._threads.setdefault((scope, batch.thread), Thread(scope, batch.thread))
            keys.update((ns_key(ns), None) for record in batch.records if (ns := _ns_of(record)) is not None)
        self._look(list(keys))

    def _look(self, keys: list[bytes]) -> None:
        threads = list(self._threads.values())
        values = ([t.scope for t in threads], [t.name for t in threads], keys)
        rows: list[Any] = self._link.run(_FACTS, values).fetchall()
        for n, number, owner, fence, space, key, head in rows:
            thread = threads[int(n) - 1]
            thread.number, thread.owner, thread.fence = number, owner, fence
            if space is not None:
                thread.spaces[key] = space
                thread.heads[key] = head

    def take(self, scope: str, batch: Batch) -> Failure | None:
        """Add ``batch``, or leave it out as a whole and give the reason."""
        thread = self._threads[scope, batch.thread]
        draft = Draft(dict(thread.heads))
        try:
            if batch.lease is not None:
                thread.check_lease(batch.lease)
            for record in batch.records:
                self._plan(thread, draft, record)
        except Failure as refusal:
            return refusal
        thread.heads = draft.heads
        if batch.records:
            thread.drafts.append(draft)
        if batch.release and batch.lease is not None:
            self._frees.append((scope, batch.lease))
            thread.owner = None
        return None

    # Checking.

    def _plan(self, thread: Thread, draft: Draft, record: Record) -> None:
        if isinstance(record, PutCheckpoint):
            self._plan_checkpoint(thread, draft, record)
        elif isinstance(record, PutWrites):
            writes = record.writes
            self._check_chunks(thread, draft, writes.refs)
            row = writes_in(writes)
            draft.writes.append((_use(draft, writes.ns), row[0], row))
        elif isinstance(record, DropWrites):
            draft.writes.append((ns_key(record.ns), stored_id(record.checkpoint), None))
        elif isinstance(record, PutChunks):
            for digest, body in record.chunks.items():
                draft.chunks.setdefault(digest, (checksum(digest, body), digest, body))
        else:
            self._plan_answer(thread, draft, record)

    def _plan_checkpoint(self, thread: Thread, draft: Draft, put: PutCheckpoint) -> None:
        c = put.checkpoint
        key = _use(draft, c.ns)
        newest = draft.heads.get(key)
        shown = None if newest is None else unpack(newest)
        check_head(thread.name, put, shown)
        follows = c.parent == shown
        if not follows and c.snapshot is None and c.parent is not None and not self._has(thread, draft, key, c.parent):
            raise parent_missing(thread.name, c)
        self._check_chunks(thread, draft, c.refs)
        row = checkpoint_row(c, branch=not follows)
        draft.rows.append((key, row))
        draft.heads[key] = row[0]

    def _has(self, thread: Thread, draft: Draft, key: bytes, id: str) -> bool:
        raw = raw_id(id)
        if any(space == key and row[0] == raw for d in (*thread.drafts, draft) for space, row in d.rows):
            return True
        return self._stored("SELECT 1 FROM @checkpoint WHERE space=%s AND id=%s", thread.spaces.get(key), raw)

    def _stored(self, statement: str, number: int | None, *values: Any) -> bool:
        return number is not None and self._link.run(statement, (number, *values)).fetchone() is not None

    def _check_chunks(self, thread: Thread, draft: Draft, refs: Sequence[bytes]) -> None:
        missing = [r for r in dict.fromkeys(refs) if not any(r in d.chunks for d in (draft, *thread.drafts))]
        if not missing:
            return
        found: set[bytes] = set()
        if thread.number is not None:
            statement = "SELECT digest FROM @chunk WHERE thread=%s AND digest=ANY(%s::bytea[])"
            found.update(row[0] for row in self._link.run(statement, (thread.number, missing)).fetchall())
        for digest in missing:
            if digest not in found:
                raise chunk_missing(thread.name, digest)

    def _plan_answer(self, thread: Thread, draft: Draft, put: PutAnswer) -> None:
        key = _use(draft, put.answer.ns)
        row = answer_in(put.answer)
        place = (key, row[0], row[1])
        statement = "SELECT 1 FROM @answer WHERE space=%s AND checkpoint=%s AND question=%s"
        given = any(place in d.answers for d in (*thread.drafts, draft))
        if given or self._stored(statement, thread.spaces.get(key), row[0], row[1]):
            raise answered(thread.name, put.answer)
        draft.answers[place] = row

    # Writing.

    def write(self) -> None:
        """Write what was taken: names that are new first, all else in as few statements as it takes."""
        threads = [thread for thread in self._threads.values() if thread.drafts]
        self._name(threads)
        first, then = list[Part](), list[Part]()
        self._add_rows(threads, first)
        self._add_writes(threads, first, then)
        self._add_frees(first)
        self._send(first)
        self._send(then)

    def _name(self, threads: Sequence[Thread]) -> None:
        new = [thread for thread in threads if thread.number is None]
        if new:
            rows = [(thread.scope, thread.name, thread.name, self._now) for thread in new]
            for thread, number in zip(new, self._made("thread", "scope, name, lineage, created", rows), strict=True):
                thread.number = number
        wanted = [
            (thread, key, ns)
            for thread in threads
            for key, ns in {key: ns for draft in thread.drafts for key, ns in draft.spaces.items()}.items()
            if key not in thread.spaces
        ]
        if wanted:
            rows = [(thread.number, key, ns) for thread, key, ns in wanted]
            for (thread, key, _), number in zip(wanted, self._made("space", "thread, key, ns", rows), strict=True):
                thread.spaces[key] = number

    def _made(self, table: str, columns: str, rows: Sequence[Row]) -> list[int]:
        """The numbers that new ``rows`` were given, in their order: a sequence only grows."""
        made: list[int] = []
        for statement, values in _inserts(table, columns, rows, " RETURNING id"):
            made += sorted(row[0] for row in self._link.write(statement, values).fetchall())
        return made

    def _add_rows(self, threads: Sequence[Thread], parts: list[Part]) -> None:
        rows = [(t.spaces[key], *row) for t in threads for d in t.drafts for key, row in d.rows]
        parts += _inserts("checkpoint", CHECKPOINT, rows)
        chunks = {(t.number, digest): row for t in threads for d in t.drafts for digest, row in d.chunks.items()}
        pieces = [(thread, *row) for (thread, _), row in chunks.items()]
        parts += _inserts("chunk", "thread, crc, digest, body", pieces, " ON CONFLICT DO NOTHING")
        answers = [(t.spaces[place[0]], *row) for t in threads for d in t.drafts for place, row in d.answers.items()]
        parts += _inserts("answer", ANSWER, answers)

    def _add_writes(self, threads: Sequence[Thread], first: list[Part], then: list[Part]) -> None:
        drops: dict[tuple[int, bytes], None] = {}
        puts: dict[tuple[int, bytes], dict[bytes, Row]] = {}
        for thread in threads:
            for key, checkpoint, row in (step for draft in thread.drafts for step in draft.writes):
                space = thread.spaces.get(key)
                if space is None:
                    continue  # nothing to drop there
                place = (space, checkpoint)
                if row is None:
                    drops[place] = None
                    puts.pop(place, None)
                else:
                    puts.setdefault(place, {})[row[1]] = (space, *row)
        if drops:
            first.append((_DROP, [[space for space, _ in drops], [checkpoint for _, checkpoint in drops]]))
        rows = [row for by_task in puts.values() for row in by_task.values()]
        # One statement does not see what another part of it deletes: a step that is dropped and written again takes two.
        (then if puts.keys() & drops.keys() else first).extend(_inserts("writes", WRITES, rows, _REPLACE))

    def _add_frees(self, parts: list[Part]) -> None:
        for scope, lease in self._frees:
            parts.append((FREE, [scope, lease.thread, lease.fence]))

    def _send(self, parts: Sequence[Part]) -> None:
        """Several statements as one, so that they cost one journey: each but the last becomes a WITH."""
        together: list[Part] = []
        count = 0
        for part in parts:
            if count + len(part[1]) > _VALUES and together:
                self._send_one(together)
                together, count = [], 0
            together.append(part)
            count += len(part[1])
        if together:
            self._send_one(together)

    def _send_one(self, parts: Sequence[Part]) -> None:
        named = ", ".join(f"p{n} AS ({statement})" for n, (statement, _) in enumerate(parts[:-1]))
        text = f"WITH {named} {parts[-1][0]}" if named else parts[-1][0]
        self._link.write(text, [value for _, values in parts for value in values])


_DROP = (
    "DELETE FROM @writes w USING unnest(%s::bigint[], %s::bytea[]) d(space, checkpoint)"
    " WHERE w.space=d.space AND w.checkpoint=d.checkpoint"
)
_REPLACE = (
    " ON CONFLICT (space, checkpoint, task) DO UPDATE SET"
    " kind=excluded.kind, crc=excluded.crc, blob=excluded.blob, refs=excluded.refs"
)
FREE = "UPDATE @lease SET owner=NULL, expires=0, asked=false WHERE scope=%s AND thread=%s AND fence=%s"


def _ns_of(record: Record) -> str | None:
    if isinstance(record, PutCheckpoint):
        return record.checkpoint.ns
    if isinstance(record, PutWrites):
        return record.writes.ns
    if isinstance(record, PutAnswer):
        return record.answer.ns
    return record.ns if isinstance(record, DropWrites) else None


def _use(draft: Draft, ns: str) -> bytes:
    key = ns_key(ns)
    draft.spaces[key] = ns
    return key


def _inserts(table: str, columns: str, rows: Sequence[Row], tail: str = "") -> Iterator[Part]:
    marks = "(" + ", ".join(["%s"] * (columns.count(",") + 1)) + ")"
    for start in range(0, len(rows), _ROWS):
        part = rows[start : start + _ROWS]
        text = f"INSERT INTO @{table}({columns}) VALUES {', '.join([marks] * len(part))}{tail}"
        yield text, [value for row in part for value in row]
