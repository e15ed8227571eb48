"""A subgraph with a memory has one state, so several of its visits do not run at once; one after the other they may."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from lawful.core.errors import ConfigurationError
from lawful.graph import START, Send, StateGraph
from lawful.journal.port import Journal
from support.graphs import Drive, on
from support.pausing import Calls, Log, chain

pytestmark = pytest.mark.unit


def spread(state: Log) -> list[Send]:
    return [Send("hold", {"word": word}) for word in "ab"]


def one(state: Log) -> Send:
    return Send("hold", {"word": "c"})


def test_several_sends_to_a_graph_with_a_memory_are_refused_before_any_runs(
    drive: Drive, journal: Journal, strict: bool
) -> None:
    """The error names the node and what to do; without a memory, or one at a time, it runs.

    Rules: 135, 138, 72
    """
    calls = Calls()

    def inside(state: Log) -> Log:
        calls("inside")
        return {"log": [state.get("word", "")]}

    def sending(keeps: bool | None, route: Any) -> Any:
        builder: Any = StateGraph(Log, strict=strict)
        builder.add_node("hold", chain(drive, inside, strict=strict, checkpointer=keeps))
        return builder.add_conditional_edges(START, route, ["hold"]).compile(checkpointer=journal)

    with pytest.raises(ConfigurationError, match=r"'hold' keeps its state.*checkpointer=None"):
        drive.invoke(sending(True, spread), {"log": []}, on("t"))
    assert calls.of("inside") == 0
    assert drive.get_state(sending(True, spread), on("t")).next == ("hold", "hold")
    if strict:  # leniently a graph hands its whole output up, what it was sent included
        assert sorted(drive.invoke(sending(None, spread), {"log": []}, on("u"))["log"]) == ["a", "b"]
    assert drive.invoke(sending(True, one), {"log": []}, on("v"))["log"] == ["c"]


def test_calls_from_within_nodes_are_refused_while_another_is_inside(drive: Drive, journal: Journal) -> None:
    """Where the graph is called by a function, only its running shows it. Rules: 135, 137."""
    entered, left = threading.Event(), threading.Event()

    def slow(state: Log) -> Log:
        entered.set()
        left.wait(3)
        return {"log": ["slow"]}

    inner: Any = StateGraph(Log).add_node("slow", slow).add_edge(START, "slow").compile(checkpointer=True)

    def hold(state: Log) -> Log:
        if state.get("word") == "b":
            entered.wait(3)
        try:
            return inner.invoke({"log": [state.get("word", "")]})
        finally:
            left.set()

    builder: Any = StateGraph(Log).add_node("hold", hold).add_conditional_edges(START, spread, ["hold"])
    graph = builder.compile(checkpointer=journal)
    with pytest.raises(ConfigurationError, match=r"'hold' keeps its state"):
        drive.invoke(graph, {"log": []}, on("t"))


def test_one_call_after_the_other_goes_on_from_the_first(journal: Journal) -> None:
    """Also in several nodes of one name after each other. Rules: 135, 137."""

    def inside(state: Log) -> Log:
        return {"n": state.get("n", 0) + 1}

    inner: Any = StateGraph(Log).add_node("inside", inside).add_edge(START, "inside").compile(checkpointer=True)

    def hold(state: Log) -> Log:
        return {"log": [f"{inner.invoke({})['n']}"]}

    builder: Any = StateGraph(Log).add_node("hold", hold).add_edge(START, "hold")
    graph = builder.compile(checkpointer=journal)
    assert [graph.invoke({"log": []}, thread="t")["log"] for _ in range(3)][-1] == ["1", "2", "3"]
