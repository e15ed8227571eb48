"""Forgetting, copying and pruning threads in the file, each within one write transaction."""

from __future__ import annotations

import msgspec

from lawful.journal.checks import refuse
from lawful.journal.retention import Line, plan
from lawful.stores.rows import COLUMNS, checkpoint_of, checkpoint_row, raw_id, split_refs, unpack
from lawful.stores.sqlite_link import Link

_SPACES = "(SELECT id FROM space WHERE thread=?)"


def delete_thread(link: Link, scope: str, thread: str) -> None:
    """As `Journal.delete_thread`; the lease's row stays, for its fence must not begin anew."""
    number = link.thread(scope, thread)
    if number is None:
        return
    for table in ("checkpoint", "writes", "answer"):
        link.con.execute(f"DELETE FROM {table} WHERE space IN {_SPACES}", (number,))
    link.con.execute("DELETE FROM chunk WHERE thread=?", (number,))
    link.con.execute("DELETE FROM space WHERE thread=?", (number,))
    link.con.execute("DELETE FROM thread WHERE id=?", (number,))
    link.forget()


def copy_thread(link: Link, scope: str, source: str, target: str, now: float) -> None:
    """As `Journal.copy_thread`."""
    con = link.con
    origin = link.thread(scope, source)
    if origin is None or not _begun(link, origin):
        raise refuse(f"thread {source!r} has no checkpoints to copy", "copy_thread", thread=source)
    taken = link.thread(scope, target)
    if taken is not None:
        if _begun(link, taken):
            raise refuse(f"thread {target!r} has checkpoints already", "copy_thread", thread=target)
        delete_thread(link, scope, target)
    made = con.execute(
        "INSERT INTO thread(scope, name, lineage, created) SELECT scope, ?, lineage, ? FROM thread WHERE id=?",
        (target, now, origin),
    ).lastrowid
    con.execute(
        "INSERT INTO chunk(thread, digest, crc, body) SELECT ?, digest, crc, body FROM chunk WHERE thread=?",
        (made, origin),
    )
    for space, ns in con.execute("SELECT id, ns FROM space WHERE thread=?", (origin,)).fetchall():
        copy = con.execute("INSERT INTO space(thread, ns) VALUES (?,?)", (made, ns)).lastrowid
        for table, columns in _COPIED:
            con.execute(
                f"INSERT INTO {table}(space, {columns}) SELECT ?, {columns} FROM {table} WHERE space=? ORDER BY row",
                (copy, space),
            )
    link.forget()


_COPIED = (
    ("checkpoint", COLUMNS),
    ("writes", "checkpoint, task, kind, crc, blob, refs"),
    ("answer", "checkpoint, question, principal, at, crc, blob"),
)


def _begun(link: Link, thread: int) -> bool:
    found = link.con.execute(f"SELECT 1 FROM checkpoint WHERE space IN {_SPACES} LIMIT 1", (thread,)).fetchone()
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
    number = link.thread(scope, thread)
    if number is None:
        return 0
    count = 0
    for space, ns in link.con.execute("SELECT id, ns FROM space WHERE thread=?", (number,)).fetchall():
        lines = _lines(link, space)
        going = (
            plan(lines, now=now, keep_last=keep_last, keep_every=keep_every, older_than=older_than) if lines else None
        )
        if going is None:
            continue
        count += going.count
        for id in going.hide:
            _hide(link, space, thread, ns, raw_id(id))
        for table, column, ids in (
            ("checkpoint", "id", going.drop),
            ("writes", "checkpoint", going.drop + going.hide),
            ("answer", "checkpoint", going.drop + going.hide),
        ):
            link.con.executemany(
                f"DELETE FROM {table} WHERE space=? AND {column}=?", [(space, raw_id(id)) for id in ids]
            )
    _sweep(link, number)
    link.forget()
    return count


def _lines(link: Link, space: int) -> list[Line]:
    rows = link.con.execute(
        "SELECT id, parent, step, at, snapshot IS NOT NULL, hidden FROM checkpoint WHERE space=? ORDER BY id", (space,)
    ).fetchall()
    return [
        Line(unpack(id), None if parent is None else unpack(parent), step, at, bool(whole), bool(hidden))
        for id, parent, step, at, whole, hidden in rows
    ]


def _hide(link: Link, space: int, thread: str, ns: str, id: bytes) -> None:
    row = link.con.execute(f"SELECT {COLUMNS} FROM checkpoint WHERE space=? AND id=?", (space, id)).fetchone()
    found = checkpoint_of(row, thread, ns)
    bare = msgspec.structs.replace(found, metadata={}, delta=b"" if found.snapshot is not None else found.delta)
    values = checkpoint_row(bare, branch=bool(row[6]), hidden=True)
    marks = ",".join("?" * len(values))
    link.con.execute(f"UPDATE checkpoint SET ({COLUMNS}) = ({marks}) WHERE space=? AND id=?", (*values, space, id))


def _sweep(link: Link, thread: int) -> None:
    used: set[bytes] = set()
    for table in ("checkpoint", "writes"):
        rows = link.con.execute(f"SELECT refs FROM {table} WHERE space IN {_SPACES} AND length(refs) > 0", (thread,))
        for (refs,) in rows.fetchall():
            used.update(split_refs(refs))
    stored = link.con.execute("SELECT row, digest FROM chunk WHERE thread=?", (thread,)).fetchall()
    link.con.executemany("DELETE FROM chunk WHERE row=?", [(row,) for row, digest in stored if digest not in used])
