"""A graph with a journal of its own, run inside a node: the run has one journal, and the pause is the whole run's."""

from __future__ import annotations

from typing import TypedDict

import pytest

from lawful import END, START, Done, MemoryJournal, Paused, StateGraph, interrupt

pytestmark = pytest.mark.unit


class S(TypedDict):
    said: str


def test_a_graph_called_inside_a_run_uses_the_runs_journal() -> None:
    def ask(state: S) -> S:
        return {"said": interrupt("well?")}

    own, outer = MemoryJournal(), MemoryJournal()
    inner = StateGraph(S).add_node("ask", ask).add_edge(START, "ask").add_edge("ask", END).compile(checkpointer=own)

    def call(state: S) -> S:
        return {"said": inner.invoke(state)["said"]}

    graph = StateGraph(S).add_node("inner", call)
    made = graph.add_edge(START, "inner").add_edge("inner", END).compile(checkpointer=outer)
    paused = made.run_sync({"said": ""}, thread="t")
    assert isinstance(paused, Paused)
    assert made.resume_sync("t", paused.questions[0].answer("yes")) == Done({"said": "yes"})
    assert own.chain("t", "") is None
