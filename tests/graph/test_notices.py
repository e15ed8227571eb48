"""What a run notices and does not fail for: it is logged, and told in the debug stream."""

from __future__ import annotations

import logging
from typing import Any, TypedDict

import pytest

from lawful.graph import START, StateGraph, interrupt
from lawful.journal.memory import MemoryJournal
from support.graphs import Drive, on

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    said: str


def _swallow(state: State) -> State:
    try:
        interrupt("who?")
    except BaseException:
        return {"said": "never"}
    return {"said": "answered"}


def test_a_swallowed_signal_is_logged_with_its_node(drive: Drive, caplog: pytest.LogCaptureFixture) -> None:
    """The pause wins, and who ate it is named. Rows: S0-104. Cases: A08."""
    graph: Any = StateGraph(State).add_node("eats", drive.node(_swallow)).add_edge(START, "eats")
    with caplog.at_level(logging.WARNING, logger="lawful.graph"):
        paused = drive.run(graph.compile(checkpointer=MemoryJournal()), {}, on("t"))
    assert [question.value for question in paused.questions] == ["who?"]
    assert [r.getMessage() for r in caplog.records] == [
        "LangGraph: signal swallowed: node 'eats', signal 'GraphInterrupt'"
    ]


def test_a_swallowed_signal_is_in_the_debug_stream(drive: Drive) -> None:
    """Rows: S0-104."""
    graph: Any = StateGraph(State).add_node("eats", drive.node(_swallow)).add_edge(START, "eats")
    events = drive.stream(graph.compile(checkpointer=MemoryJournal()), {}, on("t"), stream_mode="debug")
    assert [e["payload"] for e in events if e["type"] == "signal_swallowed"] == [
        {"node": "eats", "signal": "GraphInterrupt"}
    ]


def test_a_node_that_lets_its_pause_through_is_not_named(drive: Drive, caplog: pytest.LogCaptureFixture) -> None:
    """Rows: S0-104."""

    def asks(state: State) -> State:
        return {"said": str(interrupt("who?"))}

    graph: Any = StateGraph(State).add_node("asks", drive.node(asks)).add_edge(START, "asks")
    with caplog.at_level(logging.WARNING, logger="lawful.graph"):
        drive.run(graph.compile(checkpointer=MemoryJournal()), {}, on("t"))
    assert caplog.records == []


def test_a_skipped_join_is_logged_where_its_rule_allows_it(drive: Drive, caplog: pytest.LogCaptureFixture) -> None:
    """Rules: 28. Cases: A02."""

    def say(state: State) -> State:
        return {"said": "x"}

    graph: Any = StateGraph(State)
    for name in ("a", "b", "c"):
        graph.add_node(name, drive.node(say))
    graph.add_edge(START, "a").add_edge(["a", "b"], "c", join="all")
    with caplog.at_level(logging.WARNING, logger="lawful.graph"):
        assert drive.invoke(graph.compile(), {}) == {"said": "x"}
    assert [r.getMessage() for r in caplog.records] == ["LangGraph: join skipped: join 'c', missing ['b']"]


def test_an_input_key_that_is_left_out_is_logged_with_the_nearest(
    drive: Drive, caplog: pytest.LogCaptureFixture
) -> None:
    """It is dropped in both modes; strict says so, once, and not of what a node hands to a graph inside.

    Rules: 11
    """

    def says(state: State) -> State:
        return {"said": state.get("said", "nothing")}

    def outer(strict: bool) -> Any:
        inner = StateGraph(State, strict=strict).add_node("says", drive.node(says)).add_edge(START, "says").compile()
        return StateGraph(State, strict=strict).add_node("hold", inner).add_edge(START, "hold").compile()

    given: Any = {"sayd": "x"}
    with caplog.at_level(logging.WARNING, logger="lawful.graph"):
        assert drive.invoke(outer(False), given) == {"said": "nothing"}
        assert caplog.records == []
        assert drive.invoke(outer(True), given) == {"said": "nothing"}
    (record,) = caplog.records
    why = "the input does not have it. Did you mean 'said'?"
    assert record.getMessage() == f"LangGraph: input dropped: key 'sayd': {why}"
