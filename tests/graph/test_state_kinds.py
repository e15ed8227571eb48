"""State as TypedDict, dataclass, pydantic model or bare type: what nodes receive, and what their returns write."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

import pydantic
import pytest
from pydantic import BaseModel

from lawful import START, UNSET, Command, StateGraph
from lawful.core.errors import GraphBuildError, InvalidUpdateError
from support.graphs import Drive, concat

pytestmark = pytest.mark.unit


class Typed(TypedDict):
    text: str
    trail: Annotated[list[str], concat]


class Loose(TypedDict, total=False):
    text: str
    trail: Annotated[list[str], concat]


@dataclass
class Classed:
    text: str = UNSET
    trail: Annotated[list[str], concat] = field(default_factory=list[str])


class Modelled(BaseModel):
    text: str = ""
    trail: Annotated[list[str], concat] = []


KINDS: list[Any] = [Typed, Loose, Classed, Modelled]


def read(state: Any, key: str) -> Any:
    return getattr(state, key) if hasattr(state, key) else state[key]


@pytest.mark.parametrize("schema", KINDS)
def test_every_kind_of_class_is_a_state(schema: Any, strict: bool, drive: Drive) -> None:
    """The result is a plain dict whatever the class. Rules: 8, 9. Rows: S1-002, S1-S01."""

    def shout(state: Any) -> dict[str, Any]:
        return {"text": read(state, "text").upper(), "trail": ["shout"]}

    def twice(state: Any) -> dict[str, Any]:
        return {"text": read(state, "text") * 2, "trail": ["twice"]}

    graph = StateGraph(schema, strict=strict).add_sequence([shout, twice]).add_edge(START, "shout").compile()
    out = drive.invoke(graph, {"text": "a", "trail": ["in"]})
    assert out == {"text": "AA", "trail": ["in", "shout", "twice"]}
    assert type(out) is dict


@pytest.mark.parametrize("schema", [Classed, Modelled])
def test_an_instance_is_an_input(schema: Any, strict: bool, drive: Drive) -> None:
    """Rules: 9."""

    def keep(state: Any) -> dict[str, Any]:
        return {"trail": [type(state).__name__]}

    graph = StateGraph(schema, strict=strict).add_node(keep).add_edge(START, "keep").compile()
    assert drive.invoke(graph, schema(text="a", trail=["in"])) == {"text": "a", "trail": ["in", schema.__name__]}


# a bare type


def test_a_bare_type_is_one_channel(strict: bool, drive: Drive) -> None:
    """Nodes get and return the value itself. Rules: 8."""

    def more(state: list[str]) -> list[str]:
        return [*state, "more"]

    def most(state: list[str]) -> list[str]:
        return [*state, "most"]

    graph = StateGraph(list[str], strict=strict).add_sequence([more, most]).add_edge(START, "more").compile()
    assert drive.invoke(graph, ["in"]) == ["in", "more", "most"]
    assert drive.stream(graph, ["in"], stream_mode="values") == [["in"], ["in", "more"], ["in", "more", "most"]]


def test_a_bare_annotated_type_is_reduced(strict: bool, drive: Drive) -> None:
    """Rules: 8, 20."""

    def b(state: str) -> str:
        return "b"

    def a(state: str) -> str:
        return "a"

    root: Any = Annotated[str, operator.add]
    graph = StateGraph(root, strict=strict).add_node(b).add_node(a).add_edge(START, "b").add_edge(START, "a").compile()
    assert drive.invoke(graph, "in-") == "in-ab"


def test_a_root_takes_commands_and_lists_with_commands(strict: bool, drive: Drive) -> None:
    """Rules: 8, 54, 55."""

    def mixed(state: list[str]) -> Any:
        return [Command(update=["one"]), ["two"], Command(update=["three"], goto="last")]

    def last(state: list[str]) -> list[str]:
        return ["last"]

    root: Any = Annotated[list[str], concat]
    graph = StateGraph(root, strict=strict).add_node(mixed).add_node(last).add_edge(START, "mixed").compile()
    assert drive.invoke(graph, ["in"]) == ["in", "one", "two", "three", "last"]


def appended(state: Loose, delta: Loose) -> Loose:
    """One reducer of the whole state: texts are joined, trails are concatenated."""
    return {
        "text": state.get("text", "") + delta.get("text", ""),
        "trail": state.get("trail", []) + delta.get("trail", []),
    }


def test_one_reducer_of_the_whole_state(drive: Drive) -> None:
    """The node's return is a delta, and the router sees the merged state. Rules: 8. Rows: S0-080, S0-082."""
    seen: list[str] = []

    def add(state: Loose) -> Loose:
        return {"text": "x", "trail": ["add"]}

    def again(state: Loose) -> str:
        seen.append(state.get("text", ""))
        return "add" if len(state.get("text", "")) < 4 else "__end__"

    builder = StateGraph(Loose, reducer=appended).add_node(add).add_edge(START, "add")
    graph = builder.add_conditional_edges("add", again).compile()
    assert drive.invoke(graph, {"text": "x"}) == {"text": "xxxx", "trail": ["add", "add", "add"]}
    assert seen == ["xx", "xxx", "xxxx"]


