"""What is read of threads: chains in one consistent view, everything else by single statements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from lawful.journal.checks import SOURCES, check_text, corrupt, matches
from lawful.journal.records import Chain, Checkpoint, ThreadInfo
from lawful.stores.postgres_link import Link
from lawful.stores.postgres_pool import Pool
from lawful.stores.postgres_rows import answer_out, ns_key, stored_id, writes_out
from lawful.stores.rows import COLUMNS, checkpoint_of, chunk_of, pack

_OF_C = ", ".join(f"c.{name}" for name in COLUMNS.split(", "))
_SPACE = "SELECT s.id FROM @thread t JOIN @space s ON s.thread=t.id WHERE t.scope=%s AND t.name=%s AND s.key=%s"
# A parent's id is smaller than its child's: the order of ids is the order of the chain, and no damage makes it a circle.
_CHAIN = f"""
WITH RECURSIVE path(id, parent, bare, depth) AS (
  SELECT c.id, c.parent, c.snapshot IS NULL, 0 FROM @checkpoint c WHERE c.space=%s AND c.id=%s AND NOT c.hidden
  UNION ALL
  SELECT c.id, c.parent, c.snapshot IS NULL, p.depth+1 FROM path p
  CROSS JOIN LATERAL (SELECT * FROM @checkpoint q WHERE q.space=%s AND q.id=p.parent AND q.id<p.id) c WHERE p.bare)
SELECT {_OF_C} FROM path p JOIN @checkpoint c ON c.space=%s AND c.id=p.id ORDER BY p.depth DESC"""
_TIP = """
SELECT t.id, s.id, (SELECT c.id FROM @checkpoint c WHERE c.space=s.id ORDER BY c.id DESC LIMIT 1)
FROM @thread t JOIN @space s ON s.thread=t.id WHERE t.scope=%s AND t.name=%s AND s.key=%s"""
_HISTORY = f"""
SELECT {COLUMNS} FROM @checkpoint WHERE space=({_SPACE}) AND id<%s AND NOT hidden ORDER BY id DESC LIMIT %s"""
_PAGE = 500


def chain(link: Link, scope: str, thread: str, ns: str, checkpoint: str | None) -> Chain | None:
    """As `Journal.chain`, in one consistent view."""
    _check_names(thread, ns)
    found = link.run(_TIP, (scope, thread, ns_key(ns))).fetchone()
    if found is None:
        return None
    number, space, newest = found
    id = newest if checkpoint is None else pack(checkpoint)
    if not isinstance(id, bytes):
        return None
    raw = link.run(_CHAIN, (space, id, space, space)).fetchall()
    if not raw:
        return None
    rows = tuple(checkpoint_of(row, thread, ns) for row in raw)
    if rows[0].snapshot is None and rows[0].parent is not None:
        raise corrupt("checkpoint", thread=thread, ns=ns, id=rows[0].parent)
    place = (space, id)
    writes = tuple(
        writes_out(row, thread, ns)
        for row in link.run(
            "SELECT checkpoint, task, kind, crc, blob, refs FROM @writes WHERE space=%s AND checkpoint=%s ORDER BY row",
            place,
        )
    )
    answers = tuple(
        answer_out(row, thread, ns)
        for row in link.run(
            "SELECT checkpoint, question, principal, at, crc, blob FROM @answer"
            " WHERE space=%s AND checkpoint=%s ORDER BY row",
            place,
        )
    )
    wanted = dict.fromkeys(digest for holder in (*rows, *writes) for digest in holder.refs)
    pieces = _pieces(link, number, thread, wanted) if wanted else {}
    for digest in wanted:
        if digest not in pieces:
            raise corrupt("chunk", thread=thread, ns=ns, id=rows[-1].id, chunk=digest.hex())
    return Chain(rows=rows, writes=writes, answers=answers, chunks=pieces)


def _check_names(thread: str, ns: str = "") -> None:
    check_text(thread, "thread id")
    check_text(ns, "namespace")


def _pieces(link: Link, number: int, thread: str, digests: Iterable[bytes]) -> dict[bytes, bytes]:
    statement = "SELECT digest, crc, body FROM @chunk WHERE thread=%s AND digest=ANY(%s::bytea[])"
    rows = link.run(statement, (number, list(digests)))
    return {digest: chunk_of(digest, crc, body, thread) for digest, crc, body in rows}


def history(
    store: Pool,
    scope: str,
    thread: str,
    ns: str,
    before: str | None,
    limit: int | None,
    filter: Mapping[str, Any],
) -> list[Checkpoint]:
    """As `Journal.history`; a filter is applied here, to decoded metadata, and never becomes SQL."""
    _check_names(thread, ns)
    if limit == 0:
        return []
    end = b"\xff" * 17 if before is None else stored_id(before)
    place = (scope, thread, ns_key(ns))
    if not filter:
        return [checkpoint_of(row, thread, ns) for row in store.ask(_HISTORY, (*place, end, limit))]
    wanted: list[bytes] = []
    for id, source, step, metadata in _facts(store, place, end):
        if _fits(id, source, step, metadata, filter, thread, ns):
            wanted.append(id)
            if len(wanted) == limit:
                break
    statement = f"SELECT {COLUMNS} FROM @checkpoint WHERE space=({_SPACE}) AND id=ANY(%s::bytea[]) ORDER BY id DESC"
    return [checkpoint_of(row, thread, ns) for row in store.ask(statement, (*place, wanted))]


def _facts(store: Pool, place: tuple[str, str, bytes], end: bytes) -> Iterator[tuple[Any, ...]]:
    statement = (
        f"SELECT id, source, step, metadata FROM @checkpoint WHERE space=({_SPACE}) AND id<%s AND NOT hidden"
        " ORDER BY id DESC LIMIT %s"
    )
    while rows := store.ask(statement, (*place, end, _PAGE)):
        yield from rows
        end = rows[-1][0]


def _fits(id: bytes, source: int, step: int, metadata: bytes, filter: Mapping[str, Any], thread: str, ns: str) -> bool:
    try:
        facts = msgspec.json.decode(metadata, type=dict[str, Any])
        return matches(facts, SOURCES[source], step, filter)
    except (msgspec.DecodeError, TypeError, IndexError, ValueError) as e:
        raise corrupt("checkpoint", thread=thread, ns=ns, id=id.hex()) from e


def children(store: Pool, scope: str, thread: str, ns: str, checkpoint: str) -> list[Checkpoint]:
    """As `Journal.children`: the next one in the order of ids, if it is one, and those that the index of branches has."""
    _check_names(thread, ns)
    id = pack(checkpoint)
    if not isinstance(id, bytes):
        return []
    statement = f"""
