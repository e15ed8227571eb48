"""Effect records in memory: one scope's operations, events and marks, and a transaction that stages its changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lawful.journal.checks import check_append, check_limit, check_text, labelled, read_only
from lawful.journal.records import EffectEvent, Operation


class EffectRows:
    """One scope's effects."""

    __slots__ = ("events", "marks", "operations")

    def __init__(self) -> None:
        self.operations: dict[str, Operation] = {}
        self.events: dict[str, tuple[EffectEvent, ...]] = {}
        self.marks: dict[str, bytes] = {}


class MemoryEffectTx:
    """Reads through to the scope's rows; what it writes is kept apart until `settle`."""

    __slots__ = ("_events", "_marks", "_now", "_operations", "_rows", "_writable")

    def __init__(self, rows: EffectRows, now: float, *, writable: bool) -> None:
        self._rows = rows
        self._now = now
        self._writable = writable
        self._operations: dict[str, Operation] = {}
        self._events: dict[str, tuple[EffectEvent, ...]] = {}
        self._marks: dict[str, bytes | None] = {}

    def settle(self) -> None:
        """Make what was written part of the scope."""
        self._rows.operations.update(self._operations)
        self._rows.events.update(self._events)
        for name, value in self._marks.items():
            if value is None:
                self._rows.marks.pop(name, None)
            else:
                self._rows.marks[name] = value

    def now(self) -> float:
        return self._now

    def operation(self, op_id: str) -> Operation | None:
        return self._operations.get(op_id) or self._rows.operations.get(op_id)

    def events(self, op_id: str) -> Sequence[EffectEvent]:
        found = self._events.get(op_id)
        return found if found is not None else self._rows.events.get(op_id, ())

    def append(self, operation: Operation, events: Sequence[EffectEvent]) -> None:
        self._may_write()
        op_id = operation.op_id
        stored = self.events(op_id)
        check_append(operation, events, len(stored))
        self._operations[op_id] = operation
        self._events[op_id] = (*stored, *events)

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
        found: list[Operation] = []
        for op in ({**self._rows.operations, **self._operations}).values():
            if limit is not None and len(found) >= limit:
                break
            if states and op.state not in states:
                continue
            if (tool is not None and op.tool != tool) or (thread is not None and op.thread != thread):
                continue
            if since is not None and (op.claimed_at is None or op.claimed_at < since):
                continue
            if labelled(op.labels, labels):
                found.append(op)
        return found

    def mark(self, name: str) -> bytes | None:
        if name in self._marks:
            return self._marks[name]
        return self._rows.marks.get(name)

    def set_mark(self, name: str, value: bytes | None) -> None:
        self._may_write()
        check_text(name, "mark")
        self._marks[name] = value

    def _may_write(self) -> None:
        if not self._writable:
            raise read_only()
