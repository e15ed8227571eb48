"""Case A02: a join of which one source is not taken never ends a run in silence."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import pytest

from lawful import END, START, Command, StateGraph
from lawful.core.errors import GraphBuildError
from lawful.journal.port import Journal
from support.graphs import Drive, concat, on

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    take: bool
    trail: Annotated[list[str], concat]


def mark(name: str) -> Any:
    def node(state: State) -> State:
        return {"trail": [name]}

    node.__name__ = name
    return node


def choose(state: State) -> str:
    return "b" if state.get("take") else "x"


def joined(*, strict: bool = True, join: Any = None) -> Any:
    """a -> (choice) -> x, or b; j is the join of a and b."""
    builder = StateGraph(State, strict=strict)
    for name in ("a", "b", "x", "j"):
        builder.add_node(name, mark(name))
    builder.add_edge(START, "a").add_conditional_edges("a", choose, ["b", "x"])
    return builder.add_edge(["a", "b"], "j", join=join) if join else builder.add_edge(["a", "b"], "j")


def test_the_build_refuses_it_by_name() -> None:
    """With the source that may be skipped, and what to write instead. Cases: A02. Rules: 28."""
    with pytest.raises(GraphBuildError) as refused:
        joined().compile()
    told = str(refused.value)
    assert all(part in told for part in ("'j'", "'b'", "join", "activated", "all"))


def test_with_the_rule_stated_the_join_runs_exactly_once(drive: Drive) -> None:
    """Cases: A02. Rules: 28."""
    graph = joined(join="activated").compile()
    for take in (False, True):
        assert drive.invoke(graph, {"take": take})["trail"].count("j") == 1


def test_a_choice_by_goto_may_skip_as_well() -> None:
    """Cases: A02. Rules: 28."""

    def a(state: State) -> Command[Any]:
        return Command(goto=choose(state))

    builder = StateGraph(State).add_node(a).add_node("b", mark("b")).add_node("x", mark("x")).add_node("j", mark("j"))
    with pytest.raises(GraphBuildError, match="'j'"):
        builder.add_edge(START, "a").add_edge(["a", "b"], "j").compile()


def test_a_choice_further_up_may_skip_as_well() -> None:
    """Cases: A02. Rules: 28."""
    builder = StateGraph(State)
    for name in ("a", "b", "b2", "x", "j"):
        builder.add_node(name, mark(name))
    builder.add_edge(START, "a").add_conditional_edges("a", choose, ["b", "x"]).add_edge("b", "b2")
    with pytest.raises(GraphBuildError, match="'j'"):
        builder.add_edge(["a", "b2"], "j").compile()


def test_a_choice_that_may_end_the_run_may_skip_as_well() -> None:
    """Cases: A02. Rules: 28."""

    def stop(state: State) -> str:
        return "b" if state.get("take") else END

    builder = StateGraph(State)
    for name in ("a", "b", "j"):
        builder.add_node(name, mark(name))
    builder.add_edge(START, "a").add_conditional_edges("a", stop, ["b", END])
    with pytest.raises(GraphBuildError, match="'j'"):
        builder.add_edge(["a", "b"], "j").compile()


def notices(drive: Drive, graph: Any, given: State) -> list[Any]:
    """What the debug stream tells of joins that were skipped."""
    events = drive.stream(graph, given, stream_mode="debug")
    return [event["payload"] for event in events if event["type"] == "join_skipped"]


@pytest.mark.parametrize("strict,join", [(False, None), (False, "all"), (True, "all")])
def test_where_the_join_may_be_skipped_the_stream_tells_it(strict: bool, join: str | None, drive: Drive) -> None:
    """With its name and what it still waits for. Cases: A02. Rules: 28."""
    graph = joined(strict=strict, join=join).compile()
    assert notices(drive, graph, {"take": False}) == [{"join": "j", "missing": ["b"]}]
    assert notices(drive, graph, {"take": True}) == []


def test_a_choice_that_may_go_anywhere_may_skip_as_well() -> None:
    """A route without a path map. Cases: A02. Rules: 28."""
    builder = StateGraph(State)
    for name in ("a", "b", "x", "j"):
        builder.add_node(name, mark(name))
    builder.add_edge(START, "a").add_conditional_edges("a", choose)
    with pytest.raises(GraphBuildError, match="'j'"):
        builder.add_edge(["a", "b"], "j").compile()


def test_sources_that_are_always_taken_need_no_rule(drive: Drive) -> None:
    """Cases: A02. Rules: 28."""
    builder = StateGraph(State)
    for name in ("a", "b", "j"):
        builder.add_node(name, mark(name))
    graph = builder.add_edge(START, "a").add_edge(START, "b").add_edge(["a", "b"], "j").compile()
    assert drive.invoke(graph, {})["trail"] == ["a", "b", "j"]


def test_a_skipped_join_over_a_journal(journal: Journal, drive: Drive) -> None:
    """Each run of the thread counts anew. Cases: A02. Rules: 28."""
    graph = joined(join="activated").compile(checkpointer=journal)
    assert drive.invoke(graph, {"take": False}, on("t"))["trail"] == ["a", "x", "j"]
    assert drive.invoke(graph, {"take": True}, on("t"))["trail"] == ["a", "x", "j", "a", "b", "j"]
