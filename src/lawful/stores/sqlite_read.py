"""What is read of threads within an open transaction: chains, history, children, chunks, listings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from lawful.journal.checks import SOURCES, corrupt, matches
from lawful.journal.records import Chain, Checkpoint, ThreadInfo
from lawful.stores.rows import (
    ANSWERS,
    COLUMNS,
    WRITES,
    answer_of,
    checkpoint_of,
    chunk_of,
    pack,
    unpack,
    writes_of,
)
from lawful.stores.sqlite_batch import sliced
from lawful.stores.sqlite_link import Link

_OF_C = ", ".join(f"c.{name}" for name in COLUMNS.split(", "))
# A parent's id is smaller than its child's: the order of ids is the order of the chain, and no damage makes it a circle.
_CHAIN = f"""
WITH RECURSIVE path(row, id, parent, bare) AS (
  SELECT row, id, parent, snapshot IS NULL FROM checkpoint WHERE space=? AND id=? AND hidden=0
  UNION ALL
  SELECT c.row, c.id, c.parent, c.snapshot IS NULL FROM path p CROSS JOIN checkpoint c
  ON c.space=? AND c.id=p.parent AND c.id<p.id WHERE p.bare)
SELECT {_OF_C} FROM path p CROSS JOIN checkpoint c ON c.row=p.row"""


def chain(link: Link, scope: str, thread: str, ns: str, checkpoint: str | None) -> Chain | None:
    """As `Journal.chain`."""
    number = link.thread(scope, thread)
    space = None if number is None else link.space(number, ns)
    if number is None or space is None:
        return None
    id = link.newest(space) if checkpoint is None else pack(checkpoint)
    if id is None:
        return None
    found = link.con.execute(_CHAIN, (space, id, space)).fetchall()
    if not found:
        return None
    rows = tuple(checkpoint_of(row, thread, ns) for row in reversed(found))
    _check_whole(rows, unpack(id), thread, ns)
    writes = tuple(
        writes_of(row, thread, ns)
        for row in link.con.execute(
            f"SELECT {WRITES} FROM writes WHERE space=? AND checkpoint=? ORDER BY row", (space, id)
        ).fetchall()
    )
    answers = tuple(
        answer_of(row, thread, ns)
        for row in link.con.execute(
            f"SELECT {ANSWERS} FROM answer WHERE space=? AND checkpoint=? ORDER BY row", (space, id)
        ).fetchall()
    )
    wanted = dict.fromkeys(digest for holder in (*rows, *writes) for digest in holder.refs)
    pieces = chunks_of(link, number, thread, wanted) if wanted else {}
    for digest in wanted:
        if digest not in pieces:
            raise corrupt("chunk", thread=thread, ns=ns, id=rows[-1].id, chunk=digest.hex())
    return Chain(rows=rows, writes=writes, answers=answers, chunks=pieces)


def _check_whole(rows: Sequence[Checkpoint], wanted: str, thread: str, ns: str) -> None:
    """Each row is sound by itself; a damaged index may still have led to another, or left one out."""
    first, id = rows[0], rows[-1].id
    if id != wanted or any(before.id != row.parent for before, row in pairwise(rows)):
        raise corrupt("checkpoint", thread=thread, ns=ns, id=wanted)
    if first.snapshot is None and first.parent is not None:
        raise corrupt("checkpoint", thread=thread, ns=ns, id=first.parent)


def chunks_of(link: Link, number: int, thread: str, digests: Iterable[bytes]) -> dict[bytes, bytes]:
    """The chunks stored under ``digests``."""
    found: dict[bytes, bytes] = {}
    for marks, part in sliced(digests):
        rows = link.con.execute(
            f"SELECT digest, crc, body FROM chunk WHERE thread=? AND digest IN ({marks})", (number, *part)
        ).fetchall()
        for digest, crc, body in rows:
            found[digest] = chunk_of(digest, crc, body, thread)
    return found


def history(
    link: Link,
    scope: str,
    thread: str,
    ns: str,
    before: str | None,
    limit: int | None,
    filter: Mapping[str, Any],
) -> list[Checkpoint]:
    """As `Journal.history`; a filter is applied here, to decoded metadata, and never becomes SQL."""
    number = link.thread(scope, thread)
    space = None if number is None else link.space(number, ns)
    if space is None or limit == 0:
        return []
    end = b"\xff" * 17 if before is None else pack(before)
    if not filter:
        rows = link.con.execute(
            f"SELECT {COLUMNS} FROM checkpoint WHERE space=? AND id<? AND hidden=0 ORDER BY id DESC LIMIT ?",
            (space, end, -1 if limit is None else limit),
        ).fetchall()
        return [checkpoint_of(row, thread, ns) for row in rows]
    wanted = _matching(link, space, end, limit, filter, thread, ns)
    get = f"SELECT {COLUMNS} FROM checkpoint WHERE row=?"
    return [checkpoint_of(link.con.execute(get, (row,)).fetchone(), thread, ns) for row in wanted]


def _matching(
    link: Link, space: int, end: object, limit: int | None, filter: Mapping[str, Any], thread: str, ns: str
) -> list[int]:
    found: list[int] = []
    cursor = link.con.execute(
        "SELECT row, id, source, step, metadata FROM checkpoint WHERE space=? AND id<? AND hidden=0 ORDER BY id DESC",
        (space, end),
    )
    while rows := cursor.fetchmany(200):
        for row, id, source, step, metadata in rows:
            try:
                facts = msgspec.json.decode(metadata, type=dict[str, Any])
                fits = matches(facts, SOURCES[int(source)], step, filter)
            except (msgspec.DecodeError, TypeError, IndexError, ValueError) as e:
                raise corrupt("checkpoint", thread=thread, ns=ns, id=unpack(id)) from e
            if fits:
                found.append(row)
                if len(found) == limit:
                    cursor.close()
                    return found
    return found


def children(link: Link, scope: str, thread: str, ns: str, checkpoint: str) -> list[Checkpoint]:
    """As `Journal.children`.

    Most checkpoints are made from the newest one of their time, and so come next after their parent; only the others are
    marked as branches and have an index by parent.
    """
    number = link.thread(scope, thread)
    space = None if number is None else link.space(number, ns)
    if space is None:
        return []
    id = pack(checkpoint)
    rows = link.con.execute(
        f"SELECT {COLUMNS} FROM (SELECT * FROM checkpoint WHERE space=? AND id>? ORDER BY id LIMIT 1)"
        f" WHERE parent=? AND branch=0 AND hidden=0"
        f" UNION ALL SELECT {COLUMNS} FROM checkpoint WHERE space=? AND parent=? AND branch=1 AND hidden=0 ORDER BY id",
        (space, id, id, space, id),
    ).fetchall()
    return [checkpoint_of(row, thread, ns) for row in rows]


def chunks(link: Link, scope: str, thread: str, digests: Sequence[bytes]) -> dict[bytes, bytes]:
    """As `Journal.chunks`."""
    number = link.thread(scope, thread)
    return {} if number is None else chunks_of(link, number, thread, digests)


def namespaces(link: Link, scope: str, thread: str) -> list[str]:
    """As `Journal.namespaces`."""
    number = link.thread(scope, thread)
    if number is None:
        return []
    rows = link.con.execute(
        "SELECT ns FROM space s WHERE thread=? AND EXISTS (SELECT 1 FROM checkpoint c WHERE c.space=s.id)", (number,)
    ).fetchall()
    return sorted(row[0] for row in rows)


def threads(link: Link, scope: str, limit: int | None, after: str | None) -> list[ThreadInfo]:
    """As `Journal.threads`."""
    rows = link.con.execute(
        "SELECT id, name, lineage, created FROM thread WHERE scope=? AND name>? ORDER BY name LIMIT ?",
        (scope, after or "", -1 if limit is None else limit),
    ).fetchall()
    return [_info(link, *row) for row in rows]


def info(link: Link, scope: str, thread: str) -> ThreadInfo | None:
    """As `Journal.info`."""
    number = link.thread(scope, thread)
    if number is None:
        return None
    row = link.con.execute("SELECT id, name, lineage, created FROM thread WHERE id=?", (number,)).fetchone()
    return _info(link, *row)


_HEADS = """
SELECT s.ns, c.at, c.metadata FROM space s JOIN checkpoint c
ON c.row=(SELECT row FROM checkpoint WHERE space=s.id ORDER BY id DESC LIMIT 1) WHERE s.thread=?"""


def _info(link: Link, number: int, name: str, lineage: str, created: float) -> ThreadInfo:
    updated, graph = created, ""
    for ns, at, metadata in link.con.execute(_HEADS, (number,)).fetchall():
        updated = max(updated, at)
        if ns == "":
            try:
                told = msgspec.json.decode(metadata, type=dict[str, Any]).get("_graph", "")
            except (msgspec.DecodeError, TypeError, ValueError) as e:
                raise corrupt("checkpoint", thread=name, ns=ns) from e
            graph = told if isinstance(told, str) else ""
    return ThreadInfo(thread=name, lineage=lineage, created=created, updated=updated, graph=graph)
