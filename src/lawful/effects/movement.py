"""Which states an operation went through and which look-ups were made, told to the listeners of the run that moved it."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

from lawful.core.context import Run
from lawful.core.errors import Failure
from lawful.core.events import EffectLooked, EffectMoved
from lawful.effects import states as st
from lawful.effects.contract import Intent
from lawful.effects.events import LookupNoted
from lawful.effects.log import read_events
from lawful.effects.states import State, name_of
from lawful.effects.steps import Call, Do, Kit, Look, Step, Steps
from lawful.effects.transitions import step
from lawful.journal.port import EffectTx

R = TypeVar("R")
Passed: TypeAlias = list[tuple[str, str]]
"""For each of an operation's events, the state after it and, of a look-up, what it saw."""


def passed(tx: EffectTx, op_id: str) -> Passed:
    """What the operation has gone through so far. Raises: CorruptRecord."""
    state: State = st.Unplanned()
    found: Passed = []
    for event in read_events(tx.events(op_id)):
        state = step(state, event).unwrap()
        found.append((name_of(state), event.seen if isinstance(event, LookupNoted) else ""))
    return found


def moves(op_id: str, tool: str, before: Passed, after: Passed) -> list[EffectMoved | EffectLooked]:
    """Each state that it went into since, and each look-up; another event that leaves the state as it was is no move."""
    last = before[-1][0] if before else ""
    found: list[EffectMoved | EffectLooked] = []
    for state, saw in after[len(before) :]:
        if saw:
            found.append(EffectLooked(op_id, tool, saw.partition(":")[0]))
        if state != last:
            found.append(EffectMoved(op_id, tool, state))
        last = state
    return found


def telling(run: Run, kit: Kit, intent: Intent[Any, Any], steps: Steps[R]) -> Steps[R]:
    """``steps``, whose moves are told as they are made: before the provider is called or asked, and at the end."""
    op_id, tool = intent.op_id, intent.record.tool
    told: Passed = yield Do(lambda: kit.journal.read(lambda tx: passed(tx, op_id)))
    got: Any = None
    wrong: Failure | None = None
    try:
        while True:
            try:
                order: Step = steps.send(got) if wrong is None else steps.throw(wrong)
            except StopIteration as end:
                yield from _news(run, kit, op_id, tool, told)
                return end.value
            if isinstance(order, (Call, Look)):
                told = yield from _news(run, kit, op_id, tool, told)
            got = wrong = None
            try:
                got = yield order
            except Failure as failed:
                wrong = failed
    finally:
        steps.close()


def _news(run: Run, kit: Kit, op_id: str, tool: str, told: Passed) -> Steps[Passed]:
    after: Passed = yield Do(lambda: kit.journal.read(lambda tx: passed(tx, op_id)))
    for event in moves(op_id, tool, told, after):
        run.teller.tell(run, event)
    return after
