"""`Command(graph=Command.PARENT)`: a subgraph's node speaks for the node that holds it."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import pytest

from lawful import START, Command, Failed, Send, StateGraph
from lawful.core.errors import Failure
from lawful.core.signals import ParentCommand
from lawful.journal.port import Journal
from support.graphs import Drive, concat, mark, on

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    trail: Annotated[list[str], concat]
    answer: str


def speaking(command: Any, strict: bool, **options: Any) -> Any:
    """A graph: a, then b, which returns ``command``."""

    def b(state: State) -> Any:
        return command

    builder = StateGraph(State, strict=strict).add_node("a", mark("a")).add_node("b", b)
    return builder.add_edge(START, "a").add_edge("a", "b").compile(**options)


def holding(inner: Any, strict: bool, **options: Any) -> Any:
    """A graph: inner, then edge; left and right are reached by goto only."""
    builder = StateGraph(State, strict=strict).add_node("inner", inner).add_edge(START, "inner")
    for name in ("edge", "left", "right"):
        builder.add_node(name, mark(name))
    return builder.add_edge("inner", "edge").compile(**options)


def called(inner: Any) -> Any:
    """A node function that calls the graph."""

    def inner_node(state: State) -> Any:
        return inner.invoke(state)

    return inner_node


UP: Any = Command(graph=Command.PARENT, update={"trail": ["up"], "answer": "yes"}, goto="left")


def test_it_is_the_result_of_the_holding_node(strict: bool, drive: Drive) -> None:
    """Its update is all that comes back: "a" is not. goto adds to the holder's edges. Rules: 58, 53."""
    out = drive.invoke(holding(speaking(UP, strict), strict), {"trail": ["in"]})
    assert out == {"trail": ["in", "up", "edge", "left"], "answer": "yes"}


def test_it_is_streamed_under_the_holders_name(strict: bool, drive: Drive) -> None:
    """Rules: 58."""
    events = drive.stream(holding(speaking(UP, strict), strict), {"trail": []}, stream_mode="updates")
    assert events[0] == {"inner": {"trail": ["up"], "answer": "yes"}}


def test_in_a_list_it_wins_over_what_stands_beside_it(strict: bool, drive: Drive) -> None:
    """Rules: 58, 55."""
    inner = speaking([{"trail": ["beside"]}, UP], strict)
    assert drive.invoke(holding(inner, strict), {"trail": []})["trail"] == ["up", "edge", "left"]


def test_it_goes_to_several_and_by_send(strict: bool, drive: Drive) -> None:
    """Rules: 58, 56."""
    up: Any = Command(graph=Command.PARENT, goto=["right", Send("left", {}), Send("left", {})])
    assert drive.invoke(holding(speaking(up, strict), strict), {"trail": []})["trail"] == [
        "edge",
        "right",
        "left",
        "left",
    ]


def test_it_works_when_the_node_function_calls_the_graph(strict: bool, drive: Drive) -> None:
    """Rules: 61."""
    out = drive.invoke(holding(called(speaking(UP, strict)), strict), {"trail": ["in"]})
    assert out == {"trail": ["in", "up", "edge", "left"], "answer": "yes"}


@pytest.mark.parametrize("persisted", [None, True, False])
@pytest.mark.parametrize("as_function", [False, True])
def test_it_works_with_persisted_and_unpersisted_subgraphs(
    persisted: bool | None, as_function: bool, journal: Journal, strict: bool, drive: Drive
) -> None:
    """Twice on one thread. Rules: 61."""
    inner = speaking(UP, strict, checkpointer=persisted)
    graph = holding(called(inner) if as_function else inner, strict, checkpointer=journal)
    for turn in (1, 2):
        out = drive.invoke(graph, {"trail": ["in"]}, on("t"))
        assert out == {"trail": ["in", "up", "edge", "left"] * turn, "answer": "yes"}


def test_it_reaches_the_immediate_parent_only(strict: bool, drive: Drive) -> None:
    """In three levels the middle one goes on with it; "right" is the middle's own node. Rules: 59."""
    up: Any = Command(graph=Command.PARENT, update={"trail": ["up"]}, goto="right")
    middle = holding(speaking(up, strict), strict)
    builder = StateGraph(State, strict=strict).add_node("middle", middle).add_edge(START, "middle")
    builder.add_node("right", mark("the root's right"))
    assert drive.invoke(builder.compile(), {"trail": []})["trail"] == ["up", "edge", "right"]


def test_two_hops_reach_the_root(strict: bool, drive: Drive) -> None:
    """Rules: 59."""

    def hop(state: State) -> Any:
        return Command(graph=Command.PARENT, update={"trail": ["hop 2"]}, goto="far")

    up: Any = Command(graph=Command.PARENT, update={"trail": ["hop 1"]}, goto="hop")
    builder = StateGraph(State, strict=strict).add_node("inner", speaking(up, strict)).add_node("hop", hop)
    middle = builder.add_edge(START, "inner").compile()
    outer = StateGraph(State, strict=strict).add_node("middle", middle).add_node("far", mark("far"))
    assert drive.invoke(outer.add_edge(START, "middle").compile(), {"trail": []})["trail"] == ["hop 2", "far"]


def test_a_goto_that_the_parent_does_not_know_is_refused_there(drive: Drive) -> None:
    """Rules: 45, 58."""
    up: Any = Command(graph=Command.PARENT, update={"trail": ["up"]}, goto="lift")
    with pytest.raises(Failure, match="'lift'"):
        drive.invoke(holding(speaking(up, True), True), {"trail": []})


def test_a_root_that_commands_its_parent_fails(strict: bool, drive: Drive) -> None:
    """invoke lets the signal out; run tells it as a failure. Rules: 60."""
    with pytest.raises(ParentCommand):
        drive.invoke(speaking(UP, strict), {"trail": []})
    ended = drive.run(speaking(UP, strict), {"trail": []})
    assert isinstance(ended, Failed)
    assert "ParentCommand" in str(ended.error)


def test_siblings_of_the_holder_keep_their_writes(strict: bool, drive: Drive) -> None:
    """Rules: 58."""
    builder = (
        StateGraph(State, strict=strict).add_node("inner", speaking(UP, strict)).add_node("beside", mark("beside"))
    )
    builder.add_node("left", mark("left")).add_edge(START, "inner").add_edge(START, "beside")
    assert drive.invoke(builder.compile(), {"trail": []})["trail"] == ["beside", "up", "left"]
