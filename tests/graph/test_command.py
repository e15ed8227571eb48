"""What a node may return: updates in every form, `Command` with goto, lists of these, and commands to the parent graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

import pytest
from pydantic import BaseModel

from lawful import END, START, UNSET, Command, Send, StateGraph
from lawful.core.errors import EmptyInputError, InvalidUpdateError
from support.graphs import Drive, arrows, concat, on, total

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    x: int
    n: Annotated[int, total]
    trail: Annotated[list[str], concat]


class Patch(BaseModel):
    x: int | None = None
    trail: list[str] = []


@dataclass
class Part:
    trail: list[str]
    x: int = UNSET


def mark(name: str) -> Any:
    def body(state: State) -> State:
        return {"trail": [name]}

    body.__name__ = name
    return body


def giving(value: Any, *others: str, strict: bool) -> Any:
    """A builder: START leads to ``give``, which returns ``value``; ``others`` are nodes that nothing leads to."""

    def give(state: State) -> Any:
        return value

    builder = StateGraph(State, strict=strict).add_node("give", give).add_edge(START, "give")
    for name in others:
        builder.add_node(name, mark(name))
    return builder


# updates


@pytest.mark.parametrize(
    "value,trail,x",
    [
        (None, ["in"], 0),
        ({}, ["in"], 0),
        ({"x": 1}, ["in"], 1),
        (Command(update={"x": 1, "trail": ["c"]}), ["in", "c"], 1),
        (Command(update=[("trail", ["1"]), ("x", 2), ("trail", ["2"])]), ["in", "1", "2"], 2),
        (Command(update=None), ["in"], 0),
        ([Command(update={"trail": ["1"]}), {"trail": ["2"], "x": 5}], ["in", "1", "2"], 5),
        ([{"trail": ["1"]}, Command(update={"trail": ["2"]})], ["in", "1", "2"], 0),
        ((Command(update={"trail": ["1"]}), None), ["in", "1"], 0),
    ],
)  # fmt: skip
def test_an_update_has_many_forms(value: Any, trail: list[str], x: int, strict: bool, drive: Drive) -> None:
    """Applied in the order given. Rules: 31, 54, 55. Rows: S1-P08."""
    out = drive.invoke(giving(value, strict=strict).compile(), {"x": 0, "n": 0, "trail": ["in"]})
    assert out == {"x": x, "n": 0, "trail": trail}


@pytest.mark.parametrize("value", [Patch(x=3, trail=["p"]), Part(trail=["p"], x=3)])
@pytest.mark.parametrize("as_command", [False, True])
def test_an_instance_of_a_nodes_input_schema_is_an_update(
    value: Any, as_command: bool, strict: bool, drive: Drive
) -> None:
    """Though the graph's own state is of another class. Rules: 54, 12."""

    def give(state: Any) -> Any:
        return Command(update=value) if as_command else value

    builder = StateGraph(State, strict=strict).add_node("give", give, input_schema=type(value))
    out = drive.invoke(builder.add_edge(START, "give").compile(), {"x": 0, "n": 0, "trail": ["in"]})
    assert out == {"x": 3, "n": 0, "trail": ["in", "p"]}


@pytest.mark.parametrize("value", [Patch(x=3, trail=["p"]), Part(trail=["p"], x=3)])
def test_lenient_takes_an_instance_of_any_annotated_class(value: Any, drive: Drive) -> None:
    """Rules: 54."""
    out = drive.invoke(giving(value, strict=False).compile(), {"x": 0, "trail": ["in"]})
    assert out == {"x": 3, "n": 0, "trail": ["in", "p"]}


@pytest.mark.parametrize("value", ["text", 3, 2.5, True, ["text"], [{"x": 1}, "text"], {1, 2}, object()])
def test_other_returns_are_refused(value: Any, strict: bool, drive: Drive) -> None:
    """A node that returns the name of its successor has made a mistake. Rules: 31. Rows: S1-040."""
    with pytest.raises(InvalidUpdateError, match="Expected dict, got") as refused:
        drive.invoke(giving(value, strict=strict).compile(), {"x": 0})
    assert "'give'" in str(refused.value) or not strict


def test_strict_refuses_an_undeclared_key_and_names_the_nearest(drive: Drive) -> None:
    """Rules: 30. Rows: S1-040."""
    with pytest.raises(InvalidUpdateError) as refused:
        drive.invoke(giving({"trial": ["t"]}, strict=True).compile(), {"x": 0})
    told = str(refused.value)
    assert "'give'" in told
    assert "'trial'" in told
    assert "'trail'" in told


@pytest.mark.parametrize(
    "value",
    [Command(update={"trial": 1}), Command(update=[("trial", 1)]), [Command(update={"x": 1}), {"trial": 1}]],
)
def test_strict_refuses_an_undeclared_key_in_every_form(value: Any, drive: Drive) -> None:
    """Rules: 30, 54, 55."""
    with pytest.raises(InvalidUpdateError, match="'trial'"):
        drive.invoke(giving(value, strict=True).compile(), {"x": 0})


