"""A replay from the record: what it answers with, and what becomes of a call that the record does not answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from lawful.core.context import Run, Slot
from lawful.core.errors import ReplayGap
from lawful.core.questions import Question, id_of
from lawful.core.signals import GraphInterrupt, latch

KEY = "__recorded"
"""The key of ``configurable`` under which a replay hands its record to what runs inside."""

CallKind: TypeAlias = Literal["effect", "model", "tool", "task"]


class IntendedCall(Struct, frozen=True):
    """A call that a dry run came to and that nobody got."""

    kind: CallKind
    name: str
    """The effect's, model's, tool's or task's."""
    node: str = ""
    args: Any = None
    """An effect's command as JSON, a tool's arguments, a task's ``[positional, keyword]``; of a model None."""
    op_id: str = ""
    """An effect's operation."""
    capability: str = ""
    """What the effect's provider promises; "" of other calls."""
    needs: tuple[str, ...] = ()
    """The conjuncts of the effect's policy by name, and what its own rule says other than yes."""
    stands: str = ""
    """The state that the record has an effect's operation in: "Unplanned", "Planned", "Unknown", ..."""
    recorded: Any = None
    """The recorded arguments of the operation, where they are others than these."""
    why: str = ""
    """Why the record does not answer it."""


class Recorded:
    """The answers that a thread's record holds, by question; in a dry run also what was met without an answer."""

    __slots__ = ("answers", "dry", "gaps", "met")

    def __init__(self, answers: Mapping[str, Any], dry: bool = False) -> None:
        self.answers = answers
        self.dry = dry
        self.met: list[tuple[Slot, IntendedCall]] = []
        """In the order of arrival, which threads decide."""
        self.gaps: list[tuple[Slot, ReplayGap]] = []


def recorded_in(run: Run) -> Recorded | None:
    """The record that ``run`` is replayed from, or None where it is no replay."""
    configurable: Any = run.root.config.get("configurable")
    found = configurable.get(KEY) if configurable else None
    return found if isinstance(found, Recorded) else None


def gap(slot: Slot, why: str, call: IntendedCall | None = None) -> BaseException:
    """What to raise where the record has no answer: told to every attempt around ``slot``, so that no handler goes on without.

    A replay fails there. A dry run notes ``call``, or the gap, and ends the task as a question would, so that tasks beside
    it go on.
    """
    error = ReplayGap(why, component="replay", operation=f"node {slot.node!r}", details={"node": slot.node})
    record = recorded_in(slot.run)
    if record is not None and record.dry:
        if call is None:
            record.gaps.append((slot, error))
        else:
            record.met.append((slot, call))
        return _stopped(slot, why)
    at: Slot | None = slot
    while at is not None:
        at.fault = error
        at = at.holder
    return error


def _stopped(slot: Slot, why: str) -> GraphInterrupt:
    base = getattr(slot, "base", None)
    question = Question(
        value=why,
        id=id_of(slot.run.lineage, slot.step_key, slot.visit, f"dry:{slot.count('dry')}"),
        node=slot.node,
        ns=getattr(base, "ns", ""),
        checkpoint=getattr(base, "checkpoint", ""),
        task=getattr(slot, "id", ""),
    )
    signal = GraphInterrupt((question,))
    at: Slot | None = slot
    while at is not None:
        latch(at, signal)
        at = at.holder
    return signal
