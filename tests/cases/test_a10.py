"""Case A10, by nodes: of three calls at once one fails; the others are kept, and a resume repeats only the one that failed."""

from __future__ import annotations

import time
from typing import Annotated, Any, TypedDict

import pytest

from lawful.core.errors import NetworkError
from lawful.graph import START, Done, Failed, StateGraph
from lawful.journal.port import Journal
from lawful.testing.provider import FakeCommand, FakeProvider, assert_effects
from support.graphs import Drive, concat, on

pytestmark = pytest.mark.integration


class State(TypedDict, total=False):
    told: Annotated[list[str], concat]


def test_a_resume_repeats_only_what_failed(drive: Drive, journal: Journal) -> None:
    """Cases: A10"""
    provider = FakeProvider()
    pay = provider.effect("pay")
    calls: list[str] = []

    def paying(state: State) -> State:
        calls.append("pay")
        return {"told": [pay.sync(FakeCommand("order-1", "paid"))]}

    def weather(state: State) -> State:
        calls.append("weather")
        time.sleep(0.05)
        if calls.count("weather") == 1:
            raise NetworkError("the weather is unreachable")
        return {"told": ["sunny"]}

    def search(state: State) -> State:
        calls.append("search")
        time.sleep(0.1)
        return {"told": ["found"]}

    graph: Any = StateGraph(State)
    for node in (paying, weather, search):
        graph.add_node(node).add_edge(START, node.__name__)
    built = graph.compile(checkpointer=journal)
    failed = drive.run(built, {"told": []}, on("t"))
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, NetworkError)
    done = drive.run(built, None, on("t"))
    assert isinstance(done, Done)
    assert sorted(done.state["told"]) == ["found", "paid", "sunny"]  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType, reportIndexIssue, reportUnknownArgumentType]
    assert calls.count("weather") == 2
    assert_effects(provider, {"order-1": 1})
