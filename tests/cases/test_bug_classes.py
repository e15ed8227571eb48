"""Five classes of fault that programs of this kind are known for: each comes to a typed error, and none to silence."""

from __future__ import annotations

from typing import Any, TypedDict

import pytest

from lawful import END, START, Agent, Err, Failed, StateGraph, tool
from lawful.core.errors import ConfigurationError, InvalidUpdateError, NetworkError
from lawful.core.messages import ToolCall
from lawful.models.fake import Scripted
from lawful.pipeline import prim, run_sync
from lawful.pipeline.prompts import prompt

pytestmark = pytest.mark.unit


class S(TypedDict):
    count: int


def one(update: dict[str, Any]) -> Any:
    def fn(state: S) -> dict[str, Any]:
        return update

    return StateGraph(S).add_node("node", fn).add_edge(START, "node").add_edge("node", END).compile()


def test_a_value_of_the_wrong_type() -> None:
    """Rows: S0-200"""
    ended = one({"count": "three"}).run_sync({"count": 1})
    assert isinstance(ended, Failed)
    assert isinstance(ended.error, InvalidUpdateError)
    assert "expected int, got str" in ended.error.message


def test_a_key_that_is_not_there() -> None:
    """Rows: S0-200"""
    ended = one({"cuont": 1}).run_sync({"count": 1})
    assert isinstance(ended, Failed)
    assert "Did you mean 'count'" in ended.error.message

    class Ask(TypedDict):
        city: str

    with pytest.raises(ConfigurationError, match="town"):
        prompt(Ask, "The weather in {town}?")


def test_an_error_of_a_model_that_nobody_handles() -> None:
    """Rows: S0-200"""
    ended = run_sync(prim(Scripted(NetworkError("down", component="m", operation="invoke"))), "hello")
    assert isinstance(ended, Err)
    assert isinstance(ended.error, NetworkError)


def test_two_branches_that_write_one_key() -> None:
    """Rows: S0-200"""

    def a(state: S) -> S:
        return {"count": 1}

    def b(state: S) -> S:
        return {"count": 2}

    graph = StateGraph(S).add_node(a).add_node(b)
    graph.add_edge(START, "a").add_edge(START, "b")
    ended = graph.compile().run_sync({"count": 0})
    assert isinstance(ended, Failed)
    assert ended.error.details == {"key": "count", "nodes": "'a', 'b'"}
    assert ended.state == {"count": 0}


def test_a_tool_that_fails() -> None:
    """Rows: S0-200"""

    @tool
    def look(at: str) -> str:
        """Look."""
        raise LookupError("nothing there")

    answer = Agent(Scripted(ToolCall(id="c", name="look", args={"at": "x"}), "It failed."), tools=[look]).invoke("x")
    assert [m.text for m in answer.messages if m.role == "tool"] == ["LookupError: nothing there"]
