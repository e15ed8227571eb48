"""`Send`: one task a packet, with its own argument, id, timeout and namespace; stored until it has run."""

from __future__ import annotations

import asyncio
import operator
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import pytest

from lawful import START, Command, Send, StateGraph, TimeoutPolicy
from lawful.core.errors import InvalidUpdateError, NodeTimeoutError
from lawful.journal.port import Journal
from support.graphs import Drive, JournalBox, driving, on

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    x: int
    trail: Annotated[list[Any], operator.add]


@dataclass(frozen=True)
class Parcel:
    weight: int


def mark(name: str) -> Any:
    def body(state: State) -> State:
        return {"trail": [name]}

    body.__name__ = name
    return body


def spreading(*packets: Any) -> Any:
    def spread(state: State) -> list[Any]:
        return list(packets)

    return spread


def mapped(work: Any, *packets: Any, strict: bool) -> Any:
    """A builder: START sends ``packets`` to ``work``."""
    builder = StateGraph(State, strict=strict).add_node("work", work)
    return builder.add_conditional_edges(START, spreading(*packets), ["work"])


ARGUMENTS: list[Any] = [
    {"x": 1},
    {"x": "not an int", "undeclared": 2},
    {},
    7,
    "text",
    None,
    ["list"],
    Parcel(3),
    Command(goto="nowhere", update={"undeclared": 1}),
    Send("nowhere", 1),
]


@pytest.mark.parametrize("arg", ARGUMENTS, ids=repr)
def test_the_argument_is_the_whole_input(arg: Any, strict: bool, drive: Drive) -> None:
    """Nothing is filtered or coerced, whatever its type. Rules: 67. Rows: S1-P08."""
    given: list[Any] = []

    def work(state: Any) -> State:
        given.append(state)
        return {"trail": ["ran"]}

    out = drive.invoke(mapped(work, Send("work", arg), strict=strict).compile(), {"x": 0})
    assert out == {"x": 0, "trail": ["ran"]}
    assert given == [arg]
    assert type(given[0]) is type(arg)


def test_an_annotated_node_gets_the_argument_as_it_is(strict: bool, drive: Drive) -> None:
    """Its annotation filters the state, never an argument. Rules: 67."""
    given: list[Any] = []

    def work(state: State) -> State:
        given.append(state)
        return {}

    drive.invoke(mapped(work, Send("work", {"other": 1}), strict=strict).compile(), {"x": 0})
    assert given == [{"other": 1}]


def test_it_runs_in_the_next_step(strict: bool, drive: Drive) -> None:
    """Rules: 67."""

    def a(state: State) -> Any:
        return Command(update={"trail": ["a"]}, goto=[Send("work", {}), "b"])

    builder = StateGraph(State, strict=strict).add_node(a).add_node("work", mark("work")).add_node("b", mark("b"))
    graph = builder.add_edge(START, "a").compile()
    events = drive.stream(graph, {}, stream_mode="debug")
    told = [(e["step"], e["payload"]["name"]) for e in events if e["type"] == "task"]
    assert sorted(told) == [(1, "a"), (2, "b"), (2, "work")]


def test_equal_packets_are_tasks_of_their_own(journal: Journal, strict: bool, drive: Drive) -> None:
    """Each with an id and a path. Rules: 68, 79."""
    packet = Send("work", {"x": 1})
    graph = mapped(mark("work"), packet, packet, packet, strict=strict).compile(checkpointer=journal)
    assert drive.invoke(graph, {}, on("t"))["trail"] == ["work"] * 3
    asked = drive.get_state_history(graph, on("t"))[1].tasks
    assert [task.name for task in asked] == ["work"] * 3
    assert len({task.id for task in asked}) == 3
    assert [tuple(task.path)[:2] for task in asked] == [("__pregel_push", i) for i in range(3)]


def test_the_targets_edges_fire_once_a_step(strict: bool, drive: Drive) -> None:
    """Rules: 69, 29."""
    builder = mapped(mark("work"), *[Send("work", {})] * 3, strict=strict).add_node("end", mark("end"))
    assert drive.invoke(builder.add_edge("work", "end").compile(), {})["trail"] == ["work"] * 3 + ["end"]


def test_each_packets_route_is_its_own(strict: bool, drive: Drive) -> None:
    """A conditional edge reads the state with that task's writes. Rules: 42, 69."""
    seen: list[Any] = []

    def work(state: State) -> State:
        return {"trail": [state.get("x")]}

    def route(state: State) -> Any:
        seen.append(list(state.get("trail", [])))
        return [Send("echo", {"x": x}) for x in state.get("trail", [])]

    def echo(state: State) -> State:
        return {"trail": [f"echo {state.get('x')}"]}

    builder = mapped(work, Send("work", {"x": 1}), Send("work", {"x": 2}), strict=strict).add_node(echo)
    graph = builder.add_conditional_edges("work", route, ["echo"]).compile()
    assert drive.invoke(graph, {})["trail"] == [1, 2, "echo 1", "echo 2"]
    assert sorted(seen) == [[1], [2]]


