"""What holds for a whole scope: freezes and a quarantine, kept as marks of the journal and read in every claim."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

import msgspec
from msgspec import Struct

from lawful.effects import events as ev
from lawful.effects import states as st
from lawful.effects.intents import IntentRecord
from lawful.effects.log import write
from lawful.effects.states import State
from lawful.journal.port import EffectTx

_FREEZES = "effects:freezes"
_QUARANTINE = "effects:quarantine"


class Freeze(Struct, frozen=True):
    """Operations whose effect's name or id matches ``pattern`` are not claimed and not sent."""

    pattern: str
    """As in a shell: ``*``, ``?`` and ``[...]``; compared with the effect's name and with the operation's id."""
    by: str
    reason: str
    at: float
    """Seconds since 1970 UTC, by the store's clock."""

    def stops(self, record: IntentRecord) -> bool:
        """Whether it is meant."""
        return fnmatchcase(record.tool, self.pattern) or fnmatchcase(record.op_id, self.pattern)


class Quarantine(Struct, frozen=True):
    """The journal was restored from a copy made at ``since``: what it does not know of may have happened since."""

    id: str
    since: float
    by: str
    reason: str
    at: float


_freezes = msgspec.json.Decoder(list[Freeze])
_quarantine = msgspec.json.Decoder(Quarantine)


def freezes(tx: EffectTx) -> tuple[Freeze, ...]:
    """What is frozen."""
    held = tx.mark(_FREEZES)
    return tuple(_freezes.decode(held)) if held else ()


def set_freezes(tx: EffectTx, wanted: Sequence[Freeze]) -> None:
    """Replace them; with none the mark goes."""
    tx.set_mark(_FREEZES, msgspec.json.encode(list(wanted)) if wanted else None)


def frozen(tx: EffectTx, record: IntentRecord) -> str | None:
    """Why this operation may not be sent now, or None."""
    for each in freezes(tx):
        if each.stops(record):
            return f"{each.pattern!r} is frozen by {each.by}: {each.reason}"
    return None


def quarantine(tx: EffectTx) -> Quarantine | None:
    """The quarantine that the scope is in."""
    held = tx.mark(_QUARANTINE)
    return _quarantine.decode(held) if held else None


def set_quarantine(tx: EffectTx, wanted: Quarantine | None) -> None:
    """Begin one, or end it."""
    tx.set_mark(_QUARANTINE, msgspec.json.encode(wanted) if wanted is not None else None)


def doubted(tx: EffectTx, op_id: str, state: State) -> State:
    """Under a quarantine an operation that has not ended is unknown once: it may have been sent after the copy was made."""
    held = quarantine(tx)
    if held is None or isinstance(state, (st.Unplanned, *st.TERMINAL)):
        return state
    facts = state.facts
    if any(attempt.quarantine == held.id for attempt in facts.attempts):
        return state
    event = ev.Quarantined(op_id, max(tx.now(), held.since), facts.fence + 1, held.since, held.id)
    return write(tx, state, (event,))