def test_lenient_ignores_an_undeclared_key(drive: Drive) -> None:
    """Rules: 30."""
    graph = giving({"trial": ["t"], "x": 1}, strict=False).compile()
    assert drive.invoke(graph, {"x": 0}) == {"x": 1, "n": 0, "trail": []}


# goto


@pytest.mark.parametrize(
    "goto,trail",
    [
        ("b", ["b"]),
        (["b", "c"], ["b", "c"]),
        (("c", "b"), ["b", "c"]),
        (Send("b", {}), ["b"]),
        ([Send("b", {}), Send("b", {}), "c"], ["c", "b", "b"]),
        (END, []),
        ([END, "b"], ["b"]),
        ((), []),
        (["b", "b"], ["b"]),
    ],
)
def test_goto_names_sends_or_end(goto: Any, trail: list[str], strict: bool, drive: Drive) -> None:
    """END is a no-op. Rules: 56. Rows: S1-P08."""
    assert drive.invoke(giving(Command(goto=goto), "b", "c", strict=strict).compile(), {"x": 0})["trail"] == trail


def test_goto_adds_to_static_edges(strict: bool, drive: Drive) -> None:
    """Both run; END takes nothing away. Rules: 53, 56."""
    builder = giving(Command(update={"trail": ["give"]}, goto="c"), "b", "c", strict=strict).add_edge("give", "b")
    assert drive.invoke(builder.compile(), {})["trail"] == ["give", "b", "c"]
    builder = giving(Command(update={"trail": ["give"]}, goto=END), "b", strict=strict).add_edge("give", "b")
    assert drive.invoke(builder.compile(), {})["trail"] == ["give", "b"]


def test_goto_of_an_edges_own_target_runs_it_once(strict: bool, drive: Drive) -> None:
    """Rules: 53, 29."""
    builder = giving(Command(goto="b"), "b", strict=strict).add_edge("give", "b")
    assert drive.invoke(builder.compile(), {})["trail"] == ["b"]


def test_commands_in_a_list_each_go_somewhere(strict: bool, drive: Drive) -> None:
    """Rules: 55, 56."""
    value = [Command(goto="b"), Command(update={"trail": ["give"]}, goto="c"), {"x": 1}]
    assert drive.invoke(giving(value, "b", "c", strict=strict).compile(), {})["trail"] == ["give", "b", "c"]


def test_a_returned_send_counts_as_goto(strict: bool, drive: Drive) -> None:
    """Rules: 57."""
    builder = giving(Send("echo", {"trail": ["sent"]}), strict=strict)

    def echo(state: State) -> State:
        return {"trail": [*state.get("trail", []), "echo"]}

    builder.add_node(echo)
    assert drive.invoke(builder.compile(), {"trail": ["in"]})["trail"] == ["in", "sent", "echo"]


def test_a_list_of_sends_and_updates_is_a_return_too(drive: Drive) -> None:
    """Rules: 57, 55."""
    value = [Send("b", {}), {"trail": ["give"]}, Send("b", {})]
    assert drive.invoke(giving(value, "b", strict=True).compile(), {})["trail"] == ["give", "b", "b"]


def test_a_command_from_a_conditional_target_loop(strict: bool, drive: Drive) -> None:
    """Command can close a loop by itself. Rules: 53, 4."""

    def again(state: State) -> Command[Literal["again", "__end__"]]:
        turn = state.get("n", 0) + 1
        return Command(update={"n": 1}, goto="again" if turn < 3 else END)

    graph = StateGraph(State, strict=strict).add_node(again).add_edge(START, "again").compile()
    assert drive.invoke(graph, {})["n"] == 3


# destinations


@pytest.mark.parametrize("destinations", [("b",), {"b": "a label"}])
def test_destinations_affect_the_drawing_only(destinations: Any, strict: bool, drive: Drive) -> None:
    """The node may go elsewhere. Rules: 65."""

    def give(state: State) -> Any:
        return Command(goto="c")

    builder = StateGraph(State, strict=strict).add_node("give", give, destinations=destinations)
    builder.add_node("b", mark("b")).add_node("c", mark("c")).add_edge(START, "give")
    graph = builder.compile()
    drawn = {(source, target) for source, target, _ in arrows(graph)}
    assert ("give", "b") in drawn
    assert ("give", "c") not in drawn
    assert drive.invoke(graph, {})["trail"] == ["c"]


def test_a_commands_literal_annotation_is_drawn(strict: bool) -> None:
    """Rules: 65, 4."""

    def give(state: State) -> Command[Literal["b"]]:
        return Command(goto="b")

    builder = StateGraph(State, strict=strict).add_node(give).add_node("b", mark("b")).add_edge(START, "give")
    assert ("give", "b", "-.->") in arrows(builder.compile())


# refused inputs


def test_an_empty_command_is_no_input(strict: bool, drive: Drive) -> None:
    """Rules: 64."""
    with pytest.raises(EmptyInputError):
        drive.invoke(giving(None, strict=strict).compile(), Command())


def test_a_root_has_no_parent_to_command(strict: bool, drive: Drive) -> None:
    """Rules: 60."""
    with pytest.raises(InvalidUpdateError, match="There is no parent graph"):
        drive.invoke(giving(None, strict=strict).compile(), Command(graph=Command.PARENT, update={"x": 1}), on())
