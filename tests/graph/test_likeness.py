"""Parts of compiled graphs by LangGraph's names, and what is said of those that are not there."""

from __future__ import annotations

from copy import copy
from typing import Any, TypedDict

import pytest

from lawful import START, StateGraph
from lawful.graph.channels import EphemeralValue
from lawful.graph.instead import INSTEAD
from lawful.graph.pregel import NodeBuilder, Pregel
from lawful.journal.memory import MemoryJournal

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    n: int


class Context(TypedDict):
    user: str


def grow(state: State) -> State:
    return {"n": state.get("n", 0) + 1}


def small(**more: Any) -> Any:
    return StateGraph(State, **more).add_node(grow).add_edge(START, "grow")


def test_the_builder_of_a_graph_can_be_compiled_once_more() -> None:
    builder = small()
    graph = builder.compile()
    assert graph.builder is builder
    again = graph.builder.compile(checkpointer=MemoryJournal())
    again.invoke({"n": 1}, thread="1")
    assert again.get_state("1").values == {"n": 2}


def test_subgraphs_are_found_by_namespace_in_nodes_and_in_what_they_call() -> None:
    inner = small().compile()

    def calls(state: State) -> State:
        return inner.invoke(state)

    middle = StateGraph(State).add_node("calls", calls).add_edge(START, "calls").compile()
    graph = StateGraph(State).add_node("middle", middle).add_node(grow).add_edge(START, "middle").compile()
    assert [name for name, _ in graph.get_subgraphs()] == ["middle"]
    assert dict(graph.get_subgraphs(recurse=True)) == {"middle": middle, "middle|calls": inner}
    assert list(graph.get_subgraphs(namespace="middle|calls", recurse=True)) == [("middle|calls", inner)]
    assert list(graph.get_subgraphs(namespace="midd", recurse=True)) == []


async def test_and_async() -> None:
    graph = StateGraph(State).add_node("inner", small().compile()).add_edge(START, "inner").compile()
    assert [name async for name, _ in graph.aget_subgraphs()] == ["inner"]


def test_the_schema_of_the_context() -> None:
    pytest.importorskip("pydantic")
    graph = small(context_schema=Context).compile()
    told = graph.get_context_jsonschema()
    assert graph.context_schema is Context
    assert told is not None
    assert told["required"] == ["user"]
    assert small().compile().get_context_jsonschema() is None


def test_the_default_mode_of_streams() -> None:
    one = NodeBuilder().subscribe_only("a").do(len).write_to("b")
    low = Pregel(
        nodes={"one": one},
        channels={"a": EphemeralValue(str), "b": EphemeralValue(int)},
        input_channels="a",
        output_channels="b",
    )
    assert (small().compile().stream_mode, low.stream_mode) == ("updates", "values")


@pytest.mark.parametrize("name", sorted(set(INSTEAD) - {"draw_ascii", "draw_mermaid_png", "draw_png", "print_ascii"}))
def test_a_name_that_is_not_there_says_what_to_use(name: str) -> None:
    graph: Any = small().compile()
    with pytest.raises(AttributeError) as raised:
        getattr(graph, name)
    assert INSTEAD[name] in str(raised.value)
    assert not hasattr(graph, name)


@pytest.mark.parametrize("name", ["draw_ascii", "draw_mermaid_png", "draw_png", "print_ascii"])
def test_so_does_a_drawing(name: str) -> None:
    drawing: Any = small().compile().get_graph()
    with pytest.raises(AttributeError, match="draw_mermaid"):
        getattr(drawing, name)


def test_a_misspelt_name_gets_the_nearest() -> None:
    graph: Any = small().compile()
    with pytest.raises(AttributeError, match="Did you mean 'invoke'"):
        _ = graph.invok
    with pytest.raises(AttributeError) as raised:
        _ = graph._secret
    assert "mean" not in str(raised.value)
    assert copy(graph).invoke({"n": 1}) == {"n": 2}
