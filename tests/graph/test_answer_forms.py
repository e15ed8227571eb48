"""`interrupt(..., response_schema=)`: shown with the question, held against the answer before that is taken."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import pytest

pytest.importorskip("pydantic")

from pydantic import BaseModel

from lawful import START, Command, StateGraph, interrupt
from lawful.core.errors import InvalidUpdateError, ValidationError
from lawful.func import entrypoint, task
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from support.graphs import Drive, concat, on

pytestmark = pytest.mark.unit


class Decision(BaseModel):
    yes: bool
    why: str = ""


class State(TypedDict, total=False):
    trail: Annotated[list[str], concat]


def asks(which: str) -> Any:
    def ask(state: State) -> State:
        found = interrupt(which, response_schema=Decision)
        return {"trail": [f"{which} {found.yes} {found.why}"]}

    return ask


def graph_of(journal: Journal, strict: bool, drive: Drive, *names: str) -> Any:
    builder = StateGraph(State, strict=strict)
    for name in names:
        builder.add_node(name, drive.node(asks(name))).add_edge(START, name)
    return builder.compile(checkpointer=journal)


def test_the_schema_is_shown_and_the_node_gets_the_class(journal: Journal, strict: bool, drive: Drive) -> None:
    graph = graph_of(journal, strict, drive, "a")
    [question] = drive.invoke(graph, {"trail": []}, on("t"))["__interrupt__"]
    assert question.response_schema == Decision.model_json_schema()
    [stored] = drive.get_state(graph, on("t")).interrupts
    assert stored.response_schema == question.response_schema
    out = drive.invoke(graph, Command(resume={"yes": True, "why": "well"}), on("t"))
    assert out == {"trail": ["a True well"]}


@pytest.mark.parametrize("by_id", [False, True])
def test_an_answer_of_another_form_is_refused_and_the_question_stays_open(
    journal: Journal, strict: bool, drive: Drive, by_id: bool
) -> None:
    graph = graph_of(journal, strict, drive, "a", "b") if by_id else graph_of(journal, strict, drive, "a")
    drive.invoke(graph, {"trail": []}, on("t"))
    ids = {q.value: q.id for q in drive.get_state(graph, on("t")).interrupts}

    def answer(value: Any) -> Any:
        return drive.invoke(graph, Command(resume={ids["a"]: value} if by_id else value), on("t"))

    for wrong in ("perhaps", {"why": "no yes"}):
        with pytest.raises(ValidationError, match=r"is not answered by") as raised:
            answer(wrong)
        assert isinstance(raised.value, ValueError)
        assert {q.value for q in drive.get_state(graph, on("t")).interrupts} == set(ids)
    out = answer({"yes": False})
    assert out["trail"] == ["a False "]
    if by_id:
        assert [q.value for q in out["__interrupt__"]] == ["b"]


def test_a_json_schema_is_shown_alone(drive: Drive) -> None:
    def ask(state: State) -> State:
        return {"trail": [str(interrupt("?", response_schema={"type": "integer"}))]}

    builder = StateGraph(State).add_node("ask", drive.node(ask)).add_edge(START, "ask")
    graph = builder.compile(checkpointer=MemoryJournal())
    [question] = drive.invoke(graph, {"trail": []}, on("t"))["__interrupt__"]
    assert question.response_schema == {"type": "integer"}
    assert drive.invoke(graph, Command(resume="five"), on("t")) == {"trail": ["five"]}


def test_calls_of_tasks_ask_so_too() -> None:
    @task
    def ask(which: str) -> str:
        return f"{which} {interrupt(which, response_schema=Decision).yes}"

    @entrypoint(checkpointer=MemoryJournal())
    def flow(n: int) -> list[str]:
        futures = [ask(which) for which in ("a", "b")]
        return [future.result() for future in futures]

    first = flow.invoke(1, thread="t")
    ids = {q.value: q.id for q in first["__interrupt__"]}
    with pytest.raises(ValidationError):
        flow.invoke(Command(resume={ids["a"]: 1, ids["b"]: {"yes": True}}), thread="t")
    assert flow.invoke(Command(resume={ids["a"]: {"yes": False}}), thread="t") == ["a False", "b True"]


def test_what_is_no_form_is_refused() -> None:
    def ask(state: State) -> Any:
        form: Any = object()
        return interrupt("?", response_schema=form)

    graph = StateGraph(State).add_node("ask", ask).add_edge(START, "ask").compile(checkpointer=MemoryJournal())
    with pytest.raises(InvalidUpdateError, match="response_schema"):
        graph.invoke({"trail": []}, thread="t")
