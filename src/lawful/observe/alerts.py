"""An alert for operations of the effect ledger whose outcome nobody has known for too long."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lawful.core.lazy import late
from lawful.effects.capability import minutes as as_seconds
from lawful.effects.states import OPEN
from lawful.journal.port import EffectTx, Journal
from lawful.journal.records import Operation
from lawful.observe import names as n


def overdue(journal: Journal, minutes: float) -> list[Operation]:
    """The operations whose outcome has not been known for longer than that, by the store's own clock.

    One whose process died in the call is among them, though nobody has yet found out that it did.
    """

    def look(tx: EffectTx) -> list[Operation]:
        before = tx.now() - as_seconds(minutes)
        return [row for row in tx.operations(states=OPEN) if _since(row) < before]

    return journal.read(look)


def _since(row: Operation) -> float:
    """When it was claimed: looking it up in vain makes it no younger."""
    return row.claimed_at if row.claimed_at is not None else row.updated


def watch_unknown(
    journal: Journal,
    *,
    minutes: float = 10.0,
    provider: Any = None,
    on_alert: Callable[[Sequence[Operation]], object] | None = None,
) -> Any:
    """A gauge, ``lawful.operations.unknown``: how many operations have been unknown for longer than ``minutes``, by tool.

    It is looked at whenever metrics are collected, so that it tells of what other processes left behind too; alert where
    it is above 0. ``on_alert`` is called with the operations at each such look that finds any. Needs the extra ``otel``.
    """
    metrics = late("opentelemetry.metrics", extra="otel")
    meter = (provider if provider is not None else metrics.get_meter_provider()).get_meter("lawful")

    def look(_: Any) -> Iterable[Any]:
        found = overdue(journal, minutes)
        if found and on_alert is not None:
            on_alert(found)
        counts: dict[str, int] = {}
        for row in found:
            counts[row.tool] = counts.get(row.tool, 0) + 1
        told = [metrics.Observation(count, {n.EFFECT: tool}) for tool, count in counts.items()]
        return told or [metrics.Observation(0)]

    return meter.create_observable_gauge(n.UNKNOWN, [look], "{operation}", f"Unknown for more than {minutes:g} minutes")
