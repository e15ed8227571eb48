"""Effect records in the database: operations, their append-only events, and marks, within one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lawful.stores.effect_rows import RowEffectTx
from lawful.stores.postgres_link import Link
from lawful.stores.rows import EVENT, OPERATION, Row

_VALUES = ", ".join(["%s"] * (OPERATION.count(",") + 1))
_PUT_OPERATION = f"INSERT INTO @operation(scope, {OPERATION}) VALUES (%s, {_VALUES}) RETURNING id"
_SET_OPERATION = f"UPDATE @operation SET ({OPERATION}) = ROW({_VALUES}) WHERE id=%s"
_VERSION = """
SELECT o.id, (SELECT e.seq FROM @event e WHERE e.operation=o.id ORDER BY e.seq DESC LIMIT 1)
FROM @operation o WHERE o.scope=%s AND o.op_id=%s"""
_EVENTS = f"""
SELECT {EVENT} FROM @event WHERE operation=(SELECT id FROM @operation WHERE scope=%s AND op_id=%s) ORDER BY seq"""
_PUT_MARK = (
    "INSERT INTO @mark(scope, name, crc, value) VALUES (%s, %s, %s, %s)"
    " ON CONFLICT (scope, name) DO UPDATE SET crc=excluded.crc, value=excluded.value"
)


class PostgresEffectTx(RowEffectTx):
    """`EffectTx` over one open transaction."""

    __slots__ = ("_link",)

    def __init__(self, link: Link, scope: str, now: float, *, writable: bool) -> None:
        super().__init__(scope, now, writable=writable)
        self._link = link

    def _operation(self, op_id: str) -> Row | None:
        statement = f"SELECT {OPERATION} FROM @operation WHERE scope=%s AND op_id=%s"
        return self._link.run(statement, (self._scope, op_id)).fetchone()

    def _events(self, op_id: str) -> Iterable[Row]:
        return self._link.run(_EVENTS, (self._scope, op_id))

    def _version(self, op_id: str) -> tuple[int | None, int]:
        found = self._link.run(_VERSION, (self._scope, op_id)).fetchone()
        return (None, 0) if found is None else (found[0], found[1] or 0)

    def _put(self, key: int | None, operation: Row, events: Sequence[Row]) -> None:
        if key is None:
            made = self._link.write(_PUT_OPERATION, (self._scope, *operation)).fetchone()
            assert made is not None
            key = made[0]
        else:
            self._link.write(_SET_OPERATION, (*operation, key))
        rows = ", ".join(["(%s, %s, %s, %s, %s, %s, %s)"] * len(events))
        values = [value for event in events for value in (key, *event)]
        self._link.write(f"INSERT INTO @event(operation, {EVENT}) VALUES {rows}", values)

    def _matching(
        self, equal: Mapping[str, str], since: float | None, states: Sequence[str], limit: int | None
    ) -> Iterable[Row]:
        where, values = ["scope=%s", *(f"{name}=%s" for name in equal)], list[Any]([self._scope, *equal.values()])
        if since is not None:
            where.append("claimed_at>=%s")
            values.append(since)
        if states:
            where.append("state=ANY(%s::text[])")
            values.append(list(states))
        values.append(limit)
        statement = f"SELECT {OPERATION} FROM @operation WHERE {' AND '.join(where)} ORDER BY id LIMIT %s"
        return self._link.run(statement, values)

    def _mark(self, name: str) -> Row | None:
        return self._link.run("SELECT crc, value FROM @mark WHERE scope=%s AND name=%s", (self._scope, name)).fetchone()

    def _put_mark(self, name: str, crc: int, value: bytes) -> None:
        self._link.write(_PUT_MARK, (self._scope, name, crc, value))

    def _drop_mark(self, name: str) -> None:
        self._link.write("DELETE FROM @mark WHERE scope=%s AND name=%s", (self._scope, name))
