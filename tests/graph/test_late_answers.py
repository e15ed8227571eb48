"""Answers that nobody has read yet: they close a question all the same; and a recovery question is asked until settled."""

from __future__ import annotations

from typing import Any, TypedDict

import pytest

from lawful.core.context import here
from lawful.core.signals import OutcomeUnknown, latch
from lawful.graph import START, StateGraph, interrupt
from lawful.journal.memory import MemoryJournal
from lawful.journal.records import Answer, Batch, PutAnswer
from support.graphs import Drive, on

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    said: str


def test_an_answer_that_only_reached_the_journal_closes_a_question_of_a_subgraph(drive: Drive) -> None:
    """As after a crash between the answer and the run. Rules: 118, 116."""

    def ask(state: State) -> State:
        return {"said": str(interrupt("who?"))}

    inner: Any = StateGraph(State).add_node("ask", drive.node(ask)).add_edge(START, "ask").compile()
    journal = MemoryJournal()
    graph: Any = StateGraph(State).add_node("hold", inner).add_edge(START, "hold").compile(checkpointer=journal)
    [question] = drive.run(graph, {}, on("t")).questions
    blob = graph.program.registry.encode(["ada", question.digest, ""])
    journal.commit(Batch("t", (PutAnswer(Answer(question.ns, question.checkpoint, question.id, blob)),)))
    assert graph.questions("t") == ()
    assert drive.invoke(graph, None, on("t")) == {"said": "ada"}


def test_a_recovery_question_may_be_answered_again_until_the_ledger_knows(drive: Drive) -> None:
    """The answer only wakes the run. Rows: S2-019."""
    known: list[str] = []

    def acts(state: State) -> State:
        if not known:
            signal = OutcomeUnknown("op-1", "charge", "the reply was lost")
            latch(here("test"), signal)
            raise signal
        return {"said": known[0]}

    graph: Any = StateGraph(State).add_node("acts", drive.node(acts)).add_edge(START, "acts")
    graph = graph.compile(checkpointer=MemoryJournal())
    paused = drive.run(graph, {}, on("t"))
    for _ in range(2):
        assert [q.kind for q in paused.questions] == ["effect_recovery"]
        paused = drive.resume(graph, "t", paused.questions[0].answer("reconcile"))
    known.append("happened")
    assert drive.resume(graph, "t", paused.questions[0].answer("reconcile")).state == {"said": "happened"}
