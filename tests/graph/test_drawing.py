"""What can be seen of a graph before it runs: its drawing and its explanation."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, TypedDict

import pytest

from lawful import END, START, Command, StateGraph
from support.graphs import arrows, concat

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
    builder.add_node("right", step).add_node("last", step).add_node("jump", jump).add_edge(START, "first")
    builder.add_conditional_edges("first", choose).add_edge("right", "jump")
    return builder.add_edge("left", "last").add_edge("last", END).compile()


def test_the_drawing_has_every_node_and_edge(strict: bool) -> None:
    """Solid edges always run, dotted ones are decided at run time. Rows: S0-093. Rules: 44, 65."""
    assert arrows(graph(strict)) >= {
        (START, "first", "-->"),
        ("first", "left", "-.->"),
        ("first", "right", "-.->"),
        ("right", "jump", "-->"),
        ("jump", "left", "-.->"),
        ("left", "last", "-->"),
        ("last", END, "-->"),
    }


def mend(state: State) -> State:
    return {}


def test_error_handlers_are_drawn_with_the_nodes_that_they_take_over(strict: bool) -> None:
    """Dotted, for they run where a node fails; a node's own in the place of the default one. Rules: 196."""
    builder: Any = StateGraph(State, strict=strict).add_node("first", step, error_handler=mend).add_node("last", step)
    builder.set_node_defaults(error_handler=mend).add_edge(START, "first").add_edge("first", "last")
    drawn = builder.compile().get_graph()
    own, default = "__error_handler__first", "__default_error_handler__"
    assert {own, default} <= set(drawn.nodes)
    told = {(a.source, a.target, a.data, a.conditional) for a in drawn.edges if a.data == "error"}
    assert told == {("first", own, "error", True), ("last", default, "error", True)}
    assert ("last", END) in {(a.source, a.target) for a in drawn.edges}
    assert f"first -.->|error| {own};" in drawn.draw_mermaid()


def test_mermaid_text_is_given_by_both_names(strict: bool) -> None:
    """Rows: S0-093."""
    compiled = graph(strict)
    assert compiled.draw_mermaid() == compiled.get_graph().draw_mermaid()
    assert compiled.draw_mermaid().splitlines()[0].split()[0] in ("graph", "flowchart", "---")


def test_a_name_with_blanks_and_quotes_is_drawn_as_a_label() -> None:
    """And breaks no syntax. Rows: S0-093."""
    builder = StateGraph(State).add_node('say "hi" <now>', step).add_edge(START, 'say "hi" <now>')
    text = builder.compile().draw_mermaid()
    assert 'say "hi"' not in text
    assert "<now>" not in text
    assert "hi" in text


def test_explain_tells_nodes_and_keys(strict: bool) -> None:
    """Rows: S1-013."""
    told = str(graph(strict).explain())
    assert all(word in told for word in ("first", "left", "right", "jump", "trail"))


def to_the_end(state: State) -> str:
    return END


def test_no_line_of_a_drawing_comes_out_of_a_label_or_a_name() -> None:
    """Rows: S0-093."""
    click = '\nclick n href "elsewhere"\r\u2028click n call f()\n'
    builder: Any = StateGraph(State).add_node("n", step).add_node(f"m{click}", step).add_edge(START, "n")
    builder.add_conditional_edges("n", to_the_end, {f"|{click}": END, "m": f"m{click}"})
    text = builder.compile().draw_mermaid()
    assert "click" in text
    assert not [line for line in text.splitlines() if line.lstrip().startswith("click")]


def test_no_two_names_share_an_id_in_a_drawing() -> None:
    """Rows: S0-093."""
    names = ["a b", "a_b", "a-b", "a_20_b", "a\u00a0b"]
    graph: Any = StateGraph(State).add_sequence([(name, step) for name in names]).add_edge(START, "a b").compile()
    nodes = re.findall(r'^\s*(\w+)\(+\[?"', graph.draw_mermaid(), re.MULTILINE)
    assert len(set(nodes)) == len(nodes) >= len(names)


def test_a_node_may_be_called_end_as_a_word_of_mermaids() -> None:
    """Its id is another: `end` closes a block. Rows: S0-093."""
    graph: Any = StateGraph(State).add_node("end", step).add_edge(START, "end").compile()
    assert re.search(r'^\s*end_\w+\("end"\)', graph.draw_mermaid(), re.MULTILINE)
    assert not re.search(r"(^|\s)end(?=\s)", re.sub(r'"[^"]*"', "", graph.draw_mermaid()))
