"""A replay from the record: what it answers with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lawful.core.context import Run, Slot
from lawful.core.errors import ReplayGap

KEY = "__recorded"
"""The key of ``configurable`` under which a replay hands its record to what runs inside."""


class Recorded:
    """The answers that a thread's record holds, by question."""

    __slots__ = ("answers",)

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.answers = answers


def recorded_in(run: Run) -> Recorded | None:
    """The record that ``run`` is replayed from, or None where it is no replay."""
    configurable: Any = run.root.config.get("configurable")
    found = configurable.get(KEY) if configurable else None
    return found if isinstance(found, Recorded) else None


def gap(slot: Slot, why: str) -> ReplayGap:
    """The gap, told to every attempt around ``slot``, so that no handler of theirs can go on without the answer."""
    error = ReplayGap(why, component="replay", operation=f"node {slot.node!r}", details={"node": slot.node})
    at: Slot | None = slot
    while at is not None:
        at.fault = error
        at = at.holder
    return error