def test_one_reducer_of_the_whole_state_is_checked_against_the_class(drive: Drive) -> None:
    """Rules: 8, 222. Rows: S0-080, S1-040."""

    def wrong(state: Loose) -> Any:
        return {"text": 3}

    graph = StateGraph(Loose, reducer=appended).add_node(wrong).add_edge(START, "wrong").compile()
    with pytest.raises(InvalidUpdateError, match="text"):
        drive.invoke(graph, {"text": "x"})


# instances


@pytest.mark.parametrize("schema", [Classed, Modelled])
def test_each_node_receives_a_new_instance(schema: Any, strict: bool, drive: Drive) -> None:
    """Also when two run in one step. Rules: 9."""
    given: list[Any] = []

    def first(state: Any) -> dict[str, Any]:
        given.append(state)
        return {}

    def left(state: Any) -> dict[str, Any]:
        given.append(state)
        return {"trail": ["left"]}

    def right(state: Any) -> dict[str, Any]:
        given.append(state)
        return {"trail": ["right"]}

    builder = StateGraph(schema, strict=strict).add_node(first).add_node(left).add_node(right)
    graph = builder.add_edge(START, "first").add_edge("first", "left").add_edge("first", "right").compile()
    sent = schema(text="a")
    assert drive.invoke(graph, sent) == {"text": "a", "trail": ["left", "right"]}
    assert [type(state) for state in given] == [schema] * 3
    assert len({id(state) for state in [sent, *given]}) == 4


@dataclass
class Filled:
    name: str = "anonymous"
    tags: list[str] = field(default_factory=lambda: ["fresh"])
    note: str | None = None


class FilledModel(BaseModel):
    name: str = "anonymous"
    tags: list[str] = pydantic.Field(default_factory=lambda: ["fresh"])
    note: str | None = None


@pytest.mark.parametrize("schema", [Filled, FilledModel])
def test_defaults_fill_what_nobody_wrote(schema: Any, strict: bool, drive: Drive) -> None:
    """Rules: 9. Rows: S1-S03, S1-S04."""
    given: list[Any] = []

    def look(state: Any) -> dict[str, Any]:
        given.append((state.name, state.tags, state.note))
        return {"note": "seen"}

    graph = StateGraph(schema, strict=strict).add_node(look).add_edge(START, "look").compile()
    drive.invoke(graph, {"tags": ["given"]})
    drive.invoke(graph, {"name": "me"})
    assert given == [("anonymous", ["given"], None), ("me", ["fresh"], None)]


# returns that are instances: rule 10


class P(BaseModel):
    a: int = 0
    b: int = 0
    maybe: str | None = None


@dataclass
class D:
    a: int = 0
    b: int = 0
    maybe: str | None = None


def returning(schema: Any, value: Any, strict: bool) -> Any:
    """A graph whose one node, annotated with nothing, returns ``value``."""

    def give(state: Any) -> Any:
        return value

    return StateGraph(schema, strict=strict).add_node(give).add_edge(START, "give").compile()


BEFORE = {"a": 5, "b": 5, "maybe": "kept"}


def test_lenient_model_returns_write_every_field(drive: Drive) -> None:
    """Defaults included; only a None that nobody set and that is the default is left out. Rules: 10."""
    assert drive.invoke(returning(P, P(a=1), strict=False), BEFORE) == {"a": 1, "b": 0, "maybe": "kept"}


def test_lenient_dataclass_returns_write_every_field(drive: Drive) -> None:
    """A dataclass does not know what was set, so its None is written. Rules: 10."""
    assert drive.invoke(returning(D, D(a=1), strict=False), BEFORE) == {"a": 1, "b": 0, "maybe": None}


def test_strict_model_returns_write_what_was_set(drive: Drive) -> None:
    """Rules: 10. Rows: S1-S03."""
    assert drive.invoke(returning(P, P(a=1), strict=True), BEFORE) == {"a": 1, "b": 5, "maybe": "kept"}


def test_a_model_field_set_to_its_default_is_written(strict: bool, drive: Drive) -> None:
    """Rules: 10."""
    assert drive.invoke(returning(P, P(a=0, b=7), strict), BEFORE) == {"a": 0, "b": 7, "maybe": "kept"}


def test_an_explicit_none_is_an_update(strict: bool, drive: Drive) -> None:
    """Rules: 10."""
    assert drive.invoke(returning(P, P(a=1, b=2, maybe=None), strict), BEFORE) == {"a": 1, "b": 2, "maybe": None}


