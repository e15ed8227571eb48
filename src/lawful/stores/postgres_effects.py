"""Effect records in the database: operations, their append-only events, and marks, within one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lawful.journal.checks import check_append, check_limit, check_text, corrupt, labelled, read_only
from lawful.journal.records import EffectEvent, Operation
from lawful.stores.postgres_link import Link
from lawful.stores.rows import EVENT, OPERATION, checksum, event_of, event_row, operation_of, operation_row

_MARKS = ", ".join(["%s"] * (OPERATION.count(",") + 1))
_PUT_OPERATION = f"INSERT INTO @operation(scope, {OPERATION}) VALUES (%s, {_MARKS}) RETURNING id"
_SET_OPERATION = f"UPDATE @operation SET ({OPERATION}) = ROW({_MARKS}) WHERE id=%s"
_VERSION = """
SELECT o.id, (SELECT e.seq FROM @event e WHERE e.operation=o.id ORDER BY e.seq DESC LIMIT 1)
FROM @operation o WHERE o.scope=%s AND o.op_id=%s"""
_EVENTS = f"""
SELECT {EVENT} FROM @event WHERE operation=(SELECT id FROM @operation WHERE scope=%s AND op_id=%s) ORDER BY seq"""


class PostgresEffectTx:
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
        row = self._link.run(
            f"SELECT {OPERATION} FROM @operation WHERE scope=%s AND op_id=%s", (self._scope, op_id)
        ).fetchone()
        return None if row is None else operation_of(row)

    def events(self, op_id: str) -> Sequence[EffectEvent]:
        check_text(op_id, "op_id")
        events = tuple(event_of(row, op_id) for row in self._link.run(_EVENTS, (self._scope, op_id)))
        if [event.seq for event in events] != list(range(1, len(events) + 1)):
            raise corrupt("sequence of events", op_id=op_id)
        return events

    def append(self, operation: Operation, events: Sequence[EffectEvent]) -> None:
        self._may_write()
        op_id = operation.op_id
        check_text(op_id, "op_id")
        found = self._link.run(_VERSION, (self._scope, op_id)).fetchone()
        number, version = (None, 0) if found is None else (found[0], found[1] or 0)
        check_append(operation, events, version)
        values = operation_row(operation)
        if number is None:
            made = self._link.write(_PUT_OPERATION, (self._scope, *values)).fetchone()
            assert made is not None
            number = made[0]
        else:
            self._link.write(_SET_OPERATION, (*values, number))
        rows = [(number, *event_row(event)) for event in events]
        marks = ", ".join(["(%s, %s, %s, %s, %s, %s, %s)"] * len(rows))
        self._link.write(
            f"INSERT INTO @event(operation, {EVENT}) VALUES {marks}", [value for row in rows for value in row]
        )

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
        where, values = ["scope=%s"], list[Any]([self._scope])
        asked: list[tuple[str, Any]] = [("tool=%s", tool), ("thread=%s", thread), ("claimed_at>=%s", since)]
        for condition, value in asked:
            if value is not None:
                where.append(condition)
                values.append(value)
        if states:
            where.append("state=ANY(%s::text[])")
            values.append(list(states))
        values.append(None if labels else limit)
        found: list[Operation] = []
        statement = f"SELECT {OPERATION} FROM @operation WHERE {' AND '.join(where)} ORDER BY id LIMIT %s"
        for row in self._link.run(statement, values):
            if limit is not None and len(found) >= limit:
                break
            operation = operation_of(row)
            if labelled(operation.labels, labels):
                found.append(operation)
        return found

    def mark(self, name: str) -> bytes | None:
        check_text(name, "mark")
        row = self._link.run("SELECT crc, value FROM @mark WHERE scope=%s AND name=%s", (self._scope, name)).fetchone()
        if row is None:
            return None
        crc, value = row
        if checksum(name.encode(), value) != crc:
            raise corrupt("mark", value, name=name)
        return value

    def set_mark(self, name: str, value: bytes | None) -> None:
        self._may_write()
        check_text(name, "mark")
        if value is None:
            self._link.write("DELETE FROM @mark WHERE scope=%s AND name=%s", (self._scope, name))
            return
        self._link.write(
            "INSERT INTO @mark(scope, name, crc, value) VALUES (%s, %s, %s, %s)"
            " ON CONFLICT (scope, name) DO UPDATE SET crc=excluded.crc, value=excluded.value",
            (self._scope, name, checksum(name.encode(), value), value),
        )

    def _may_write(self) -> None:
        if not self._writable:
            raise read_only()
