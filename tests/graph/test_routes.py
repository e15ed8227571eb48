"""Conditional edges: what they read, what they may return, and what happens to a target that does not exist."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from typing import Annotated, Any, Literal, TypedDict

import pytest

from lawful import END, START, Command, Send, StateGraph
from lawful.core.errors import GraphBuildError, InvalidUpdateError
from lawful.journal.port import Journal
from support.graphs import Drive, arrows, concat, driving, on

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    x: int
    y: int
    trail: Annotated[list[str], concat]


def mark(name: str) -> Any:
    def body(state: State) -> State:
        return {"trail": [name]}

    body.__name__ = name
    return body


def routed(
    path: Callable[..., Any], strict: bool, path_map: dict[Hashable, str] | list[str] | None = None, **options: Any
) -> Any:
    """a, then whatever ``path`` says: "left", "right" or END."""
    builder = StateGraph(State, strict=strict)
    for name in ("a", "left", "right"):
        builder.add_node(name, mark(name))
    builder.add_edge(START, "a").add_conditional_edges("a", path, path_map)
    return builder.compile(**options)


def returning(value: Any) -> Callable[[State], Any]:
    def path(state: State) -> Any:
        return value

    return path


# what a route reads


def test_a_route_sees_its_own_nodes_writes_and_no_siblings(strict: bool, drive: Drive) -> None:
    """Rules: 42, 32. Rows: S0-081, S0-082."""
    seen: list[dict[str, Any]] = []

    def a(state: State) -> State:
        return {"x": 1, "trail": ["a"]}

    def b(state: State) -> State:
        return {"y": 1, "trail": ["b"]}

    def look(state: State) -> str:
        seen.append(dict(state))
        return END

    builder = StateGraph(State, strict=strict).add_node(a).add_node(b).add_edge(START, "a").add_edge(START, "b")
    out = drive.invoke(builder.add_conditional_edges("a", look, [END]).compile(), {"x": 0, "y": 0, "trail": ["in"]})
    assert seen == [{"x": 1, "y": 0, "trail": ["in", "a"]}]
    assert out == {"x": 1, "y": 1, "trail": ["in", "a", "b"]}


def test_what_a_route_does_to_its_state_stays_there(strict: bool, drive: Drive) -> None:
    """Rules: 42. Rows: S1-042."""

    def spoil(state: State) -> str:
        state.get("trail", []).append("spoilt")
        state["x"] = 99
        return "left"

    assert drive.invoke(routed(spoil, strict, ["left"]), {"x": 0, "trail": []}) == {"x": 0, "trail": ["a", "left"]}


def test_a_node_has_several_routes_and_edges(strict: bool, drive: Drive) -> None:
    """All of them are followed. Rules: 42, 43. Rows: S0-081."""

    def one(state: State) -> str:
        return "left"

    def two(state: State) -> str:
        return "right"

    builder = StateGraph(State, strict=strict)
    for name in ("a", "left", "right", "straight"):
        builder.add_node(name, mark(name))
    builder.add_edge(START, "a").add_edge("a", "straight")
    builder.add_conditional_edges("a", one).add_conditional_edges("a", two)
    assert drive.invoke(builder.compile(), {})["trail"] == ["a", "left", "right", "straight"]


def test_a_route_may_be_async(strict: bool) -> None:
    """Rules: 43."""

    async def path(state: State) -> str:
        return "left"

    with driving("async") as drive:
        assert drive.invoke(routed(path, strict, ["left"]), {})["trail"] == ["a", "left"]


def test_a_routes_own_error_is_its_tasks_failure(journal: Journal, strict: bool, drive: Drive) -> None:
    """The node's writes are not kept, and a resume runs node and route again. Rules: 42, 91. Rows: S1-047."""
    tries: list[int] = []

    def path(state: State) -> str:
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError("down")
        return "left"

    graph = routed(path, strict, ["left"], checkpointer=journal)
    with pytest.raises(ConnectionError, match="down"):
        drive.invoke(graph, {}, on("t"))
    assert drive.get_state(graph, on("t")).next == ("a",)
    assert drive.invoke(graph, None, on("t"))["trail"] == ["a", "left"]


