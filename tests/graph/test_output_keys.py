"""``output_keys``: one call shows other keys than the graph's output; a lone key is shown bare."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import pytest

from lawful.core.errors import GraphBuildError
from lawful.graph import START, GraphOutput, NodeBuilder, Pregel, StateGraph, interrupt
from lawful.graph.channels import LastValue
from lawful.journal.port import Journal
from support.graphs import Drive, concat, on

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    a: int
    b: Annotated[list[str], concat]
    c: str


class Shown(TypedDict, total=False):
    c: str


def one(state: State) -> State:
    return {"a": 1, "b": ["x"]}


def two(state: State) -> State:
    return {"c": "z"}


def three(state: State) -> State:
    return {"b": ["q"], "c": "r"}


def ask(state: State) -> State:
    return {"c": interrupt("q")}


def graph(drive: Drive, *nodes: Any, **compiled: Any) -> Any:
    builder: Any = StateGraph(State, output_schema=Shown)
    return builder.add_sequence([(n.__name__, drive.node(n)) for n in nodes]).add_edge(START, "one").compile(**compiled)


CASES: list[tuple[Any, Any, list[Any], list[Any]]] = [
    ("a", 1, [1], [{"one": 1}, {"two": None}, {"three": None}]),
    ("c", "r", ["z", "r"], [{"one": None}, {"two": "z"}, {"three": "r"}]),
    (["a"], {"a": 1}, [{"a": 1}], [{"one": {"a": 1}}, {"two": None}, {"three": None}]),
    (
        ("a", "c"),
        {"a": 1, "c": "r"},
        [{"a": 1}, {"a": 1, "c": "z"}, {"a": 1, "c": "r"}],
        [{"one": {"a": 1}}, {"two": {"c": "z"}}, {"three": {"c": "r"}}],
    ),
    (
        ["b"],
        {"b": ["x", "q"]},
        [{"b": []}, {"b": ["x"]}, {"b": ["x", "q"]}],
        [{"one": {"b": ["x"]}}, {"two": None}, {"three": {"b": ["q"]}}],
    ),
]


@pytest.mark.parametrize(("keys", "end", "values", "updates"), CASES)
def test_what_a_call_shows(drive: Drive, keys: Any, end: Any, values: list[Any], updates: list[Any]) -> None:
    """As LangGraph has it. Rules: 167, 169."""
    made = graph(drive, one, two, three)
    assert drive.invoke(made, {"b": []}, output_keys=keys) == end
    assert drive.stream(made, {"b": []}, stream_mode="values", output_keys=keys) == values
    assert drive.stream(made, {"b": []}, stream_mode="updates", output_keys=keys) == updates
    assert drive.invoke(made, {"b": []}) == {"c": "r"}, "the graph itself is as it was"


def test_the_thread_keeps_all_of_it(drive: Drive, journal: Journal) -> None:
    """Tasks and checkpoints are told whole, a pause with its question. Rules: 168, 172."""
    made = graph(drive, one, ask, three, checkpointer=journal)
    shown = drive.stream(made, {"b": []}, on("t"), stream_mode=["values", "checkpoints", "tasks"], output_keys="a")
    asked = [payload for mode, payload in shown if mode == "values"]
    assert asked[0] == 1
    assert asked[1]["__interrupt__"][0].value == "q"
    assert [p["values"] for mode, p in shown if mode == "checkpoints"][-1] == {"a": 1, "b": ["x"]}
    assert [p["result"] for mode, p in shown if mode == "tasks" and p.get("result")] == [{"a": 1, "b": ["x"]}]
    assert drive.get_state(made, on("t")).values == {"a": 1, "b": ["x"]}
    assert drive.invoke(made, None, on("t"), output_keys=["a"])["a"] == 1
    told: GraphOutput[Any] = drive.invoke(made, {"b": []}, on("u"), output_keys=["a"], version="v2")
    assert type(told) is GraphOutput
    assert (told.value, told.interrupts[0].value) == ({"a": 1}, "q")


def twice(number: int) -> int:
    return number * 2


def more(number: int) -> int:
    return number + 1


def test_a_low_level_graph(drive: Drive) -> None:
    made = Pregel(
        nodes={
            "double": NodeBuilder().subscribe_only("in").do(drive.node(twice)).write_to("mid"),
            "more": NodeBuilder().subscribe_only("mid").do(drive.node(more)).write_to("out"),
        },
        channels={"in": LastValue(int), "mid": LastValue(int), "out": LastValue(int)},
        input_channels="in",
        output_channels="out",
    )
    assert drive.invoke(made, 2) == 5
    assert drive.invoke(made, 2, output_keys=["mid", "out"]) == {"mid": 4, "out": 5}
    assert drive.invoke(made, 2, output_keys="mid") == 4
    assert drive.stream(made, 2, output_keys=["mid"]) == [{"mid": 4}]


@pytest.mark.parametrize("keys", ["aa", ["a", "aa"]])
def test_an_unknown_key_is_refused(drive: Drive, journal: Journal, keys: Any) -> None:
    made = graph(drive, one, two, checkpointer=journal)
    with pytest.raises(GraphBuildError, match="the graph has no key 'aa'") as caught:
        drive.invoke(made, {"b": []}, on("t"), output_keys=keys)
    assert isinstance(caught.value, ValueError)
    assert drive.get_state(made, on("t")).values == {}
