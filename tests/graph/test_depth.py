"""Graphs inside graphs: a graph that calls itself without end is told so, with and without a journal."""

from __future__ import annotations

from typing import Any, TypedDict

import pytest

from lawful.core.errors import GraphRecursionError
from lawful.graph import START, StateGraph
from lawful.journal.memory import MemoryJournal
from support.graphs import Drive, on

pytestmark = pytest.mark.unit


class State(TypedDict):
    n: int


@pytest.mark.parametrize("journaled", [True, False])
def test_a_graph_that_calls_itself_for_ever_is_a_recursion_error(drive: Drive, journaled: bool) -> None:
    """Rules: 50. Rows: S0-092."""
    inside: list[Any] = []

    def again(state: State) -> State:
        return inside[0].invoke({"n": state["n"] + 1})

    built: Any = StateGraph(State).add_node("again", again).add_edge(START, "again")
    inside.append(built.compile())
    graph = built.compile(checkpointer=MemoryJournal() if journaled else None)
    with pytest.raises(GraphRecursionError, match="nested"):
        drive.invoke(graph, {"n": 0}, on("t"))


def test_a_graph_may_call_itself_a_few_times(drive: Drive) -> None:
    """Rows: S0-094."""
    inside: list[Any] = []

    def again(state: State) -> State:
        return inside[0].invoke({"n": state["n"] + 1}) if state["n"] < 20 else {"n": 100}

    inside.append(StateGraph(State).add_node("again", again).add_edge(START, "again").compile())
    assert drive.invoke(inside[0], {"n": 0}) == {"n": 100}