# what a route returns


@pytest.mark.parametrize(
    "value,path_map,trail",
    [
        ("left", None, ["a", "left"]),
        (["left", "right"], None, ["a", "left", "right"]),
        (("right",), None, ["a", "right"]),
        (END, None, ["a"]),
        ([END, "left"], None, ["a", "left"]),
        ([], None, ["a"]),
        (["left", "left"], None, ["a", "left"]),
        ("yes", {"yes": "left", "no": END}, ["a", "left"]),
        (True, {True: "right", False: END}, ["a", "right"]),
        (["yes", "no"], {"yes": "left", "no": "right"}, ["a", "left", "right"]),
        ("no", {"yes": "left", "no": END}, ["a"]),
        ("left", ["left", "right"], ["a", "left"]),
        (Send("left", {}), None, ["a", "left"]),
        (["right", Send("left", {}), Send("left", {})], None, ["a", "right", "left", "left"]),
        (["yes", Send("left", {})], {"yes": "right"}, ["a", "right", "left"]),
    ],
)
def test_a_route_returns_names_sends_or_end(
    value: Any, path_map: Any, trail: list[str], strict: bool, drive: Drive
) -> None:
    """A path map translates names. Rules: 43. Rows: S1-005."""
    assert drive.invoke(routed(returning(value), strict, path_map), {})["trail"] == trail


@pytest.mark.parametrize("value", [None, ["left", None]])
def test_none_is_no_destination(value: Any, strict: bool, drive: Drive) -> None:
    """Rules: 43."""
    refusal = (ValueError, InvalidUpdateError) if strict else ValueError
    with pytest.raises(refusal, match="Branch did not return a valid destination"):
        drive.invoke(routed(returning(value), strict), {})


def test_nothing_is_sent_to_the_end(strict: bool, drive: Drive) -> None:
    """Rules: 43."""
    with pytest.raises(InvalidUpdateError, match="END"):
        drive.invoke(routed(returning(Send(END, {})), strict), {})


@pytest.mark.parametrize("value", ["maybe", ["yes", "maybe"]])
def test_a_name_that_the_path_map_lacks_is_an_error(value: Any, strict: bool, drive: Drive) -> None:
    """Strict names the route's source and the names it knows. Rules: 43."""
    graph = routed(returning(value), strict, {"yes": "left", "may": "right"})
    if not strict:
        with pytest.raises((KeyError, InvalidUpdateError), match="maybe"):
            drive.invoke(graph, {})
        return
    with pytest.raises(InvalidUpdateError) as refused:
        drive.invoke(graph, {})
    told = str(refused.value)
    assert "'maybe'" in told
    assert "'may'" in told
    assert "'a'" in told


# targets that nobody knows


@pytest.mark.parametrize("value", ["lift", ["left", "lift"], Send("lift", {}), [Send("left", {}), Send("lift", {})]])
def test_strict_refuses_an_unknown_route_and_writes_nothing(value: Any, journal: Journal, drive: Drive) -> None:
    """It names node, target and the nearest name. Rules: 43, 45. Rows: S1-P08, S0-091."""
    graph = routed(returning(value), True, checkpointer=journal)
    with pytest.raises(InvalidUpdateError) as refused:
        drive.invoke(graph, {"trail": ["in"]}, on("t"))
    told = str(refused.value)
    assert "'a'" in told
    assert "'lift'" in told
    assert "'left'" in told
    head = drive.get_state(graph, on("t"))
    assert (head.values["trail"], head.next) == (["in"], ("a",))


def jump(goto: Any) -> Any:
    def a(state: State) -> Command[Any]:
        return Command(update={"trail": ["a"]}, goto=goto)

    return a


