"""Pure: the modes of a replay from the record, and the order of the calls that a dry run came to."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any, Literal, TypeAlias, cast

from lawful.core.context import Slot
from lawful.core.errors import ConfigurationError, nearest
from lawful.core.replay import IntendedCall

ReplayMode: TypeAlias = Literal["recorded", "dry_run"]

BEYOND = 25
"""So many steps a dry run may go on after the record's end."""


def is_dry(mode: str) -> bool:
    """Whether ``mode`` is "dry_run". Raises: ConfigurationError for "live", which needs ``on_fork="new"``, and any other."""
    match mode:
        case "recorded":
            return False
        case "dry_run":
            return True
        case "live":
            why = (
                "a live replay calls, so it does not run from the record: use graph.replay(snapshot). An effect that then has"
                ' other arguments is performed as a new operation only where it says so: @effect(on_fork="new")'
            )
        case _:
            why = f"{mode!r} is no mode of a replay from the record.{nearest(mode, ('recorded', 'dry_run', 'live'))}"
    raise ConfigurationError(why, component="graph", operation="replay", details={"mode": mode})


def in_order(met: Iterable[tuple[Slot, IntendedCall]]) -> tuple[IntendedCall, ...]:
    """By step, then by the task's place in its step, then as the task asked; each operation of a task once."""
    found: dict[Any, IntendedCall] = {}
    for slot, call in sorted(met, key=lambda each: _place(each[0])):
        found.setdefault((slot.step_key, slot.visit, call.op_id) if call.op_id else len(found), call)
    return tuple(found.values())


def within(slot: Slot, checkpoints: Container[str]) -> bool:
    """Whether the outermost task around ``slot`` runs from one of these checkpoints."""
    return _place(slot)[0][0] in checkpoints


def _place(slot: Slot) -> tuple[tuple[str, int, int], ...]:
    """Of everything around it, the outermost first: the checkpoint that it runs from, and the place in the step."""
    path: list[tuple[str, int, int]] = []
    at: Slot | None = slot
    while at is not None:
        task = cast("Any", at)
        checkpoint = str(getattr(getattr(task, "base", None), "checkpoint", None) or "")
        path.append((checkpoint, getattr(task, "position", 0), getattr(task, "call_index", -1)))
        at = at.holder
    return tuple(reversed(path))