WITH s AS MATERIALIZED ({_SPACE})
SELECT {COLUMNS} FROM (SELECT * FROM @checkpoint WHERE space=(SELECT id FROM s) AND id>%s ORDER BY id LIMIT 1) c
WHERE parent=%s AND NOT branch AND NOT hidden
UNION ALL
SELECT {COLUMNS} FROM @checkpoint WHERE space=(SELECT id FROM s) AND parent=%s AND branch AND NOT hidden ORDER BY id"""
    rows = store.ask(statement, (scope, thread, ns_key(ns), id, id, id))
    return [checkpoint_of(row, thread, ns) for row in rows]


def chunks(store: Pool, scope: str, thread: str, digests: Sequence[bytes]) -> dict[bytes, bytes]:
    """As `Journal.chunks`."""
    _check_names(thread)
    statement = (
        "SELECT digest, crc, body FROM @chunk WHERE thread=(SELECT id FROM @thread WHERE scope=%s AND name=%s)"
        " AND digest=ANY(%s::bytea[])"
    )
    rows = store.ask(statement, (scope, thread, list(digests)))
    return {digest: chunk_of(digest, crc, body, thread) for digest, crc, body in rows}


def namespaces(store: Pool, scope: str, thread: str) -> list[str]:
    """As `Journal.namespaces`."""
    _check_names(thread)
    statement = """
SELECT s.ns FROM @thread t JOIN @space s ON s.thread=t.id WHERE t.scope=%s AND t.name=%s
AND EXISTS (SELECT 1 FROM @checkpoint c WHERE c.space=s.id)"""
    return sorted(row[0] for row in store.ask(statement, (scope, thread)))


_INFOS = """
SELECT t.name, t.lineage, t.created, s.ns, c.at, CASE WHEN s.ns='' THEN c.metadata END
FROM (SELECT * FROM @thread WHERE scope=%s {which}) t
LEFT JOIN @space s ON s.thread=t.id
LEFT JOIN LATERAL (SELECT at, metadata FROM @checkpoint q WHERE q.space=s.id ORDER BY q.id DESC LIMIT 1) c ON true
ORDER BY t.name"""


def threads(store: Pool, scope: str, limit: int | None, after: str | None) -> list[ThreadInfo]:
    """As `Journal.threads`."""
    statement = _INFOS.format(which="AND name>%s ORDER BY name LIMIT %s")
    return _infos(store.ask(statement, (scope, after or "", limit)))


def info(store: Pool, scope: str, thread: str) -> ThreadInfo | None:
    """As `Journal.info`."""
    _check_names(thread)
    found = _infos(store.ask(_INFOS.format(which="AND name=%s"), (scope, thread)))
    return found[0] if found else None


def _infos(rows: Sequence[tuple[Any, ...]]) -> list[ThreadInfo]:
    found: dict[str, ThreadInfo] = {}
    for name, lineage, created, ns, at, metadata in rows:
        known = found.get(name) or ThreadInfo(name, lineage, created, created)
        if at is not None:
            graph = _graph(name, metadata) if ns == "" else known.graph
            known = msgspec.structs.replace(known, updated=max(known.updated, at), graph=graph)
        found[name] = known
    return list(found.values())


def _graph(thread: str, metadata: bytes) -> str:
    try:
        told = msgspec.json.decode(metadata, type=dict[str, Any]).get("_graph", "")
    except (msgspec.DecodeError, TypeError, ValueError) as e:
        raise corrupt("checkpoint", thread=thread, ns="") from e
    return told if isinstance(told, str) else ""
