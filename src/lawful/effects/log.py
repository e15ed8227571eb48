"""An operation's events as a journal keeps them: canonical JSON, chained digests, and the row that is their fold."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from lawful.core.canonical import canonical
from lawful.core.errors import CorruptRecord
from lawful.core.result import Err, Ok
from lawful.effects import events as ev
from lawful.effects import states as st
from lawful.effects.digests import chained, lists
from lawful.effects.events import Event
from lawful.effects.states import State, name_of
from lawful.effects.transitions import replay, step
from lawful.journal.port import EffectTx
from lawful.journal.records import EffectEvent, Operation

_decoder = msgspec.json.Decoder(Event)


def encode(event: Event) -> bytes:
    """Canonical JSON of ``event``. Raises: ValidationError, if a piece of it is not JSON."""
    return canonical(lists(msgspec.to_builtins(event)), where=type(event).__name__)


def decode(row: EffectEvent) -> Event:
    """The event of a stored row. Raises: CorruptRecord, which keeps the bytes."""
    try:
        return _decoder.decode(row.blob)
    except msgspec.MsgspecError as error:
        raise _corrupt(row.op_id, f"event {row.seq} ({row.kind}) does not decode: {error}", row.blob) from error


def read_events(rows: Sequence[EffectEvent]) -> tuple[Event, ...]:
    """The events of one operation, their chain verified. Raises: CorruptRecord."""
    before = b""
    events: list[Event] = []
    for place, row in enumerate(rows, 1):
        if row.seq != place or row.digest != chained(before, row.seq, row.blob):
            raise _corrupt(row.op_id, f"the chain of digests breaks at event {place}", row.blob)
        events.append(decode(row))
        before = row.digest
    return tuple(events)


def load(tx: EffectTx, op_id: str) -> State:
    """Where the operation stands: the fold of its events. Raises: CorruptRecord."""
    rows = tx.events(op_id)
    match replay(read_events(rows)):
        case Ok(state):
            return state
        case Err(error):
            raise _corrupt(op_id, f"the events do not fold: {error.message}", b"") from error


def write(tx: EffectTx, state: State, events: Sequence[Event]) -> State:
    """Append ``events`` to the operation that stands at ``state``, and return where it stands then.

    Raises: InvalidTransition, from the first event that may not follow; nothing is written then.
    """
    if not events:
        return state
    for event in events:
        state = step(state, event).unwrap()
    assert not isinstance(state, st.Unplanned)
    stored = tx.events(events[0].op_id)
    before = stored[-1].digest if stored else b""
    rows: list[EffectEvent] = []
    for seq, event in enumerate(events, len(stored) + 1):
        blob = encode(event)
        before = chained(before, seq, blob)
        rows.append(EffectEvent(event.op_id, seq, type(event).__name__, event.at, blob, before))
    tx.append(projection(state, events[-1].at), rows)
    return state


def projection(state: State, updated: float) -> Operation:
    """The row that listings and queries read instead of folding."""
    assert not isinstance(state, st.Unplanned)
    facts = state.facts
    intent, last = facts.intent, facts.attempts[-1] if facts.attempts else None
    return Operation(
        op_id=intent.op_id,
        tool=intent.tool,
        state=name_of(state),
        version=facts.version,
        lineage=intent.lineage,
        thread=intent.thread,
        key=intent.key,
        args_hash=intent.args_hash,
        claimed_at=last.claimed_at if last is not None else None,
        lease_until=last.lease_until if last is not None and isinstance(state, st.InFlight) else None,
        labels=intent.labels if intent.compensates is None else {**intent.labels, "compensates": intent.compensates},
        updated=updated,
    )


def claim_of(events: Sequence[Event]) -> ev.Claimed | None:
    """The newest claim among ``events``."""
    return next((event for event in reversed(events) if isinstance(event, ev.Claimed)), None)


def _corrupt(op_id: str, why: str, raw: bytes) -> CorruptRecord:
    error = CorruptRecord(f"operation {op_id}: {why}", component="effects", operation="read", details={"op_id": op_id})
    error.raw = raw
    return error
