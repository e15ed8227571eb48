"""What was claimed lately, summed or counted: the figures that a policy may demand, read in the claim's own transaction."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from lawful.core.errors import ConfigurationError
from lawful.effects.intents import IntentRecord
from lawful.journal.records import Operation

COUNTED: tuple[str, ...] = ("InFlight", "Unknown", "Granted", "Succeeded", "Conflicted", "Abandoned")
"""States in which an operation's effect has happened or may have: only these count."""


class Aggregate(Struct, frozen=True):
    """A sum or a count over the operations of one scope that were claimed within a window; made by `spent` or `counted`."""

    window: float
    """Seconds before the claim."""
    what: str = ""
    """The label that is summed up; "" counts operations."""
    by: str = ""
    """Only operations whose label of this name equals that of the operation in question."""
    tool: str = ""
    """Only this effect's operations; "" for those of the same effect, "*" for all."""

    def __post_init__(self) -> None:
        if not self.window > 0:
            raise ConfigurationError(f"a window is above 0 seconds, not {self.window}", component="policy")

    @property
    def name(self) -> str:
        """What records and findings call it."""
        told = f"{'sum of ' + self.what if self.what else 'number'} within {self.window:g} s"
        return f"{told}{' by ' + self.by if self.by else ''}{' of ' + self.tool if self.tool else ''}"

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that an operation needs for it."""
        return tuple(name for name in (self.by, self.what) if name)


def spent(what: str = "amount", *, window: float, by: str = "", tool: str = "") -> Aggregate:
    """The sum of label ``what`` over the operations claimed within ``window`` seconds, this one not among them."""
    return Aggregate(window, what, by, tool)


def counted(*, window: float, by: str = "", tool: str = "") -> Aggregate:
    """The number of operations claimed within ``window`` seconds, this one not among them."""
    return Aggregate(window, "", by, tool)


def tool_of(aggregate: Aggregate, intent: IntentRecord) -> str | None:
    """The effect whose operations count; None for every effect's."""
    return None if aggregate.tool == "*" else aggregate.tool or intent.tool


def total(aggregate: Aggregate, intent: IntentRecord, rows: Iterable[Operation], now: float) -> float:
    """The figure for ``intent`` at ``now``, over ``rows`` as they stand then."""
    tool, since = tool_of(aggregate, intent), now - aggregate.window
    wanted = intent.labels.get(aggregate.by) if aggregate.by else None
    found: float = 0
    for row in rows:
        if row.op_id == intent.op_id or row.state not in COUNTED or row.claimed_at is None or row.claimed_at <= since:
            continue
        if (tool is not None and row.tool != tool) or (aggregate.by and row.labels.get(aggregate.by) != wanted):
            continue
        found += _number(row.labels.get(aggregate.what)) if aggregate.what else 1
    return found


def _number(value: object) -> float:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else 0


def own_share(aggregate: Aggregate, intent: IntentRecord) -> float | None:
    """What this operation adds to the figure; None where it has not the labels for it."""
    if any(intent.labels.get(name) is None for name in aggregate.labels):
        return None
    if not aggregate.what:
        return 1
    value = intent.labels[aggregate.what]
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
