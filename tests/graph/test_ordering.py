"""In what order the writes of a step are applied: by task path, never by who was first to end."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from typing import Annotated, Any, TypedDict

import msgspec
import pytest

from lawful import START, Send, StateGraph
from support.graphs import DRIVES, Drive, concat, driving, names, on

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    trail: Annotated[list[str], concat]


def late(name: str, delay: float = 0.0) -> Any:
    """A node that ends after ``delay`` seconds and leaves its name."""

    def body(state: State) -> State:
        if delay:
            time.sleep(delay)
        return {"trail": [name]}

    return body


def fan(delays: dict[str, float], strict: bool) -> Any:
    builder = StateGraph(State, strict=strict)
    for name, delay in delays.items():
        builder.add_node(name, late(name, delay)).add_edge(START, name)
    return builder


def test_edge_tasks_are_applied_by_name_not_by_order_of_adding(strict: bool, drive: Drive) -> None:
    """Rules: 35. Rows: S1-044."""
    assert drive.invoke(fan({"zz": 0, "aa": 0, "mm": 0}, strict).compile(), {})["trail"] == ["aa", "mm", "zz"]


def test_names_sort_as_text(strict: bool, drive: Drive) -> None:
    """Rules: 35."""
    graph = fan({"n10": 0, "n9": 0, "N": 0, "é": 0, "a b": 0, "a": 0}, strict).compile()
    assert drive.invoke(graph, {})["trail"] == ["N", "a", "a b", "n10", "n9", "é"]


def test_updates_stream_as_tasks_end_and_are_applied_by_path(strict: bool, drive: Drive) -> None:
    """Rules: 39, 35, 48. Rows: S1-044."""
    ends = {name: threading.Event() for name in "abc"}

    def after(name: str, before: str | None) -> Any:
        def body(state: State) -> State:
            if before is not None:
                ends[before].wait(5)
                time.sleep(0.15)
            ends[name].set()
            return {"trail": [name]}

        return body

    builder = StateGraph(State, strict=strict)
    for name, before in (("a", "c"), ("b", None), ("c", "b")):
        builder.add_node(name, after(name, before)).add_edge(START, name)
    events = drive.stream(builder.compile(), {}, stream_mode=["updates", "values"])
    assert names([data for mode, data in events if mode == "updates"]) == ["b", "c", "a"]
    assert events[-1] == ("values", {"trail": ["a", "b", "c"]})


def test_sends_come_after_edges_by_their_index(strict: bool, drive: Drive) -> None:
    """Rules: 35, 38. Rows: S1-044."""

    def packets(state: State) -> list[Send | str]:
        return ["zz", Send("aa", {"trail": ["1"]}), Send("zz", {"trail": ["2"]}), Send("aa", {"trail": ["3"]})]

    def echo(name: str) -> Any:
        def body(state: State) -> State:
            return {"trail": [f"{name}{''.join(state.get('trail', []))}"]}

        return body

    builder = StateGraph(State, strict=strict).add_node("aa", echo("aa")).add_node("zz", echo("zz"))
    builder.add_node("mm", echo("mm")).add_edge(START, "mm").add_conditional_edges(START, packets, ["aa", "zz"])
    out = drive.invoke(builder.compile(), {})
    assert out["trail"] == ["mm", "zz", "aa1", "zz2", "aa3"]


def test_an_edge_and_sends_to_one_node_in_one_step(strict: bool, drive: Drive) -> None:
    """Once for the edge with the state, once per Send with its argument. Rules: 38."""
    seen: list[Any] = []

    def work(state: State) -> State:
        seen.append(list(state.get("trail", [])))
        return {"trail": ["w" + "".join(state.get("trail", []))]}

    def packets(state: State) -> list[Send]:
        return [Send("work", {"trail": ["1"]}), Send("work", {"trail": ["2"]})]

    builder = StateGraph(State, strict=strict).add_node("a", late("a")).add_node("work", work).add_edge(START, "a")
    graph = builder.add_edge("a", "work").add_conditional_edges("a", packets, ["work"]).compile()
    assert drive.invoke(graph, {"trail": ["in"]})["trail"] == ["in", "a", "wina", "w1", "w2"]
    assert sorted(seen) == [["1"], ["2"], ["in", "a"]]


def test_a_hundred_sends_keep_their_order(strict: bool, drive: Drive) -> None:
    """Index 10 comes after 9, not after 1; also when few may run at once. Rules: 36, 48."""

    def packets(state: State) -> list[Send]:
        return [Send("work", {"trail": [str(i)]}) for i in range(100)]

    def work(state: State) -> State:
        if random.random() < 0.1:
            time.sleep(0.002)
        return {"trail": state.get("trail", [])}

    builder = StateGraph(State, strict=strict).add_node("work", work).add_conditional_edges(START, packets, ["work"])
    graph = builder.compile()
    wanted = [str(i) for i in range(100)]
    assert drive.invoke(graph, {})["trail"] == wanted
    assert drive.invoke(graph, {}, on(max_concurrency=7))["trail"] == wanted


def test_packets_queue_by_their_senders_then_as_they_were_emitted(strict: bool, drive: Drive) -> None:
    """Rules: 37, 35."""

    def packets(*wanted: str) -> Any:
        def route(state: State) -> list[Send]:
            return [Send("work", {"trail": [text]}) for text in wanted]

        return route

    def work(state: State) -> State:
        return {"trail": state.get("trail", [])}

    builder = StateGraph(State, strict=strict).add_node("work", work)
    builder.add_node("zz", late("zz")).add_node("aa", late("aa", 0.05))
    builder.add_edge(START, "zz").add_edge(START, "aa")
    builder.add_conditional_edges("zz", packets("z2", "z1"), ["work"])
    builder.add_conditional_edges("aa", packets("a2", "a1"), ["work"])
    out = drive.invoke(builder.compile(), {})["trail"]
    assert out == ["aa", "zz", "a2", "a1", "z2", "z1"]


def test_packets_of_senders_that_were_sent_come_last(strict: bool, drive: Drive) -> None:
    """Edge tasks before sent ones among senders too. Rules: 37."""

    def split(state: State) -> list[Send]:
        return [Send("aa", {"trail": ["s0"]}), Send("aa", {"trail": ["s1"]})]

    def pass_on(state: State) -> list[Send]:
        return [Send("work", {"trail": ["from"]})]

    class Sender:
        def __call__(self, state: State) -> Any:
            return None

    def work(state: State) -> State:
        return {"trail": state.get("trail", [])}

    def tell(state: State) -> Any:
        return Send("work", {"trail": state.get("trail", [])})

    builder = StateGraph(State, strict=strict).add_node("aa", tell).add_node("work", work).add_node("zz", Sender())
    builder.add_edge(START, "zz").add_conditional_edges(START, split, ["aa"])
    builder.add_conditional_edges("zz", pass_on, ["work"])
    assert drive.invoke(builder.compile(), {})["trail"] == ["from", "s0", "s1"]


@pytest.mark.parametrize("kind", DRIVES)
def test_two_hundred_schedules_give_the_same_bytes(kind: str) -> None:
    """Six nodes whose text tells what they saw, and whose ends come in any order.

    Rows: S1-011, S1-044, S0-089. Rules: 35, 48.
    """
    chance = random.Random(7)

    def slow(name: str) -> Any:
        def body(state: State) -> State:
            time.sleep(chance.random() / 300)
            return {"trail": [f"{name} after {len(state.get('trail', []))}"]}

        return body

    builder = StateGraph(State)
    for name in ("b", "f", "a", "e", "c", "d"):
        builder.add_node(name, slow(name))
    builder.add_edge(START, "b").add_edge(START, "f").add_edge(START, "a")
    builder.add_edge("a", "e").add_edge("f", "c").add_edge(["e", "c"], "d")
    graph = builder.compile()
    with driving(kind) as drive:
        seen = {msgspec.msgpack.encode(drive.invoke(graph, {"trail": ["in"]})) for _ in range(200)}
    assert len(seen) == 1


# overlap


def test_parallel_tasks_overlap(strict: bool, drive: Drive) -> None:
    """Each waits until all three have begun. Rules: 48. Rows: S1-070."""
    meeting = threading.Barrier(3)

    def meet(state: State) -> State:
        meeting.wait(timeout=5)
        return {}

    builder = StateGraph(State, strict=strict)
    for name in ("a", "b", "c"):
        builder.add_node(name, meet).add_edge(START, name)
    drive.invoke(builder.compile(), {})
    assert not meeting.broken


@pytest.mark.parametrize("most", [1, 2, 3])
def test_max_concurrency_bounds_async_nodes(most: int, strict: bool) -> None:
    """And lets that many run. Rules: 48. Rows: S1-070."""
    running, peak = 0, 0

    async def work(state: State) -> State:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        await asyncio.sleep(0.01)
        running -= 1
        return {}

    def packets(state: State) -> list[Send]:
        return [Send("work", {}) for _ in range(8)]

    builder = StateGraph(State, strict=strict).add_node("work", work)
    graph = builder.add_conditional_edges(START, packets, ["work"]).compile()
    with driving("async") as drive:
        drive.invoke(graph, {}, on(max_concurrency=most))
    assert peak == most


def test_max_concurrency_bounds_sync_nodes_under_either_driver(strict: bool, drive: Drive) -> None:
    """And lets that many run. Rules: 48."""
    lock = threading.Lock()
    running, peak = 0, 0

    def work(state: State) -> State:
        nonlocal running, peak
        with lock:
            running += 1
            peak = max(peak, running)
        time.sleep(0.02)
        with lock:
            running -= 1
        return {}

    builder = StateGraph(State, strict=strict)
    for i in range(6):
        builder.add_node(f"n{i}", work).add_edge(START, f"n{i}")
    drive.invoke(builder.compile(), {}, on(max_concurrency=2))
    assert peak == 2
