"""Joins: an edge from several nodes waits for all of them; what a build says of a join that could wait for ever."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import pytest

from lawful import END, START, Send, StateGraph
from lawful.core.errors import GraphBuildError
from lawful.journal.port import Journal
from support.graphs import Drive, concat, on

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    trail: Annotated[list[str], concat]
    turns: int


def mark(name: str) -> Any:
    def body(state: State) -> State:
        return {"trail": [name]}

    body.__name__ = name
    return body


def nodes(*names: str, strict: bool) -> Any:
    builder = StateGraph(State, strict=strict)
    for name in names:
        builder.add_node(name, mark(name))
    return builder


def test_a_join_runs_once_after_the_last_of_its_sources(strict: bool, drive: Drive) -> None:
    """Though they end in different steps. Rules: 28. Rows: S1-004."""
    builder = nodes("a", "b1", "b2", "b3", "end", strict=strict)
    builder.add_edge(START, "a").add_edge(START, "b1").add_edge("b1", "b2").add_edge("b2", "b3")
    builder.add_edge(["a", "b3"], "end")
    assert drive.invoke(builder.compile(), {})["trail"] == ["a", "b1", "b2", "b3", "end"]


def test_a_join_of_one_node_is_an_edge(strict: bool, drive: Drive) -> None:
    """Rules: 28."""
    builder = nodes("a", "end", strict=strict).add_edge(START, "a").add_edge(["a"], "end")
    assert drive.invoke(builder.compile(), {})["trail"] == ["a", "end"]


def test_a_join_says_its_name_as_trigger(strict: bool, drive: Drive) -> None:
    """Sources in the order of the edge. Rules: 28, 170."""
    builder = (
        nodes("b", "a", "end", strict=strict).add_edge(START, "a").add_edge(START, "b").add_edge(["b", "a"], "end")
    )
    events = drive.stream(builder.compile(), {}, stream_mode="tasks")
    told = [event for event in events if event["name"] == "end" and "triggers" in event]
    assert ["join:b+a:end" in event["triggers"] for event in told] == [True]


def test_a_join_resets_when_it_is_taken(strict: bool, drive: Drive) -> None:
    """So it waits anew in each turn of a loop. Rules: 28, 41."""

    def turn(state: State) -> State:
        return {"turns": state.get("turns", 0) + 1, "trail": ["turn"]}

    def more(state: State) -> str:
        return "turn" if state.get("turns", 0) < 2 else END

    builder = nodes("a", "b1", "b2", "end", strict=strict).add_node("turn", turn).add_edge(START, "turn")
    builder.add_edge("turn", "a").add_edge("turn", "b1").add_edge("b1", "b2").add_edge(["a", "b2"], "end")
    builder.add_conditional_edges("end", more, ["turn", END])
    assert drive.invoke(builder.compile(), {})["trail"] == ["turn", "a", "b1", "b2", "end"] * 2


def test_two_joins_of_one_node_are_counted_apart(strict: bool, drive: Drive) -> None:
    """Each runs the node when it is full. Rules: 28."""
    builder = nodes("a", "b", "c", "end", strict=strict)
    builder.add_edge(START, "a").add_edge("a", "b").add_edge("b", "c").add_edge(["a", "b"], "end")
    builder.add_edge(["a", "c"], "end")
    assert drive.invoke(builder.compile(), {})["trail"] == ["a", "b", "c", "end", "end"]


def test_a_join_waits_over_runs_of_a_thread(journal: Journal, strict: bool, drive: Drive) -> None:
    """What it has seen so far is stored: paused between its sources it goes on. Rules: 28, 90."""
    builder = nodes("a", "b1", "b2", "end", strict=strict)
    builder.add_edge(START, "a").add_edge(START, "b1").add_edge("b1", "b2").add_edge(["a", "b2"], "end")
    graph = builder.compile(checkpointer=journal, interrupt_before=["b2"])
    assert drive.invoke(graph, {}, on("t"))["trail"] == ["a", "b1"]
    assert drive.invoke(graph, None, on("t"))["trail"] == ["a", "b1", "b2", "end"]


def test_sources_that_run_by_send_count_once(strict: bool, drive: Drive) -> None:
    """Rules: 28, 69."""

    def packets(state: State) -> list[Send]:
        return [Send("work", {"trail": []}) for _ in range(3)]

    builder = nodes("a", "work", "end", strict=strict).add_edge(START, "a")
    builder.add_conditional_edges(START, packets, ["work"])
    builder.add_edge(["a", "work"], "end", join="activated")
    assert drive.invoke(builder.compile(), {})["trail"] == ["a", "work", "work", "work", "end"]


# a source that can be skipped


def skippable(*, strict: bool, join: Any = None) -> Any:
    """a goes to b or to x; the join of a and b leads to j."""

    def choose(state: State) -> str:
        return "b" if state.get("turns") else "x"

    builder = nodes("a", "b", "x", "j", strict=strict).add_edge(START, "a")
    builder.add_conditional_edges("a", choose, ["b", "x"])
    return builder.add_edge(["a", "b"], "j", join=join) if join else builder.add_edge(["a", "b"], "j")


def test_strict_refuses_a_join_whose_source_can_be_skipped() -> None:
    """It names the join, the source, and the remedy. Rules: 28."""
    with pytest.raises(GraphBuildError) as refused:
        skippable(strict=True).compile()
    told = str(refused.value)
    assert "'j'" in told
    assert "'b'" in told
    assert "activated" in told


def test_activated_runs_the_target_with_what_came(strict: bool, drive: Drive) -> None:
    """Exactly once, whichever way was chosen. Rules: 28."""
    graph = skippable(strict=strict, join="activated").compile()
    assert drive.invoke(graph, {"turns": 0})["trail"] == ["a", "x", "j"]
    assert drive.invoke(graph, {"turns": 1})["trail"] == ["a", "b", "j"]


def test_all_waits_for_all_as_it_says(strict: bool, drive: Drive) -> None:
    """Rules: 28."""
    graph = skippable(strict=strict, join="all").compile()
    assert drive.invoke(graph, {"turns": 0})["trail"] == ["a", "x"]
    assert drive.invoke(graph, {"turns": 1})["trail"] == ["a", "b", "j"]


def test_an_unknown_join_rule_is_refused(strict: bool) -> None:
    """Rules: 28."""
    with pytest.raises(ValueError, match="activated"):
        skippable(strict=strict, join="some")


def test_a_chain_after_one_edge_needs_no_rule(drive: Drive) -> None:
    """Plain edges alone lead to both sources. Rules: 28."""
    builder = nodes("a", "b1", "b2", "j", strict=True).add_edge(START, "a").add_edge("a", "b1").add_edge("b1", "b2")
    assert drive.invoke(builder.add_edge(["a", "b2"], "j").compile(), {})["trail"] == ["a", "b1", "b2", "j"]


def test_sources_that_one_choice_sets_off_together_need_no_rule(drive: Drive) -> None:
    """Both run or neither does. Rules: 28."""

    def choose(state: State) -> str:
        return "p" if state.get("turns") else END

    builder = nodes("a", "p", "b", "c", "j", strict=True).add_edge(START, "a")
    builder.add_conditional_edges("a", choose, ["p", END]).add_edge("p", "b").add_edge("p", "c")
    graph = builder.add_edge(["b", "c"], "j").compile()
    assert drive.invoke(graph, {"turns": 0})["trail"] == ["a"]
    assert drive.invoke(graph, {"turns": 1})["trail"] == ["a", "p", "b", "c", "j"]


def test_lenient_goes_on_without_the_join(drive: Drive) -> None:
    """As LangGraph does. Rules: 28."""
    graph = skippable(strict=False).compile()
    assert drive.invoke(graph, {"turns": 0})["trail"] == ["a", "x"]
    assert drive.invoke(graph, {"turns": 1})["trail"] == ["a", "b", "j"]
