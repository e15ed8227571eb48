"""Which states an operation went through, told to the listeners of the run that moved it."""

from __future__ import annotations

from lawful.core.context import Run
from lawful.core.events import EffectMoved
from lawful.effects import states as st
from lawful.effects.log import read_events
from lawful.effects.states import State, name_of
from lawful.effects.transitions import step
from lawful.journal.port import EffectTx


def passed(tx: EffectTx, op_id: str) -> list[str]:
    """The operation's state after each of its events. Raises: CorruptRecord."""
    state: State = st.Unplanned()
    names: list[str] = []
    for event in read_events(tx.events(op_id)):
        state = step(state, event).unwrap()
        names.append(name_of(state))
    return names


def tell_moves(run: Run, op_id: str, tool: str, before: list[str], after: list[str]) -> None:
    """Tell each state that it went into since; an event that leaves the state as it was is no move."""
    last = before[-1] if before else ""
    for state in after[len(before) :]:
        if state != last:
            run.teller.tell(run, EffectMoved(op_id, tool, state))
        last = state
