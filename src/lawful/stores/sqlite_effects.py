"""Effect records in the file: operations, their append-only events, and marks, within one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lawful.stores.effect_rows import RowEffectTx
from lawful.stores.rows import EVENT, OPERATION, Row
from lawful.stores.sqlite_link import Link

_PUT_OPERATION = f"INSERT INTO operation(scope, {OPERATION}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
_SET_OPERATION = f"UPDATE operation SET ({OPERATION}) = (?,?,?,?,?,?,?,?,?,?,?,?,?) WHERE row=?"
_PUT_EVENT = f"INSERT INTO event(operation, {EVENT}) VALUES (?,?,?,?,?,?,?)"
_PUT_MARK = (
    "INSERT INTO mark(scope, name, crc, value) VALUES (?,?,?,?)"
    " ON CONFLICT(scope, name) DO UPDATE SET crc=excluded.crc, value=excluded.value"
)


class SQLiteEffectTx(RowEffectTx):
    """`EffectTx` over one open transaction."""

    __slots__ = ("_con",)

    def __init__(self, link: Link, scope: str, now: float, *, writable: bool) -> None:
        super().__init__(scope, now, writable=writable)
        self._con = link.con

    def _operation(self, op_id: str) -> Row | None:
        statement = f"SELECT {OPERATION} FROM operation WHERE scope=? AND op_id=?"
        return self._con.execute(statement, (self._scope, op_id)).fetchone()

    def _key(self, op_id: str) -> int | None:
        found = self._con.execute(
            "SELECT row FROM operation WHERE scope=? AND op_id=?", (self._scope, op_id)
        ).fetchone()
        return None if found is None else found[0]

    def _events(self, op_id: str) -> Iterable[Row]:
        key = self._key(op_id)
        if key is None:
            return ()
        return self._con.execute(f"SELECT {EVENT} FROM event WHERE operation=? ORDER BY seq", (key,)).fetchall()

    def _version(self, op_id: str) -> tuple[int | None, int]:
        key = self._key(op_id)
        if key is None:
            return None, 0
        (version,) = self._con.execute("SELECT coalesce(max(seq), 0) FROM event WHERE operation=?", (key,)).fetchone()
        return key, version

    def _put(self, key: int | None, operation: Row, events: Sequence[Row]) -> None:
        if key is None:
            key = self._con.execute(_PUT_OPERATION, (self._scope, *operation)).lastrowid
        else:
            self._con.execute(_SET_OPERATION, (*operation, key))
        self._con.executemany(_PUT_EVENT, [(key, *event) for event in events])

    def _matching(
        self, equal: Mapping[str, str], since: float | None, states: Sequence[str], limit: int | None
    ) -> Iterable[Row]:
        where, values = ["scope=?", *(f"{name}=?" for name in equal)], list[Any]([self._scope, *equal.values()])
        if since is not None:
            where.append("claimed_at>=?")
            values.append(since)
        if states:
            where.append(f"state IN ({','.join('?' * len(states))})")
            values.extend(states)
        values.append(-1 if limit is None else limit)
        statement = f"SELECT {OPERATION} FROM operation WHERE {' AND '.join(where)} ORDER BY row LIMIT ?"
        return self._con.execute(statement, values).fetchall()

    def _mark(self, name: str) -> Row | None:
        return self._con.execute("SELECT crc, value FROM mark WHERE scope=? AND name=?", (self._scope, name)).fetchone()

    def _put_mark(self, name: str, crc: int, value: bytes) -> None:
        self._con.execute(_PUT_MARK, (self._scope, name, crc, value))

    def _drop_mark(self, name: str) -> None:
        self._con.execute("DELETE FROM mark WHERE scope=? AND name=?", (self._scope, name))
