"""Case A03: typing mistakes in flow are refused where they are made, by name, and nothing of that step is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import pytest
from pydantic import BaseModel

from lawful import START, UNSET, Command, Send, StateGraph
from lawful.core.errors import GraphBuildError, InvalidUpdateError
from lawful.journal.port import Journal
from support.graphs import Drive, on

pytestmark = pytest.mark.unit


class Typed(TypedDict, total=False):
    count: int
    title: str


class Model(BaseModel):
    count: int = 0
    title: str = ""


@dataclass
class Record:
    count: int = UNSET
    title: str = UNSET


SCHEMAS: list[Any] = [Typed, Model, Record]


def good(state: Any) -> dict[str, Any]:
    return {"title": "from the sibling"}


def astray(state: Any) -> str:
    return "finsh"


def nothing(state: Any) -> dict[str, Any]:
    return {}


def graph(schema: Any, node: Callable[[Any], Any], journal: Journal | None = None, route: Any = None) -> Any:
    """``write`` beside a faultless sibling; ``finish`` is there to be reached."""
    builder: Any = StateGraph(schema).add_node("write", node).add_node("sibling", good).add_node("finish", nothing)
    builder.add_edge(START, "write").add_edge(START, "sibling")
    if route is not None:
        builder.add_conditional_edges("write", route)
    return builder.compile(checkpointer=journal)


def refusal(drive: Drive, refused: Any, *facts: str) -> None:
    """The run is refused with an error that tells the facts, and the state is the one before the step."""
    with pytest.raises(InvalidUpdateError) as caught:
        drive.invoke(refused, {"count": 1, "title": "in"}, on("t"))
    for fact in ("'write'", *facts):
        assert fact in str(caught.value)
    stored = drive.get_state_history(refused, on("t"))[0]
    assert (stored.values["count"], stored.values["title"]) == (1, "in")
    assert drive.get_state(refused, on("t")).values["count"] == 1


@pytest.mark.parametrize("schema", SCHEMAS)
def test_an_undeclared_key(schema: Any, journal: Journal, drive: Drive) -> None:
    """Cases: A03. Rules: 30. Rows: S1-040, S1-041."""
    refusal(drive, graph(schema, lambda state: {"cuont": 2}, journal), "'cuont'", "'count'")


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("wrong", ["two", 2.5, None, [2], True])
def test_a_value_of_another_type(schema: Any, wrong: Any, journal: Journal, drive: Drive) -> None:
    """Nothing is coerced, and a bool is no int. Cases: A03. Rules: 222. Rows: S1-040, S1-041."""
    refusal(drive, graph(schema, lambda state: {"count": wrong}, journal), "'count'", "int")


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_route_to_nobody(schema: Any, journal: Journal, drive: Drive) -> None:
    """Cases: A03. Rules: 43, 45. Rows: S1-041."""
    refused = graph(schema, lambda state: {"count": 2}, journal, astray)
    refusal(drive, refused, "'finsh'", "'finish'")


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("goto", ["finsh", ["finish", "finsh"], Send("finsh", {})])
def test_a_jump_to_nobody(schema: Any, goto: Any, journal: Journal, drive: Drive) -> None:
    """Cases: A03. Rules: 45. Rows: S1-041."""
    refused = graph(schema, lambda state: Command(update={"count": 2}, goto=goto), journal)
    refusal(drive, refused, "'finsh'", "'finish'")


def test_what_is_known_before_the_run_is_refused_at_build() -> None:
    """A route's Literal, a command's Literal, a path map. Cases: A03. Rules: 3, 44."""

    def routed(state: Typed) -> Literal["finsh"]:
        return "finsh"

    def jumping(state: Typed) -> Command[Literal["finsh"]]:
        return Command(goto="finsh")

    def plain(state: Typed) -> Typed:
        return {}

    def path(state: Typed) -> str:
        return "x"

    with pytest.raises(GraphBuildError, match=r"'finsh'.*'finish'"):
        graph(Typed, plain, None, routed)
    with pytest.raises(GraphBuildError, match=r"'finsh'.*'finish'"):
        graph(Typed, jumping)
    builder = StateGraph(Typed).add_node(plain).add_node("finish", plain).add_edge(START, "plain")
    with pytest.raises(GraphBuildError, match=r"'finsh'.*'finish'"):
        builder.add_conditional_edges("plain", path, {"x": "finsh"}).compile()


def test_the_thread_goes_on_after_the_mistake_is_mended(journal: Journal, drive: Drive) -> None:
    """Cases: A03. Rules: 91, 92."""
    broken = [True]

    def write(state: Any) -> dict[str, Any]:
        return {"cuont": 2} if broken[0] else {"count": 2}

    mended = graph(Typed, write, journal)
    with pytest.raises(InvalidUpdateError):
        drive.invoke(mended, {"count": 1, "title": "in"}, on("t"))
    broken[0] = False
    assert drive.invoke(mended, None, on("t")) == {"count": 2, "title": "from the sibling"}


def test_the_input_is_held_to_the_same(journal: Journal, drive: Drive) -> None:
    """Cases: A03. Rules: 222."""
    refused = graph(Typed, lambda state: {"count": 2}, journal)
    with pytest.raises(InvalidUpdateError, match="count"):
        drive.invoke(refused, {"count": "one"}, on("t"))
    assert drive.get_state(refused, on("t")).values.get("count") is None
