"""The rules of steps where each step is read from a journal: the run stops after every one, and another graph goes on."""

from __future__ import annotations

import asyncio
import threading
from typing import Annotated, Any, TypedDict

import pytest

from lawful import END, START, Command, Send, StateGraph
from lawful.journal.port import Journal
from support.graphs import Drive, concat, names, on

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    x: int
    trail: Annotated[list[str], concat]


def mark(name: str) -> Any:
    def body(state: State) -> State:
        return {"trail": [name]}

    return body


def marks(*nodes: str) -> Any:
    builder: Any = StateGraph(State)
    for name in nodes:
        builder.add_node(name, mark(name))
    return builder


def echo(state: State) -> State:
    return {"trail": state.get("trail", [])}


def steps(drive: Drive, builder: Any, journal: Journal) -> list[str]:
    """The trail of a run that is stopped after every step, each of which a graph that was compiled anew takes."""
    given: Any = {"x": 0}
    for _ in range(20):
        graph = builder.compile(checkpointer=journal, interrupt_after="*")
        drive.invoke(graph, given, on("t"))
        if not graph.get_state(on("t")).next:
            return graph.get_state(on("t")).values["trail"]
        given = None
    raise AssertionError("it runs for ever")


def test_a_node_runs_once_for_each_step_that_leads_to_it(drive: Drive, journal: Journal) -> None:
    """Rules: 29, 40"""
    builder = marks("a", "b", "long", "end").add_edge(START, "a").add_edge(START, "b").add_edge("a", "end")
    builder.add_edge("b", "end").add_edge("a", "long").add_edge("long", "end")
    assert steps(drive, builder, journal) == ["a", "b", "end", "long", "end"]


def test_sends_are_queued_by_their_senders(drive: Drive, journal: Journal) -> None:
    """And the edge of a node that several of them ran fires once. Rules: 37, 38, 69"""

    def packets(*wanted: str) -> Any:
        def route(state: State) -> list[Send]:
            return [Send("work", {"trail": [text]}) for text in wanted]

        return route

    builder = marks("aa", "zz", "last").add_node("work", echo).add_edge(START, "zz").add_edge(START, "aa")
    builder.add_conditional_edges("zz", packets("z2", "z1"), ["work"]).add_edge("work", "last")
    builder.add_conditional_edges("aa", packets("a2", "a1"), ["work"]).add_edge("aa", "work")
    assert steps(drive, builder, journal) == ["aa", "zz", "aa", "zz", "a2", "a1", "z2", "z1", "last"]


def test_a_node_leads_to_itself(drive: Drive, journal: Journal) -> None:
    """Rules: 41"""

    def again(state: State) -> State:
        return {"x": state.get("x", 0) + 1, "trail": [str(state.get("x"))]}

    def more(state: State) -> str:
        return "again" if state.get("x", 0) < 3 else END

    builder: Any = StateGraph(State).add_node("again", again).add_edge(START, "again")
    builder.add_conditional_edges("again", more, ["again", END])
    assert steps(drive, builder, journal) == ["0", "1", "2"]


def test_what_a_deferred_node_starts_runs(drive: Drive, journal: Journal) -> None:
    """Rules: 47"""
    builder: Any = marks("a", "b", "after").add_node("late", mark("late"), defer=True)
    builder.add_edge(START, "a").add_edge("a", "b").add_edge("a", "late").add_edge("late", "after")
    assert steps(drive, builder, journal) == ["a", "b", "late", "after"]


@pytest.mark.parametrize(
    ("result", "wanted"),
    [
        (Command(update={"trail": ["give"]}, goto="c"), ["give", "b", "c"]),
        (Command(update={"trail": ["give"]}, goto=END), ["give", "b"]),
        ([Command(goto="c"), {"trail": ["one"]}, Command(update={"trail": ["two"]})], ["one", "two", "b", "c"]),
        (Command(goto=["c", Send("echo", {"trail": ["sent"]})]), ["b", "c", "sent"]),
        (Send("echo", {"trail": ["sent"]}), ["b", "sent"]),
    ],
)
def test_what_a_node_commands_is_taken_beside_its_edges(
    result: Any, wanted: list[str], drive: Drive, journal: Journal
) -> None:
    """Rules: 53, 55, 56, 57"""

    def give(state: State) -> Any:
        return result

    builder: Any = marks("b", "c").add_node("echo", echo)
    builder.add_node("give", give, destinations=("c", "echo")).add_edge(START, "give").add_edge("give", "b")
    assert steps(drive, builder, journal) == wanted


def test_tasks_overlap_and_are_applied_by_path(drive: Drive, journal: Journal) -> None:
    """The update of the one that ends first comes first; the stored state is in the order of paths. Rules: 39, 48"""
    ended = threading.Event()

    def first(state: State) -> State:
        assert ended.wait(10)
        return {"trail": ["a"]}

    def second(state: State) -> State:
        return {"trail": ["b"]}

    builder: Any = (
        StateGraph(State).add_node("a", first).add_node("b", second).add_edge(START, "a").add_edge(START, "b")
    )
    graph = builder.compile(checkpointer=journal)
    seen: list[Any] = []

    def see(update: Any) -> None:
        seen.append(update)
        ended.set()

    drive.watch(graph, {"x": 0}, see, on("t"), stream_mode="updates")
    assert names(seen) == ["b", "a"]
    assert graph.get_state(on("t")).values["trail"] == ["a", "b"]


def test_of_a_step_that_lasts_too_long_what_is_done_stays(journal: Journal) -> None:
    """The slow node is next, and its finished sibling need not run again. Rules: 49"""
    ran: list[str] = []

    async def slow(state: State) -> State:
        ran.append("slow")
        await asyncio.sleep(30 if ran.count("slow") == 1 else 0)
        return {"trail": ["slow"]}

    async def fast(state: State) -> State:
        ran.append("fast")
        return {"trail": ["fast"]}

    builder: Any = StateGraph(State).add_node("slow", slow).add_node("fast", fast)
    graph = builder.add_edge(START, "slow").add_edge(START, "fast").compile(checkpointer=journal)

    async def run() -> None:
        graph.step_timeout = 0.1
        with pytest.raises(TimeoutError):
            await graph.ainvoke({"x": 0}, on("t"))
        assert (await graph.aget_state(on("t"))).next == ("slow",)
        graph.step_timeout = None
        assert (await graph.ainvoke(None, on("t")))["trail"] == ["fast", "slow"]

    asyncio.run(run())
    assert sorted(ran) == ["fast", "slow", "slow"]
