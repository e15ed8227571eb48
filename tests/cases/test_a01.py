"""Case A01: parent and child share a list that is joined; nothing in it comes back twice."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import pytest

from lawful import START, Command, Send, StateGraph, interrupt
from lawful.journal.port import Journal
from support.graphs import Drive, concat, on

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    xs: Annotated[list[str], concat]
    note: str


def adding(*texts: str) -> Any:
    def node(state: State) -> State:
        return {"xs": list(texts)}

    return node


def holding(inner: Any, name: str = "child", strict: bool = True, **options: Any) -> Any:
    """A graph whose one node is ``inner``."""
    return StateGraph(State, strict=strict).add_node(name, inner).add_edge(START, name).compile(**options)


def test_the_childs_own_writes_come_back_once(drive: Drive) -> None:
    """And the update event of the child shows no more than these. Cases: A01. Rules: 140."""
    graph = holding(holding(adding("c"), "add"))
    assert drive.invoke(graph, {"xs": ["p"]}) == {"xs": ["p", "c"]}
    assert drive.stream(graph, {"xs": ["p"]}, stream_mode="updates") == [{"child": {"xs": ["c"]}}]


def test_three_deep_it_is_the_same(drive: Drive) -> None:
    """Cases: A01. Rules: 140."""
    graph = holding(holding(holding(adding("c"), "add"), "inner"), "middle")
    assert drive.invoke(graph, {"xs": ["p"]}) == {"xs": ["p", "c"]}
    assert drive.stream(graph, {"xs": ["p"]}, stream_mode="updates") == [{"middle": {"xs": ["c"]}}]


def test_lenient_adds_the_whole_list_again(drive: Drive) -> None:
    """As LangGraph does. Cases: A01. Rules: 140."""
    graph = holding(holding(adding("c"), "add", strict=False), strict=False)
    assert drive.invoke(graph, {"xs": ["p"]}) == {"xs": ["p", "p", "c"]}


def test_several_writes_keep_their_order(drive: Drive) -> None:
    """Cases: A01. Rules: 140."""
    child = StateGraph(State).add_node("b", adding("b")).add_node("a", adding("a")).add_node("c", adding("c1", "c2"))
    child.add_edge(START, "b").add_edge(START, "a").add_edge(["a", "b"], "c")
    graph = holding(child.compile())
    assert drive.invoke(graph, {"xs": ["p"]}) == {"xs": ["p", "a", "b", "c1", "c2"]}


def test_a_child_that_writes_nothing_gives_nothing_back(drive: Drive) -> None:
    """Cases: A01. Rules: 140."""

    def quiet(state: State) -> State:
        return {"note": f"saw {len(state.get('xs', []))}"}

    graph = holding(holding(quiet, "quiet"))
    assert drive.invoke(graph, {"xs": ["p"]}) == {"xs": ["p"], "note": "saw 1"}


def test_children_by_send_and_side_by_side(drive: Drive) -> None:
    """Cases: A01. Rules: 140, 72."""
    child = holding(adding("c"), "add")

    def spread(state: State) -> list[Send]:
        return [Send("child", {"xs": ["sent 1"]}), Send("child", {"xs": ["sent 2"]})]

    builder = StateGraph(State).add_node("child", child).add_node("other", child).add_edge(START, "other")
    graph = builder.add_conditional_edges(START, spread, ["child"]).compile()
    assert drive.invoke(graph, {"xs": ["p"]}) == {"xs": ["p", "c", "c", "c"]}


def test_a_child_in_a_loop_adds_once_a_turn(drive: Drive) -> None:
    """Cases: A01. Rules: 140."""

    def more(state: State) -> str:
        return "child" if len(state.get("xs", [])) < 4 else "__end__"

    builder = StateGraph(State).add_node("child", holding(adding("c"), "add")).add_edge(START, "child")
    graph = builder.add_conditional_edges("child", more, ["child", "__end__"]).compile()
    assert drive.invoke(graph, {"xs": ["p"]}) == {"xs": ["p", "c", "c", "c"]}


def test_over_a_pause_in_the_child(journal: Journal, drive: Drive) -> None:
    """What it wrote before the question, and after it, once each. Cases: A01. Rules: 140, 134."""

    def ask(state: State) -> State:
        return {"xs": [interrupt("?")]}

    child = StateGraph(State).add_sequence([("before", adding("b")), ("ask", ask), ("after", adding("a"))])
    graph = holding(child.add_edge(START, "before").compile(), checkpointer=journal)
    drive.invoke(graph, {"xs": ["p"]}, on("t"))
    assert drive.invoke(graph, Command(resume="answer"), on("t")) == {"xs": ["p", "b", "answer", "a"]}


@pytest.mark.parametrize("strict", [True, False])
def test_a_child_that_keeps_its_own_thread_of_state(strict: bool, journal: Journal, drive: Drive) -> None:
    """Compiled with checkpointer=True it remembers earlier runs; strict gives back this run's writes only.

    Cases: A01. Rules: 140, 135.
    """
    graph = holding(holding(adding("c"), "add", strict, checkpointer=True), strict=strict, checkpointer=journal)
    first = drive.invoke(graph, {"xs": ["p"]}, on("t"))["xs"]
    second = drive.invoke(graph, {"xs": ["q"]}, on("t"))["xs"]
    if strict:
        assert (first, second) == (["p", "c"], ["p", "c", "q", "c"])
    else:
        assert first == ["p", "p", "c"]
        assert second[: len(first)] == first
        assert len(second) > len(first) + 2


class Unlike(TypedDict, total=False):
    xs: list[str]


def test_a_child_whose_key_is_not_reduced_gives_its_last_value(drive: Drive) -> None:
    """It answers with a value of its own, which is one write to the parent. Cases: A01. Rules: 140."""

    def replace(state: Unlike) -> Unlike:
        return {"xs": ["r"]}

    child = StateGraph(Unlike).add_node(replace).add_edge(START, "replace").compile()
    assert drive.invoke(holding(child), {"xs": ["p"]}) == {"xs": ["p", "r"]}
