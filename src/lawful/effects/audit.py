"""Whether what is stored is what was written: chains of digests, rows rebuilt from their events, heads kept elsewhere."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from lawful.core.errors import CorruptRecord
from lawful.core.result import Err, Ok
from lawful.effects import states as st
from lawful.effects.log import projection, read_events
from lawful.effects.transitions import replay
from lawful.journal.port import EffectTx
from lawful.journal.records import Operation


class Head(Struct, frozen=True):
    """The end of one operation's chain: whoever keeps it elsewhere can tell later that nothing before it was changed."""

    scope: str
    op_id: str
    version: int
    """How many events it has."""
    digest: str
    """64 hex digits: of the newest event and, through it, of all before."""


class Wrong(Struct, frozen=True):
    """What does not hold of an operation."""

    op_id: str
    why: str


class Audit(Struct, frozen=True):
    """What `Ledger.audit` found."""

    operations: int
    events: int
    wrong: tuple[Wrong, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether everything holds."""
        return not self.wrong

    def __str__(self) -> str:
        told = f"{self.operations} operations, {self.events} events: "
        return told + ("all chains and rows hold" if self.clean else f"{len(self.wrong)} do not hold")


def heads(tx: EffectTx, scope: str) -> tuple[Head, ...]:
    """The end of every chain of the scope, oldest operation first."""
    found: list[Head] = []
    for row in list(tx.operations()):
        events = tx.events(row.op_id)
        if events:
            found.append(Head(scope, row.op_id, events[-1].seq, events[-1].digest.hex()))
    return tuple(found)


def audit(tx: EffectTx, kept: Iterable[Head] = ()) -> Audit:
    """Verify every chain, rebuild every row and compare, and compare with the heads that were kept elsewhere."""
    rows = list(tx.operations())
    wrong: list[Wrong] = []
    count = 0
    for row in rows:
        events, why = checked(tx, row)
        count += events
        if why:
            wrong.append(Wrong(row.op_id, why))
    wrong += [Wrong(head.op_id, why) for head in kept if (why := _against(tx, head))]
    return Audit(len(rows), count, tuple(wrong))


def checked(tx: EffectTx, row: Operation) -> tuple[int, str]:
    """How many events an operation has, and what does not hold of it, or ""."""
    try:
        stored = tx.events(row.op_id)
        events = read_events(stored)
    except CorruptRecord as error:
        return 0, error.message
    match replay(events):
        case Err(error):
            return len(events), f"its events do not fold: {error.message}"
        case Ok(st.Unplanned()):
            return 0, "it has no events"
        case Ok(state):
            rebuilt = projection(state, events[-1].at)
            fields = [name for name in row.__struct_fields__ if getattr(row, name) != getattr(rebuilt, name)]
            return len(events), f"its row differs from its events in {', '.join(fields)}" if fields else ""


def _against(tx: EffectTx, head: Head) -> str:
    events = tx.events(head.op_id)
    if len(events) < head.version:
        return f"it had {head.version} events when its head was kept, and has {len(events)}"
    if events[head.version - 1].digest.hex() != head.digest:
        return f"its events up to {head.version} are not those whose head was kept"
    return ""
