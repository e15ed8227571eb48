"""No two places of a graph share a step key, however its nodes are named: an effect or a question belongs to one place."""

from __future__ import annotations

from typing import Any

import pytest

from lawful.effects import HERE, Repeatable, effect
from lawful.graph import START, Send, StateGraph, interrupt
from lawful.journal.port import Journal
from support.graphs import Drive, on
from support.pausing import Log, asked

pytestmark = pytest.mark.unit


def ask(question: str) -> Any:
    def body(state: Log) -> Log:
        return {"log": [f"{question} {interrupt(question)}"]}

    return body


def packet_and_namesake(packet: Any, namesake: Any, journal: Journal) -> Any:
    """A packet to the node "a", and beside it the node "a#0", in one step."""

    def both(state: Log) -> list[Any]:
        return [Send("a", {}), "a#0"]

    builder: Any = StateGraph(Log).add_node("a", packet).add_node("a#0", namesake)
    return builder.add_conditional_edges(START, both, ["a", "a#0"]).compile(journal)


def test_a_packet_and_a_node_named_like_it_each_have_their_effect(drive: Drive, journal: Journal) -> None:
    """Rules: 68."""
    sent: list[int] = []

    @effect(capability=Repeatable())
    def mail(ctx: Any = HERE) -> int:
        sent.append(1)
        return len(sent)

    def body(state: Log) -> Log:
        mail()
        return {"log": ["mailed"]}

    out = drive.invoke(packet_and_namesake(body, body, journal), {}, on("t"))
    assert (len(sent), out["log"]) == (2, ["mailed", "mailed"])


def test_a_packet_and_a_node_named_like_it_ask_two_questions(drive: Drive, journal: Journal) -> None:
    """Rules: 68, 113, 116."""
    graph = packet_and_namesake(ask("packet?"), ask("node?"), journal)
    paused = drive.run(graph, {}, on("t"))
    assert len({question.id for question in paused.questions}) == 2
    replies = [question.answer(f"to {question.value}") for question in paused.questions]
    out = drive.resume(graph, "t", *replies).state
    assert sorted(out["log"]) == ["node? to node?", "packet? to packet?"]


def test_a_node_named_like_a_path_asks_a_question_of_its_own(drive: Drive, journal: Journal) -> None:
    """The other one is asked inside a subgraph at that path. Rules: 113, 129."""
    inner = StateGraph(Log).add_node("n", ask("inside?")).add_edge(START, "n").compile()
    builder: Any = StateGraph(Log).add_node("p", inner).add_node("p@1/n", ask("beside?"))
    graph = builder.add_edge(START, "p").add_edge(START, "p@1/n").compile(journal)
    questions = asked(drive.invoke(graph, {}, on("t")))
    assert {question.value for question in questions} == {"inside?", "beside?"}
    assert len({question.id for question in questions}) == 2