def test_a_command_updates_with_an_instance(strict: bool, drive: Drive) -> None:
    """Rules: 10, 54."""
    update = Command(update=P(a=1, b=2, maybe=None))
    assert drive.invoke(returning(P, update, strict), BEFORE) == {"a": 1, "b": 2, "maybe": None}


@dataclass
class Delta:
    a: int = UNSET
    b: int = UNSET
    trail: Annotated[tuple[str, ...], operator.add] = ()


def test_strict_dataclass_returns_write_what_is_not_unset(drive: Drive) -> None:
    """Rules: 10. Rows: S1-S04."""

    def give(state: Delta) -> Delta:
        return Delta(a=state.a + 1, trail=("give",))

    graph = StateGraph(Delta).add_node(give).add_edge(START, "give").compile()
    assert drive.invoke(graph, Delta(a=1, b=2)) == {"a": 2, "b": 2, "trail": ("give",)}


def test_strict_refuses_at_build_a_return_class_that_would_reset_fields() -> None:
    """Rules: 10."""

    def give(state: D) -> D:
        return D(a=1)

    builder = StateGraph(D).add_node(give).add_edge(START, "give")
    with pytest.raises(GraphBuildError, match=r"give") as refused:
        builder.compile()
    assert "UNSET" in str(refused.value)
    assert "'a'" in str(refused.value)


def test_lenient_accepts_such_a_return_class(drive: Drive) -> None:
    """Rules: 10."""

    def give(state: D) -> D:
        return D(a=1)

    graph = StateGraph(D, strict=False).add_node(give).add_edge(START, "give").compile()
    assert drive.invoke(graph, BEFORE)["b"] == 0


def test_unset_never_reaches_the_state(drive: Drive) -> None:
    """Rules: 10, 14."""
    graph = returning(Delta, Delta(b=3), strict=True)
    assert drive.invoke(graph, {"trail": ()}) == {"b": 3, "trail": ()}


# when values are checked: rule 222


@pytest.mark.parametrize("schema", [Typed, Classed, Modelled])
def test_strict_checks_each_write_when_the_node_ends(schema: Any, drive: Drive) -> None:
    """The error names node and key; the next node does not run. Rules: 222. Rows: S1-009, S1-040, S1-048."""
    ran: list[str] = []

    def wrong(state: Any) -> dict[str, Any]:
        return {"text": 3}

    def after(state: Any) -> dict[str, Any]:
        ran.append("after")
        return {}

    graph = StateGraph(schema).add_sequence([wrong, after]).add_edge(START, "wrong").compile()
    with pytest.raises(InvalidUpdateError, match=r"text") as refused:
        drive.invoke(graph, {"text": "a", "trail": []})
    assert "'wrong'" in str(refused.value)
    assert ran == []


def test_lenient_checks_a_model_when_it_is_read(drive: Drive) -> None:
    """So the last node's wrong write is never seen, and another's fails its reader. Rules: 222."""

    def wrong(state: Modelled) -> dict[str, Any]:
        return {"text": 3}

    def after(state: Modelled) -> dict[str, Any]:
        return {}

    alone = StateGraph(Modelled, strict=False).add_node(wrong).add_edge(START, "wrong").compile()
    assert drive.invoke(alone, {"text": "a"})["text"] == 3
    both = StateGraph(Modelled, strict=False).add_sequence([wrong, after]).add_edge(START, "wrong").compile()
    with pytest.raises(pydantic.ValidationError, match="text"):
        drive.invoke(both, {"text": "a"})


def test_lenient_never_checks_a_typed_dict(drive: Drive) -> None:
    """Rules: 222."""

    def wrong(state: Typed) -> dict[str, Any]:
        return {"text": 3}

    def after(state: Typed) -> dict[str, Any]:
        return {"trail": [str(state["text"])]}

    graph = StateGraph(Typed, strict=False).add_sequence([wrong, after]).add_edge(START, "wrong").compile()
    assert drive.invoke(graph, {"text": "a", "trail": []}) == {"text": 3, "trail": ["3"]}


@pytest.mark.parametrize("schema", [Typed, Classed, Modelled])
def test_strict_checks_the_input(schema: Any, drive: Drive) -> None:
    """Rules: 222. Rows: S1-040."""

    def node(state: Any) -> dict[str, Any]:
        return {}

    graph = StateGraph(schema).add_node(node).add_edge(START, "node").compile()
    with pytest.raises(InvalidUpdateError, match="text"):
        drive.invoke(graph, {"text": 3})


@pytest.mark.parametrize("key", ["branch:to:n", "join:a+b:n", "__root__", "__start__", "__interrupt__"])
def test_keys_that_the_engine_uses_itself_are_refused(key: str, strict: bool) -> None:
    """Rows: S1-P04, S1-S01."""
    taken: Any = TypedDict("taken", {key: int, "x": int})  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]
    with pytest.raises(GraphBuildError, match=f"'{re.escape(key)}'.*reserved"):
        StateGraph(taken, strict=strict)
