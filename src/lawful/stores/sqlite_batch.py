"""How one batch is written within an open transaction: checked against what is stored, then inserted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lawful.journal.checks import (
    answered,
    check_head,
    chunk_missing,
    lease_lost,
    parent_missing,
)
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
from lawful.stores.rows import (
    ANSWERS,
    COLUMNS,
    WRITES,
    answer_row,
    checkpoint_row,
    checksum,
    pack,
    unpack,
    writes_row,
)
from lawful.stores.sqlite_link import Link

PUT_CHECKPOINT = f"INSERT INTO checkpoint(space, {COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
_PUT_WRITES = (
    f"INSERT INTO writes(space, {WRITES}) VALUES (?,?,?,?,?,?,?) ON CONFLICT(space, checkpoint, task) DO UPDATE SET"
    " kind=excluded.kind, crc=excluded.crc, blob=excluded.blob, refs=excluded.refs"
)
_PUT_ANSWER = f"INSERT INTO answer(space, {ANSWERS}) VALUES (?,?,?,?,?,?,?) ON CONFLICT DO NOTHING"
_PUT_CHUNK = "INSERT INTO chunk(thread, digest, crc, body) VALUES (?,?,?,?) ON CONFLICT DO NOTHING"


def write(link: Link, scope: str, batch: Batch, now: float) -> None:
    """Write all of ``batch``. Raises, having written a part: HeadMoved, LeaseLost, AlreadyAnswered, StoreError."""
    if batch.lease is not None:
        fenced(link, scope, batch.lease)
    if batch.records:
        thread = link.made_thread(scope, batch.thread, now)
        for record in batch.records:
            if isinstance(record, PutCheckpoint):
                _put_checkpoint(link, thread, batch.thread, record)
            else:
                _put_other(link, thread, batch.thread, record)
    if batch.release and batch.lease is not None:
        free(link, scope, batch.lease)


def fenced(link: Link, scope: str, lease: Lease) -> None:
    """Raises: LeaseLost, unless ``lease`` is its thread's."""
    key = (scope, lease.thread)
    if link.fences.get(key) == lease.fence:
        return
    row = link.con.execute("SELECT owner, fence FROM lease WHERE scope=? AND thread=?", key).fetchone()
    if row is None or row[0] is None or row[1] != lease.fence:
        raise lease_lost(lease.thread, lease.fence, row[0] if row else None)
    link.fences[key] = lease.fence


def free(link: Link, scope: str, lease: Lease) -> None:
    """Give the lease up, if it is still its thread's."""
    link.con.execute(
        "UPDATE lease SET owner=NULL, expires=0, asked=0, guarded=0 WHERE scope=? AND thread=? AND fence=?",
        (scope, lease.thread, lease.fence),
    )
    link.fences.pop((scope, lease.thread), None)


def _put_checkpoint(link: Link, thread: int, name: str, put: PutCheckpoint) -> None:
    c = put.checkpoint
    space = link.made_space(thread, c.ns)
    newest = link.newest(space)
    shown = None if newest is None else unpack(newest)
    check_head(name, put, shown)
    if c.parent != shown and c.snapshot is None and c.parent is not None and not _stored(link, space, c.parent):
        raise parent_missing(name, c)
    if c.refs:
        _check_chunks(link, thread, name, c.refs)
    row = checkpoint_row(c, branch=c.parent != shown)
    link.con.execute(PUT_CHECKPOINT, (space, *row))
    link.heads[space] = row[0]


def _stored(link: Link, space: int, id: str) -> bool:
    found = link.con.execute("SELECT 1 FROM checkpoint WHERE space=? AND id=?", (space, pack(id))).fetchone()
    return found is not None


def _put_other(link: Link, thread: int, name: str, record: Record) -> None:
    if isinstance(record, PutWrites):
        writes = record.writes
        _check_chunks(link, thread, name, writes.refs)
        link.con.execute(_PUT_WRITES, (link.made_space(thread, writes.ns), *writes_row(writes)))
    elif isinstance(record, DropWrites):
        if (space := link.space(thread, record.ns)) is not None:
            link.con.execute("DELETE FROM writes WHERE space=? AND checkpoint=?", (space, pack(record.checkpoint)))
    elif isinstance(record, PutChunks):
        rows = [(thread, digest, checksum(digest, body), body) for digest, body in record.chunks.items()]
        link.con.executemany(_PUT_CHUNK, rows)
    elif isinstance(record, PutAnswer):
        space = link.made_space(thread, record.answer.ns)
        if link.con.execute(_PUT_ANSWER, (space, *answer_row(record.answer))).rowcount != 1:
            raise answered(name, record.answer)


def _check_chunks(link: Link, thread: int, name: str, refs: Sequence[bytes]) -> None:
    if not refs:
        return
    found: set[bytes] = set()
    for marks, part in sliced(dict.fromkeys(refs)):
        rows = link.con.execute(f"SELECT digest FROM chunk WHERE thread=? AND digest IN ({marks})", (thread, *part))
        found.update(row[0] for row in rows.fetchall())
    for digest in refs:
        if digest not in found:
            raise chunk_missing(name, digest)


_SIZES = (4, 32, 500)
"""How many values one IN list takes: few forms, so that their statements stay prepared, and less than any SQLite allows."""


def sliced(values: Iterable[bytes]) -> Iterator[tuple[str, list[bytes]]]:
    """``values`` in slices for an IN list, each with its question marks; a slice is filled up by its last value."""
    rest = list(values)
    while rest:
        size = next((n for n in _SIZES if n >= len(rest)), _SIZES[-1])
        part, rest = rest[:size], rest[size:]
        part += part[-1:] * (size - len(part))
        yield ",".join("?" * size), part
