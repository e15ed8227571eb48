"""Effect records under a cipher: the blobs of events and the values of marks are sealed, what policies sum up is not."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from lawful.core.errors import CannotDecrypt
from lawful.journal.cipher import Part, Sealer
from lawful.journal.port import EffectTx
from lawful.journal.records import EffectEvent, Operation
from lawful.journal.wrapper import EffectTxWrapper


class SealedEffectTx(EffectTxWrapper):
    """`EffectTx` over another one, which sees sealed bytes only."""

    def __init__(self, tx: EffectTx, sealer: Sealer, scope: str) -> None:
        super().__init__(tx)
        self._sealer = sealer
        self._scope = scope

    def events(self, op_id: str) -> Sequence[EffectEvent]:
        return tuple(replace(event, blob=self._opened(event)) for event in self._tx.events(op_id))

    def _opened(self, event: EffectEvent) -> bytes:
        try:
            return self._sealer.open(event.blob, self._scope, *_place(event))
        except CannotDecrypt as error:
            raise _told(error, f"event {event.seq} of operation {event.op_id!r}", event.op_id) from error.__cause__

    def append(self, operation: Operation, events: Sequence[EffectEvent]) -> None:
        sealed = [replace(e, blob=self._sealer.seal(e.blob, self._scope, *_place(e))) for e in events]
        self._tx.append(operation, sealed)

    def mark(self, name: str) -> bytes | None:
        found = self._tx.mark(name)
        if found is None:
            return None
        try:
            return self._sealer.open(found, self._scope, "mark", name)
        except CannotDecrypt as error:
            raise _told(error, f"mark {name!r}", name) from error.__cause__

    def set_mark(self, name: str, value: bytes | None) -> None:
        self._tx.set_mark(name, None if value is None else self._sealer.seal(value, self._scope, "mark", name))


def _place(event: EffectEvent) -> tuple[Part, ...]:
    return ("event", event.op_id, event.seq, event.kind, event.digest)


def event_anew(sealer: Sealer, scope: str, event: EffectEvent) -> EffectEvent:
    """The event, sealed with the current key. Raises: CannotDecrypt."""
    try:
        return replace(event, blob=sealer.anew(event.blob, scope, *_place(event)))
    except CannotDecrypt as error:
        raise _told(error, f"event {event.seq} of operation {event.op_id!r}", event.op_id) from error.__cause__


def mark_anew(sealer: Sealer, scope: str, name: str, value: bytes, *place: Part) -> bytes:
    """The value of a mark, sealed with the current key. Raises: CannotDecrypt."""
    try:
        return sealer.anew(value, scope, *(place or ("mark", name)))
    except CannotDecrypt as error:
        raise _told(error, f"mark {name!r}", name) from error.__cause__


def _told(error: CannotDecrypt, what: str, name: str) -> CannotDecrypt:
    found = CannotDecrypt(
        f"{what}: {error.message}", component="journal", operation="read", details={**error.details, "name": name}
    )
    found.raw = error.raw
    return found