@pytest.mark.parametrize("goto", ["lift", ["left", "lift"], Send("lift", {})])
def test_strict_refuses_an_unknown_goto_and_writes_nothing(goto: Any, journal: Journal, drive: Drive) -> None:
    """Rules: 45. Rows: S1-P08."""
    builder = StateGraph(State).add_node("a", jump(goto)).add_node("left", mark("left")).add_edge(START, "a")
    graph = builder.compile(checkpointer=journal)
    with pytest.raises(InvalidUpdateError) as refused:
        drive.invoke(graph, {"trail": ["in"]}, on("t"))
    told = str(refused.value)
    assert "'a'" in told
    assert "'lift'" in told
    assert "'left'" in told
    assert drive.get_state(graph, on("t")).values["trail"] == ["in"]


@pytest.mark.parametrize("value", ["lift", ["left", "lift"], Send("lift", {}), ["left", Send("lift", {})]])
def test_lenient_logs_an_unknown_route_and_goes_on(value: Any, drive: Drive, caplog: pytest.LogCaptureFixture) -> None:
    """Rules: 45."""
    wanted = ["a", "left"] if isinstance(value, list) else ["a"]
    with caplog.at_level(logging.WARNING):
        assert drive.invoke(routed(returning(value), False), {})["trail"] == wanted
    assert "lift" in caplog.text


@pytest.mark.parametrize("goto", ["lift", ["left", "lift"], Send("lift", {})])
def test_lenient_logs_an_unknown_goto_and_goes_on(goto: Any, drive: Drive, caplog: pytest.LogCaptureFixture) -> None:
    """Rules: 45."""
    builder = StateGraph(State, strict=False).add_node("a", jump(goto)).add_node("left", mark("left"))
    wanted = ["a", "left"] if isinstance(goto, list) else ["a"]
    with caplog.at_level(logging.WARNING):
        assert drive.invoke(builder.add_edge(START, "a").compile(), {})["trail"] == wanted
    assert "lift" in caplog.text


# targets that are known before the run


def literal(state: State) -> Literal["left", "__end__"]:
    return "left"


def misspelt(state: State) -> Literal["lift", "__end__"]:
    return "lift"


def beyond(state: State) -> Literal["left", "__end__"]:
    return "right"  # pyright: ignore[reportReturnType]


class ToRight:
    def __call__(self, state: State) -> str:
        return "right"


def drawn(graph: Any) -> set[str]:
    """The targets that the drawing gives to a's conditional edges."""
    return {target for source, target, kind in arrows(graph) if (source, kind) == ("a", "-.->")}


def test_a_literal_annotation_gives_the_targets(strict: bool, drive: Drive) -> None:
    """Rules: 44. Rows: S1-005."""
    graph = routed(literal, strict)
    assert drawn(graph) == {"left", END}
    assert drive.invoke(graph, {})["trail"] == ["a", "left"]


def test_a_literal_with_an_unknown_target_is_refused_at_build(strict: bool) -> None:
    """Rules: 44, 3."""
    with pytest.raises(GraphBuildError, match="lift"):
        routed(misspelt, strict)


def test_strict_holds_a_route_to_its_literal(drive: Drive) -> None:
    """Rules: 44."""
    with pytest.raises(InvalidUpdateError, match="'right'"):
        drive.invoke(routed(beyond, True), {})


@pytest.mark.parametrize("path", [ToRight(), returning("right")], ids=["object", "function"])
def test_a_route_without_a_path_map_may_go_anywhere(path: Any, strict: bool, drive: Drive) -> None:
    """Rules: 44."""
    assert drive.invoke(routed(path, strict), {})["trail"] == ["a", "right"]


def test_a_path_map_gives_the_targets(strict: bool) -> None:
    """Rules: 44."""
    assert drawn(routed(returning("x"), strict, {"x": "left", "y": END})) == {"left", END}


def continue_or_end(state: State) -> str:
    """The route of a well-known sample, which returns words that are no nodes."""
    return "continue" if state.get("x", 0) < 5 else "end"


def test_the_route_that_says_continue_and_end_is_rejected(drive: Drive) -> None:
    """Rules: 45. Rows: S1-005."""
    graph = routed(continue_or_end, True)
    with pytest.raises(InvalidUpdateError, match="'continue'"):
        drive.invoke(graph, {"x": 0})
    with pytest.raises(InvalidUpdateError, match="'end'"):
        drive.invoke(graph, {"x": 9})
