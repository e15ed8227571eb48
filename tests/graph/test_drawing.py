"""What can be seen of a graph before it runs: its drawing and its explanation."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

import pytest

from lawful import END, START, Command, StateGraph
from support.graphs import concat

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    trail: Annotated[list[str], concat]


def step(state: State) -> State:
    return {"trail": ["step"]}


def choose(state: State) -> Literal["left", "right"]:
    return "left"


def jump(state: State) -> Command[Literal["left"]]:
    return Command(goto="left")


def graph(strict: bool) -> Any:
    builder = StateGraph(State, strict=strict, name="drawn").add_node("first", step).add_node("left", step)
    builder.add_node("right", step).add_node("last one", step).add_node("jump", jump).add_edge(START, "first")
    builder.add_conditional_edges("first", choose).add_edge("right", "jump")
    return builder.add_edge("left", "last one").add_edge("last one", END).compile()


def test_the_drawing_has_every_node_and_edge(strict: bool) -> None:
    """Rows: S0-093. Rules: 44, 65."""
    drawn = graph(strict).get_graph()
    assert set(drawn.nodes) == {START, "first", "left", "right", "last one", "jump", END}
    edges = {(edge.source, edge.target, bool(edge.conditional)) for edge in drawn.edges}
    assert edges >= {
        (START, "first", False),
        ("first", "left", True),
        ("first", "right", True),
        ("right", "jump", False),
        ("jump", "left", True),
        ("left", "last one", False),
        ("last one", END, False),
    }


def test_mermaid_text_names_every_node(strict: bool) -> None:
    """Both ways to ask give the same. Rows: S0-093."""
    compiled = graph(strict)
    text = compiled.draw_mermaid()
    assert text == compiled.get_graph().draw_mermaid()
    assert all(name in text for name in ("first", "left", "right", "jump", "last one"))
    assert "-->" in text
    assert "-.->" in text


def test_explain_tells_nodes_keys_and_merges(strict: bool) -> None:
    """Rows: S1-013."""
    told = str(graph(strict).explain())
    assert all(word in told for word in ("first", "left", "right", "jump", "trail", "concat"))
