"""Forgetting, copying and pruning threads in the database, each within one write transaction that holds their locks."""

from __future__ import annotations

from typing import Any

import msgspec

from lawful.journal.checks import check_text, refuse
from lawful.journal.retention import Line, plan
from lawful.stores.postgres_link import Link
from lawful.stores.postgres_rows import ANSWER, CHECKPOINT, WRITES
from lawful.stores.rows import COLUMNS, checkpoint_of, checkpoint_row, raw_id, split_refs, unpack

_SPACES = "(SELECT id FROM @space WHERE thread=%s)"


def _number(link: Link, scope: str, thread: str) -> int | None:
    check_text(thread, "thread id")
    row = link.run("SELECT id FROM @thread WHERE scope=%s AND name=%s", (scope, thread)).fetchone()
    return None if row is None else row[0]


def delete_thread(link: Link, scope: str, thread: str) -> None:
    """As `Journal.delete_thread`; the lease's row stays, for its fence must not begin anew."""
    number = _number(link, scope, thread)
    if number is None:
        return
    for table in ("checkpoint", "writes", "answer"):
        link.write(f"DELETE FROM @{table} WHERE space IN {_SPACES}", (number,))
    link.write("DELETE FROM @chunk WHERE thread=%s", (number,))
    link.write("DELETE FROM @space WHERE thread=%s", (number,))
    link.write("DELETE FROM @thread WHERE id=%s", (number,))


def copy_thread(link: Link, scope: str, source: str, target: str, now: float) -> None:
    """As `Journal.copy_thread`."""
    origin = _number(link, scope, source)
    if origin is None or not _begun(link, origin):
        raise refuse(f"thread {source!r} has no checkpoints to copy", "copy_thread", thread=source)
    taken = _number(link, scope, target)
    if taken is not None:
        if _begun(link, taken):
            raise refuse(f"thread {target!r} has checkpoints already", "copy_thread", thread=target)
        delete_thread(link, scope, target)
    made = _made(
        link,
        "INSERT INTO @thread(scope, name, lineage, created)"
        " SELECT scope, %s, lineage, %s FROM @thread WHERE id=%s RETURNING id",
        (target, now, origin),
    )
    link.write(
        "INSERT INTO @chunk(thread, digest, crc, body) SELECT %s, digest, crc, body FROM @chunk WHERE thread=%s",
        (made, origin),
    )
    for space, key, ns in link.run("SELECT id, key, ns FROM @space WHERE thread=%s", (origin,)).fetchall():
        copy = _made(link, "INSERT INTO @space(thread, key, ns) VALUES (%s, %s, %s) RETURNING id", (made, key, ns))
        for table, columns, order in (
            ("checkpoint", CHECKPOINT, "id"),
            ("writes", WRITES, "row"),
            ("answer", ANSWER, "row"),
        ):
            rest = columns.removeprefix("space, ")
            link.write(
                f"INSERT INTO @{table}(space, {rest}) SELECT %s, {rest} FROM @{table} WHERE space=%s ORDER BY {order}",
                (copy, space),
            )


def _made(link: Link, statement: str, values: tuple[Any, ...]) -> int:
    row = link.write(statement, values).fetchone()
    assert row is not None
    return row[0]


def _begun(link: Link, thread: int) -> bool:
    found = link.run(f"SELECT 1 FROM @checkpoint WHERE space IN {_SPACES} LIMIT 1", (thread,)).fetchone()
    return found is not None


def prune(
    link: Link,
    scope: str,
    thread: str,
    *,
    now: float,
    keep_last: int,
    keep_every: int | None,
    older_than: float | None,
) -> int:
    """Prune one thread and sweep the chunks that nothing refers to any more; how many checkpoints went."""
    number = _number(link, scope, thread)
    if number is None:
        return 0
    count = 0
    for space, ns in link.run("SELECT id, ns FROM @space WHERE thread=%s", (number,)).fetchall():
        lines = _lines(link, space)
        if not lines:
            continue
        going = plan(lines, now=now, keep_last=keep_last, keep_every=keep_every, older_than=older_than)
        count += going.count
        for id in going.hide:
            _hide(link, space, thread, ns, raw_id(id))
        for table, column, ids in (
            ("checkpoint", "id", going.drop),
            ("writes", "checkpoint", going.drop + going.hide),
            ("answer", "checkpoint", going.drop + going.hide),
        ):
            if ids:
                statement = f"DELETE FROM @{table} WHERE space=%s AND {column}=ANY(%s::bytea[])"
                link.write(statement, (space, [raw_id(id) for id in ids]))
    _sweep(link, number)
    return count


def _lines(link: Link, space: int) -> list[Line]:
    rows = link.run(
        "SELECT id, parent, step, at, snapshot IS NOT NULL, hidden FROM @checkpoint WHERE space=%s ORDER BY id",
        (space,),
    ).fetchall()
    return [
        Line(unpack(id), None if parent is None else unpack(parent), step, at, whole, hidden)
        for id, parent, step, at, whole, hidden in rows
    ]


def _hide(link: Link, space: int, thread: str, ns: str, id: bytes) -> None:
    row = link.run(f"SELECT {COLUMNS} FROM @checkpoint WHERE space=%s AND id=%s", (space, id)).fetchone()
    assert row is not None
    found = checkpoint_of(row, thread, ns)
    bare = msgspec.structs.replace(found, metadata={}, delta=b"" if found.snapshot is not None else found.delta)
    values = checkpoint_row(bare, branch=row[6], hidden=True)
    marks = ", ".join(["%s"] * len(values))
    link.write(f"UPDATE @checkpoint SET ({COLUMNS}) = ROW({marks}) WHERE space=%s AND id=%s", (*values, space, id))


def _sweep(link: Link, thread: int) -> None:
    used: set[bytes] = set()
    for table in ("checkpoint", "writes"):
        rows = link.run(f"SELECT refs FROM @{table} WHERE space IN {_SPACES} AND length(refs)>0", (thread,))
        for (refs,) in rows.fetchall():
            used.update(split_refs(refs))
    stored = link.run("SELECT digest FROM @chunk WHERE thread=%s", (thread,)).fetchall()
    if idle := [digest for (digest,) in stored if digest not in used]:
        link.write("DELETE FROM @chunk WHERE thread=%s AND digest=ANY(%s::bytea[])", (thread, idle))
