"""What a node may ask for beside its state: config, writer, store, runtime, by name and annotation."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import pytest

from lawful import START, Runtime, StateGraph, get_stream_writer
from lawful.graph import StreamWriter
from support.graphs import Drive, concat, driving, on

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    trail: Annotated[list[str], concat]


@dataclass(frozen=True)
class Who:
    name: str


def test_config_is_injected_by_name(strict: bool, drive: Drive) -> None:
    """Rules: 66."""

    def node(state: State, config: dict[str, Any]) -> State:
        return {"trail": [config["configurable"]["user"]]}

    graph = StateGraph(State, strict=strict).add_node(node).add_edge(START, "node").compile()
    assert drive.invoke(graph, {}, {"configurable": {"user": "me"}})["trail"] == ["me"]


def test_writer_is_injected_by_name_and_annotation(strict: bool, drive: Drive) -> None:
    """Rules: 66, 174."""

    def node(state: State, writer: StreamWriter) -> State:
        writer({"half": 1})
        return {}

    graph = StateGraph(State, strict=strict).add_node(node).add_edge(START, "node").compile()
    assert drive.stream(graph, {}, stream_mode="custom") == [{"half": 1}]
    assert drive.invoke(graph, {"trail": ["x"]}) == {"trail": ["x"]}


def test_runtime_is_injected_with_context_and_writer(strict: bool, drive: Drive) -> None:
    """Rules: 66. Rows: S0-060."""

    def node(state: State, runtime: Runtime[Who]) -> State:
        runtime.stream_writer("from runtime")
        get_stream_writer()("from the face")
        return {"trail": [runtime.context.name]}

    builder = StateGraph(State, context_schema=Who, strict=strict).add_node(node).add_edge(START, "node")
    events = drive.stream(builder.compile(), {}, context=Who("me"), stream_mode=["custom", "updates"])
    assert events == [("custom", "from runtime"), ("custom", "from the face"), ("updates", {"node": {"trail": ["me"]}})]


def test_all_may_be_asked_for_at_once_by_keyword(strict: bool, drive: Drive) -> None:
    """Rules: 66."""

    def node(state: State, *, runtime: Runtime[Who], config: dict[str, Any], writer: StreamWriter) -> State:
        return {"trail": [runtime.context.name, config["configurable"]["user"], str(callable(writer))]}

    builder = StateGraph(State, context_schema=Who, strict=strict).add_node(node).add_edge(START, "node")
    config: dict[str, Any] = {"configurable": {"user": "you"}}
    assert drive.invoke(builder.compile(), {}, config, context=Who("me"))["trail"] == ["me", "you", "True"]


def test_async_nodes_are_given_the_same(strict: bool) -> None:
    """Rules: 66."""

    async def node(state: State, runtime: Runtime[Who], config: dict[str, Any]) -> State:
        await asyncio.sleep(0)
        return {"trail": [runtime.context.name, config["configurable"]["user"]]}

    builder = StateGraph(State, context_schema=Who, strict=strict).add_node(node).add_edge(START, "node")
    config: dict[str, Any] = {"configurable": {"user": "you"}}
    with driving("async") as drive:
        assert drive.invoke(builder.compile(), {}, config, context=Who("me"))["trail"] == ["me", "you"]


def test_routes_are_given_the_same(strict: bool, drive: Drive) -> None:
    """Rules: 66, 43."""

    def node(state: State) -> State:
        return {}

    def end(state: State) -> State:
        return {"trail": ["end"]}

    def route(state: State, config: dict[str, Any]) -> str:
        return config["configurable"]["to"]

    builder = StateGraph(State, strict=strict).add_node(node).add_node(end).add_edge(START, "node")
    graph = builder.add_conditional_edges("node", route, ["end"]).compile()
    assert drive.invoke(graph, {}, {"configurable": {"to": "end"}})["trail"] == ["end"]


def test_store_is_injected(strict: bool, drive: Drive) -> None:
    """What the graph was compiled with. Rules: 66, 209."""
    shelf: Any = {"book": "read"}

    def node(state: State, *, store: Any) -> State:
        return {"trail": [store["book"]]}

    graph = StateGraph(State, strict=strict).add_node(node).add_edge(START, "node").compile(store=shelf)
    assert drive.invoke(graph, {})["trail"] == ["read"]


def test_a_default_of_an_ordinary_parameter_is_left_alone(strict: bool, drive: Drive) -> None:
    """Rules: 66."""

    def node(state: State, factor: int = 3) -> State:
        return {"trail": [str(factor)]}

    graph = StateGraph(State, strict=strict).add_node(node).add_edge(START, "node").compile()
    assert drive.invoke(graph, {}, on())["trail"] == ["3"]
