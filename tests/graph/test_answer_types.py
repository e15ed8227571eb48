"""An answer is held to its question's type before it is taken, and a pause inside a node stays a pause."""

from __future__ import annotations

from typing import Any

import pytest

from lawful.core.errors import Failure, InvalidUpdateError
from lawful.graph import START, Command, StateGraph, interrupt
from lawful.journal.port import Journal
from support.graphs import Drive, on
from support.pausing import Log, asked

pytestmark = pytest.mark.unit


def asking(kind: Any, journal: Journal | None = None) -> Any:
    def ask(state: Log) -> Log:
        return {"log": [repr(interrupt("?", answer=kind))]}

    return StateGraph(Log).add_node(ask).add_edge(START, "ask").compile(journal)


@pytest.mark.parametrize(
    ("kind", "wrong", "right"),
    [(int, "seven", 7), (int, True, 7), (float, "1.5", 2), (bool, 1, True), (str, 3, "three"), (list, {}, [1])],
)
def test_an_answer_of_another_type_is_refused_and_the_question_stays_open(
    kind: type, wrong: Any, right: Any, drive: Drive, journal: Journal
) -> None:
    """Rules: 114. Rows: S1-H04."""
    graph = asking(kind, journal)
    [question] = asked(drive.invoke(graph, {}, on("t")))
    with pytest.raises(Failure, match=kind.__name__):
        drive.invoke(graph, Command(resume=wrong), on("t"))
    assert [open.id for open in graph.questions("t")] == [question.id]
    assert drive.invoke(graph, Command(resume={question.id: right}), on("t")) == {"log": [repr(right)]}


def test_a_question_can_be_held_only_to_types_that_an_answer_is_checked_against(drive: Drive, journal: Journal) -> None:
    """Rows: S1-H03."""

    class Own:
        pass

    with pytest.raises(InvalidUpdateError, match="answer="):
        drive.invoke(asking(Own, journal), {}, on("t"))


def test_a_pause_of_a_graph_that_a_node_runs_pauses_that_node(drive: Drive, journal: Journal) -> None:
    """As a result it could be overlooked. Rules: 129. Rows: S1-H08, S0-104."""
    inner = asking(str)

    def hold(state: Log) -> Log:
        return {"log": [type(inner.run_sync({})).__name__]}

    graph: Any = StateGraph(Log).add_node(hold).add_edge(START, "hold").compile(journal)
    assert [question.value for question in asked(drive.invoke(graph, {}, on("t")))] == ["?"]
    assert drive.invoke(graph, Command(resume="yes"), on("t")) == {"log": ["Done"]}


async def test_a_pause_of_a_graph_that_a_node_awaits_pauses_that_node(journal: Journal) -> None:
    """Rules: 129. Rows: S1-H08, S0-104."""
    inner = asking(str)

    async def hold(state: Log) -> Log:
        return {"log": [type(await inner.run({})).__name__]}

    graph: Any = StateGraph(Log).add_node(hold).add_edge(START, "hold").compile(journal)
    assert [question.value for question in asked(await graph.ainvoke({}, on("t")))] == ["?"]
    assert await graph.ainvoke(Command(resume="yes"), on("t")) == {"log": ["Done"]}
