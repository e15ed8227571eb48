"""Effect records as rows, whatever the database: what is checked before it is asked, and how its answers are read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lawful.journal.checks import check_append, check_limit, check_text, corrupt, labelled, read_only
from lawful.journal.records import EffectEvent, Operation
from lawful.stores.rows import Row, checksum, event_of, event_row, operation_of, operation_row


class RowEffectTx(ABC):
    """`EffectTx` over one open transaction of a database; a subclass has its statements."""

    __slots__ = ("_now", "_scope", "_writable")

    def __init__(self, scope: str, now: float, *, writable: bool) -> None:
        self._scope = scope
        self._now = now
        self._writable = writable

    def now(self) -> float:
        return self._now

    def operation(self, op_id: str) -> Operation | None:
        check_text(op_id, "op_id")
        row = self._operation(op_id)
        return None if row is None else operation_of(row)

    def events(self, op_id: str) -> Sequence[EffectEvent]:
        check_text(op_id, "op_id")
        events = tuple(event_of(row, op_id) for row in self._events(op_id))
        if [event.seq for event in events] != list(range(1, len(events) + 1)):
            raise corrupt("sequence of events", op_id=op_id)
        return events

    def append(self, operation: Operation, events: Sequence[EffectEvent]) -> None:
        self._may_write()
        check_text(operation.op_id, "op_id")
        key, version = self._version(operation.op_id)
        check_append(operation, events, version)
        self._put(key, operation_row(operation), [event_row(event) for event in events])

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
        equal = {name: value for name, value in (("tool", tool), ("thread", thread)) if value is not None}
        found: list[Operation] = []
        # Labels are compared here, so the database cannot count for us where some are asked for.
        for row in self._matching(equal, since, states, None if labels else limit):
            if limit is not None and len(found) >= limit:
                break
            operation = operation_of(row)
            if labelled(operation.labels, labels):
                found.append(operation)
        return found

    def mark(self, name: str) -> bytes | None:
        check_text(name, "mark")
        row = self._mark(name)
        if row is None:
            return None
        crc, value = row
        if not isinstance(value, bytes) or checksum(name.encode(), value) != crc:
            raise corrupt("mark", value if isinstance(value, bytes) else repr(value).encode(), name=name)
        return value

    def set_mark(self, name: str, value: bytes | None) -> None:
        self._may_write()
        check_text(name, "mark")
        if value is None:
            self._drop_mark(name)
        else:
            self._put_mark(name, checksum(name.encode(), value), value)

    def _may_write(self) -> None:
        if not self._writable:
            raise read_only()

    @abstractmethod
    def _operation(self, op_id: str) -> Row | None: ...

    @abstractmethod
    def _events(self, op_id: str) -> Iterable[Row]: ...

    @abstractmethod
    def _version(self, op_id: str) -> tuple[int | None, int]:
        """The operation's key, None where there is no such row, and the number of its last event."""
        ...

    @abstractmethod
    def _put(self, key: int | None, operation: Row, events: Sequence[Row]) -> None:
        """Write a new operation, or the one with that key anew, and add its events."""
        ...

    @abstractmethod
    def _matching(
        self, equal: Mapping[str, str], since: float | None, states: Sequence[str], limit: int | None
    ) -> Iterable[Row]:
        """Operations in the order in which they were made; no more than ``limit`` need be given."""
        ...

    @abstractmethod
    def _mark(self, name: str) -> Row | None:
        """Its checksum and its value."""
        ...

    @abstractmethod
    def _put_mark(self, name: str, crc: int, value: bytes) -> None: ...

    @abstractmethod
    def _drop_mark(self, name: str) -> None: ...
