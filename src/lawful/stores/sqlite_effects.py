"""Effect records in the file: operations, their append-only events, and marks, within one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lawful.journal.checks import check_append, check_limit, check_text, corrupt, labelled, read_only
from lawful.journal.records import EffectEvent, Operation
from lawful.stores.rows import (
    EVENT,
    OPERATION,
    checksum,
    event_of,
    event_row,
    operation_of,
    operation_row,
)
from lawful.stores.sqlite_link import Link

_PUT_OPERATION = f"INSERT INTO operation(scope, {OPERATION}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
_SET_OPERATION = f"UPDATE operation SET ({OPERATION}) = (?,?,?,?,?,?,?,?,?,?,?,?,?) WHERE row=?"
_PUT_EVENT = f"INSERT INTO event(operation, {EVENT}) VALUES (?,?,?,?,?,?,?)"


class SQLiteEffectTx:
    """`EffectTx` over one open transaction."""

    __slots__ = ("_link", "_now", "_scope", "_writable")

    def __init__(self, link: Link, scope: str, now: float, *, writable: bool) -> None:
        self._link = link
        self._scope = scope
        self._now = now
        self._writable = writable

    def now(self) -> float:
        return self._now

    def operation(self, op_id: str) -> Operation | None:
        check_text(op_id, "op_id")
        row = self._link.con.execute(
            f"SELECT {OPERATION} FROM operation WHERE scope=? AND op_id=?", (self._scope, op_id)
        ).fetchone()
        return None if row is None else operation_of(row)

    def _row(self, op_id: str) -> int | None:
        found = self._link.con.execute(
            "SELECT row FROM operation WHERE scope=? AND op_id=?", (self._scope, op_id)
        ).fetchone()
        return None if found is None else found[0]

    def events(self, op_id: str) -> Sequence[EffectEvent]:
        check_text(op_id, "op_id")
        row = self._row(op_id)
        if row is None:
            return ()
        found = self._link.con.execute(f"SELECT {EVENT} FROM event WHERE operation=? ORDER BY seq", (row,)).fetchall()
        events = tuple(event_of(event, op_id) for event in found)
        if [event.seq for event in events] != list(range(1, len(events) + 1)):
            raise corrupt("sequence of events", op_id=op_id)
        return events

    def append(self, operation: Operation, events: Sequence[EffectEvent]) -> None:
        self._may_write()
        con, op_id = self._link.con, operation.op_id
        check_text(op_id, "op_id")
        row = self._row(op_id)
        version = 0
        if row is not None:
            (version,) = con.execute("SELECT coalesce(max(seq), 0) FROM event WHERE operation=?", (row,)).fetchone()
        check_append(operation, events, version)
        values = operation_row(operation)
        if row is None:
            row = con.execute(_PUT_OPERATION, (self._scope, *values)).lastrowid
        else:
            con.execute(_SET_OPERATION, (*values, row))
        con.executemany(_PUT_EVENT, [(row, *event_row(event)) for event in events])

    def operations(
        self,
        *,
        states: Sequence[str] = (),
        tool: str | None = None,
        thread: str | None = None,
        labels: Mapping[str, Any] | None = None,
        since: float | None = None,
        limit: int | None = None,
    ) -> Iterable[Operation]:
        check_limit(limit, "operations")
        where, values = ["scope=?"], [self._scope]
        asked: list[tuple[str, Any]] = [("tool=?", tool), ("thread=?", thread), ("claimed_at>=?", since)]
        for condition, value in asked:
            if value is not None:
                where.append(condition)
                values.append(value)
        if states:
            where.append(f"state IN ({','.join('?' * len(states))})")
            values.extend(states)
        rows = self._link.con.execute(
            f"SELECT {OPERATION} FROM operation WHERE {' AND '.join(where)} ORDER BY row", values
        ).fetchall()
        found: list[Operation] = []
        for row in rows:
            if limit is not None and len(found) >= limit:
                break
            operation = operation_of(row)
            if labelled(operation.labels, labels):
                found.append(operation)
        return found

    def mark(self, name: str) -> bytes | None:
        check_text(name, "mark")
        row = self._link.con.execute(
            "SELECT crc, value FROM mark WHERE scope=? AND name=?", (self._scope, name)
        ).fetchone()
        if row is None:
            return None
        crc, value = row
        if not isinstance(value, bytes) or checksum(name.encode(), value) != crc:
            raise corrupt("mark", repr(value).encode(), name=name)
        return value

    def set_mark(self, name: str, value: bytes | None) -> None:
        self._may_write()
        check_text(name, "mark")
        con = self._link.con
        if value is None:
            con.execute("DELETE FROM mark WHERE scope=? AND name=?", (self._scope, name))
            return
        con.execute(
            "INSERT INTO mark(scope, name, crc, value) VALUES (?,?,?,?)"
            " ON CONFLICT(scope, name) DO UPDATE SET crc=excluded.crc, value=excluded.value",
            (self._scope, name, checksum(name.encode(), value), value),
        )

    def _may_write(self) -> None:
        if not self._writable:
            raise read_only()