def test_packets_are_stored_and_keep_their_ids(box: JournalBox, strict: bool, drive: Drive) -> None:
    """A pause before them, another process, the same tasks. Rules: 70."""
    given: list[Any] = []

    def work(state: Any) -> State:
        given.append(state)
        return {"trail": [str(state["x"])]}

    builder = mapped(work, Send("work", {"x": 1}), Send("work", {"x": 2}), strict=strict)
    first = builder.compile(checkpointer=box.open(), interrupt_before=["work"])
    drive.invoke(first, {}, on("t"))
    assert given == []
    before = [(task.id, task.name) for task in drive.get_state(first, on("t")).tasks]
    second = builder.compile(checkpointer=box.open(), interrupt_before=["work"])
    assert [(task.id, task.name) for task in drive.get_state(second, on("t")).tasks] == before
    assert [name for _, name in before] == ["work", "work"]
    assert drive.invoke(second, None, on("t"))["trail"] == ["1", "2"]
    ran = drive.get_state_history(second, on("t"))[1].tasks
    assert [(task.id, task.name) for task in ran] == before


def test_a_failed_packet_alone_runs_again(journal: Journal, strict: bool, drive: Drive) -> None:
    """The async driver stops what has not ended, which then runs again. Rules: 70, 91, 92. Rows: S1-046."""
    ran: list[int] = []

    def work(state: Any) -> State:
        ran.append(state["x"])
        if state["x"] == 2 and ran.count(2) == 1:
            raise ConnectionError("down")
        return {"trail": [str(state["x"])]}

    graph = mapped(work, *[Send("work", {"x": x}) for x in (1, 2, 3)], strict=strict).compile(checkpointer=journal)
    config = on("t", max_concurrency=1)
    with pytest.raises(ConnectionError):
        drive.invoke(graph, {}, config)
    assert drive.invoke(graph, None, config)["trail"] == ["1", "2", "3"]
    assert ran.count(1) == 1
    assert ran.count(2) == 2
    assert ran.count(3) == 1 or drive.name == "async"


@pytest.mark.parametrize("stored", [False, True])
def test_a_packets_timeout_replaces_the_nodes(stored: bool, box: JournalBox, strict: bool) -> None:
    """Also when it was read from a store. Rules: 71."""

    async def work(state: Any) -> State:
        await asyncio.sleep(state["sleep"])
        return {"trail": ["slept"]}

    def build(packet: Send, node_timeout: float | None) -> Any:
        builder = StateGraph(State, strict=strict).add_node("work", work, timeout=node_timeout)
        builder.add_conditional_edges(START, spreading(packet), ["work"])
        if not stored:
            return builder.compile()
        return builder.compile(checkpointer=box.open(), interrupt_before=["work"])

    with driving("async") as drive:

        def run(thread: str, packet: Send, node_timeout: float | None) -> Any:
            out = drive.invoke(build(packet, node_timeout), {}, on(thread))
            return drive.invoke(build(packet, node_timeout), None, on(thread)) if stored else out

        with pytest.raises(NodeTimeoutError, match="work"):
            run("shorter", Send("work", {"sleep": 5}, timeout=0.05), 10)
        assert run("longer", Send("work", {"sleep": 0.15}, timeout=5), 0.05)["trail"] == ["slept"]
        with pytest.raises(NodeTimeoutError, match="work"):
            run("the node's own", Send("work", {"sleep": 5}), 0.05)


def test_a_timeout_policy_is_a_packets_timeout_too(strict: bool) -> None:
    """Rules: 71."""

    async def work(state: Any) -> State:
        await asyncio.sleep(5)
        return {}

    packet = Send("work", {}, timeout=TimeoutPolicy(run_timeout=0.05))  # pyright: ignore[reportArgumentType]
    graph = mapped(work, packet, strict=strict).compile()
    with driving("async") as drive, pytest.raises(NodeTimeoutError, match="work"):
        drive.invoke(graph, {})


def test_packets_to_a_subgraph_have_namespaces_of_their_own(journal: Journal, strict: bool, drive: Drive) -> None:
    """Rules: 72, 133."""
    inner = StateGraph(State, strict=strict).add_sequence([mark("i"), mark("j")]).add_edge(START, "i").compile()
    builder = mapped(inner, Send("work", {"trail": []}), Send("work", {"trail": []}), strict=strict)
    graph = builder.compile(checkpointer=journal)
    events = drive.stream(graph, {}, on("t"), subgraphs=True, stream_mode="updates")
    inside = {ns for ns, update in events if "i" in update}
    assert len(inside) == 2
    assert all(len(ns) == 1 and ns[0].startswith("work:") for ns in inside)
    assert drive.get_state(graph, on("t")).values["trail"] == ["i", "j", "i", "j"]


@pytest.mark.parametrize("node", ["nobody", START, "wrok"])
def test_strict_refuses_a_packet_to_nobody(node: str, drive: Drive) -> None:
    """Rules: 45. Rows: S1-P08."""
    builder = StateGraph(State).add_node("work", mark("work")).add_conditional_edges(START, spreading(Send(node, {})))
    with pytest.raises(InvalidUpdateError, match=f"'{node}'"):
        drive.invoke(builder.compile(), {"x": 1})
