"""A journal from outside keeps every promise of the port by the suite that is shipped, and a graph runs over it."""

from __future__ import annotations

from typing import Any, TypedDict

import pytest

from lawful import START, StateGraph, interrupt
from lawful.core.clock import SYSTEM, Clock
from lawful.journal.port import Journal
from lawful.testing.conformance import JournalConformance
from support.third_party import ValueJournal

pytestmark = pytest.mark.unit


class TestValueJournal(JournalConformance):
    """Rows: S1-017, S0-120."""

    def make_journal(self, clock: Clock) -> Journal:
        return ValueJournal(clock)


class State(TypedDict, total=False):
    said: str


def test_a_graph_asks_and_goes_on_over_it() -> None:
    """Rows: S1-017."""

    def ask(state: State) -> State:
        return {"said": interrupt("which?")}

    journal = ValueJournal(SYSTEM)
    assert isinstance(journal, Journal)
    graph: Any = StateGraph(State).add_node("ask", ask).add_edge(START, "ask").compile(checkpointer=journal)
    paused = graph.run_sync({"said": ""}, thread="t")
    assert graph.resume_sync("t", paused.questions[0].answer("this")).state == {"said": "this"}
    assert next(iter(graph.get_state_history("t"))).values == {"said": "this"}
