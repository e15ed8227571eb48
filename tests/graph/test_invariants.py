"""The invariants of the engine: types, atomic steps, isolation, order, termination, failures, fidelity of checkpoints."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lawful import START, RetryPolicy, StateGraph, untracked
from lawful.core.errors import ConfigurationError, InvalidUpdateError
from lawful.graph import Topic
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from support.graphs import DRIVES, Drive, JournalBox, concat, driving, on, total

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    n: int
    text: str
    summed: Annotated[int, total]
    trail: Annotated[list[str], concat]
    nested: dict[str, list[int]]
    tags: set[str]
    topic: Annotated[list[str], Topic(str)]


def mark(name: str) -> Any:
    def node(state: State) -> State:
        return {"trail": [name]}

    return node


def single(node: Callable[[State], Any], strict: bool = True, **options: Any) -> Any:
    return StateGraph(State, strict=strict).add_node("node", node).add_edge(START, "node").compile(**options)


# S1-040, S1-048: types

RIGHT: dict[str, st.SearchStrategy[Any]] = {
    "n": st.integers(-9, 9),
    "text": st.text(max_size=3),
    "summed": st.integers(-9, 9),
    "trail": st.lists(st.text(max_size=2), max_size=2),
    "nested": st.dictionaries(st.text(max_size=2), st.lists(st.integers(-9, 9), max_size=2), max_size=2),
    "tags": st.sets(st.text(max_size=2), max_size=2),
}
WRONG: dict[str, st.SearchStrategy[Any]] = {
    "n": st.text() | st.floats() | st.none() | st.booleans(),
    "text": st.integers() | st.binary() | st.none(),
    "summed": st.text() | st.none(),
    "trail": st.text() | st.lists(st.integers(), min_size=1) | st.none(),
    "nested": st.lists(st.text()) | st.dictionaries(st.text(), st.lists(st.text(), min_size=1), min_size=1),
    "tags": st.sets(st.integers(), min_size=1) | st.text(),
}
START_VALUES: State = {"n": 1, "text": "t", "summed": 1, "trail": ["in"], "nested": {}, "tags": set()}


@pytest.mark.property
@pytest.mark.parametrize("kind", DRIVES)
@settings(max_examples=25)
@given(update=st.fixed_dictionaries({}, optional=RIGHT))
def test_writes_of_the_right_type_pass(kind: str, update: dict[str, Any]) -> None:
    """Rows: S1-040, S1-048."""
    with driving(kind) as drive:
        out = drive.invoke(single(lambda state: update), START_VALUES)
    for key in ("n", "text", "nested", "tags"):
        assert out[key] == update.get(key, START_VALUES.get(key))
    assert out["summed"] == 1 + update.get("summed", 0)
    assert out["trail"] == ["in", *update.get("trail", [])]


@pytest.mark.property
@pytest.mark.parametrize("kind", DRIVES)
@settings(max_examples=40)
@given(data=st.data(), key=st.sampled_from(sorted(WRONG)))
def test_a_write_of_a_wrong_type_is_refused_and_nothing_is_written(kind: str, data: st.DataObject, key: str) -> None:
    """The error names node and key. Rows: S1-040, S1-048, S1-041. Rules: 222."""
    update: dict[str, Any] = {"text": "written", key: data.draw(WRONG[key])}
    graph = single(lambda state: update, checkpointer=MemoryJournal())
    with driving(kind) as drive:
        with pytest.raises(InvalidUpdateError) as refused:
            drive.invoke(graph, START_VALUES, on("t"))
        assert "'node'" in str(refused.value)
        assert f"'{key}'" in str(refused.value)
        assert drive.get_state(graph, on("t")).values == START_VALUES


@pytest.mark.parametrize("value", [3, [3], {"a": 1}, None])
def test_a_topics_items_are_checked(value: Any, drive: Drive) -> None:
    """Rows: S1-048. Rules: 222, 24."""
    with pytest.raises(InvalidUpdateError, match="'topic'"):
        drive.invoke(single(lambda state: {"topic": value}), {"n": 1})


@pytest.mark.parametrize("value", ["a", ["a", "b"]])
def test_a_topic_takes_an_item_or_a_list_of_them(value: Any, drive: Drive) -> None:
    """Rows: S1-048. Rules: 24."""
    out = drive.invoke(single(lambda state: {"topic": value}), {"n": 1})
    assert out["topic"] == ([value] if isinstance(value, str) else value)


# S1-041, S1-049: atomic steps


def test_one_bad_channel_of_three_keeps_all_three_back(journal: Journal, strict: bool, drive: Drive) -> None:
    """A conflict is found before anything is applied, and leaves no checkpoint. Rows: S1-041, S1-049. Rules: 19."""
    builder = StateGraph(State, strict=strict)
    for name in ("a", "b", "c"):

        def node(state: State, name: str = name) -> State:
            return {"trail": [name], "summed": 1} if name == "a" else {"n": 5, "trail": [name]}

        builder.add_node(name, node).add_edge(START, name)
    graph = builder.compile(checkpointer=journal)
    with pytest.raises(InvalidUpdateError, match=r"^At key 'n'"):
        drive.invoke(graph, {"n": 1, "trail": ["in"], "summed": 0}, on("t"))
    entries = drive.get_state_history(graph, on("t"))
    assert [entry.metadata["step"] for entry in entries] == [0, -1]
    assert entries[0].values == {"n": 1, "trail": ["in"], "summed": 0}
    assert drive.get_state(graph, on("t")).values == {"n": 1, "trail": ["in"], "summed": 0}


def test_a_failed_check_of_one_key_writes_none_of_the_nodes_keys(journal: Journal, drive: Drive) -> None:
    """Rows: S1-041, S1-049."""
    graph = single(lambda state: {"trail": ["node"], "summed": 1, "n": "wrong"}, checkpointer=journal)
    with pytest.raises(InvalidUpdateError):
        drive.invoke(graph, {"n": 1}, on("t"))
    assert drive.get_state(graph, on("t")).values == {"n": 1, "trail": [], "summed": 0}


# S1-042: isolation


def test_what_a_node_does_to_its_input_stays_with_it(journal: Journal, strict: bool, drive: Drive) -> None:
    """No sibling, no later node, no checkpoint, no result and no caller sees it. Rows: S1-042. Rules: 32, 86."""
    meeting = threading.Barrier(2)
    seen: list[Any] = []

    def spoil(state: State) -> State:
        state.get("trail", []).append("spoilt")
        state.get("tags", set[str]()).add("spoilt")
        state.get("nested", {})["spoilt"] = []
        state["n"] = 99
        meeting.wait(5)
        return {}

    def look(state: State) -> State:
        meeting.wait(5)
        seen.append(dict(state))
        return {}

    def later(state: State) -> None:
        seen.append(dict(state))

    builder = StateGraph(State, strict=strict).add_node("spoil", spoil).add_node("look", look)
    builder.add_node("later", later)
    builder.add_edge(START, "spoil").add_edge(START, "look").add_edge(["spoil", "look"], "later")
    graph = builder.compile(checkpointer=journal)
    given: State = {"n": 1, "trail": ["in"], "tags": {"t"}, "nested": {}, "summed": 0}
    out = drive.invoke(graph, given, on("t"))
    wanted: dict[str, Any] = {"n": 1, "trail": ["in"], "tags": {"t"}, "nested": {}, "summed": 0}
    assert (out, given, seen) == (wanted, wanted, [wanted, wanted])
    assert [entry.values for entry in drive.get_state_history(graph, on("t"))][:3] == [wanted] * 3


def test_what_a_caller_does_to_the_result_stays_with_the_caller(journal: Journal, strict: bool, drive: Drive) -> None:
    """Rows: S1-042. Rules: 86."""
    graph = single(mark("node"), strict, checkpointer=journal)
    out = drive.invoke(graph, {"trail": ["in"]}, on("t"))
    out["trail"].append("spoilt")
    drive.get_state(graph, on("t")).values["trail"].append("spoilt")
    assert drive.get_state(graph, on("t")).values["trail"] == ["in", "node"]
    assert drive.invoke(graph, {}, on("t"))["trail"] == ["in", "node", "node"]


def test_what_a_node_does_to_what_it_returned_stays_with_it(strict: bool, drive: Drive) -> None:
    """Rows: S1-042."""
    kept: list[str] = ["kept"]

    def first(state: State) -> State:
        return {"trail": kept}

    def second(state: State) -> State:
        kept.append("late")
        return {"trail": ["second"]}

    builder = StateGraph(State, strict=strict).add_sequence([("first", first), ("second", second)])
    assert drive.invoke(builder.add_edge(START, "first").compile(), {"trail": []})["trail"] == ["kept", "second"]


# S1-043: state that can be stored


class Locked(TypedDict, total=False):
    n: int
    ready: threading.Event


class Called(TypedDict, total=False):
    hook: Callable[[int], int]


class Unlocked(TypedDict, total=False):
    n: int
    ready: Annotated[threading.Event, untracked()]


def nothing(state: Any) -> dict[str, Any]:
    return {}


@pytest.mark.parametrize("schema,key", [(Locked, "ready"), (Called, "hook")])
def test_state_that_cannot_be_stored_is_refused_with_a_checkpointer(schema: Any, key: str, journal: Journal) -> None:
    """When the graph is compiled, not when it first saves. Rows: S1-043, S0-091."""
    builder: Any = StateGraph(schema).add_node("node", nothing).add_edge(START, "node")
    with pytest.raises(ConfigurationError, match=key) as refused:
        builder.compile(checkpointer=journal)
    assert "untracked" in str(refused.value)


def test_it_is_fine_without_a_checkpointer_or_untracked(journal: Journal, drive: Drive) -> None:
    """Rows: S1-043. Rules: 26."""
    event = threading.Event()

    def node(state: Any) -> Any:
        state["ready"].set()
        return {"n": 1}

    plain = StateGraph(Locked).add_node("node", node).add_edge(START, "node").compile()
    assert drive.invoke(plain, {"ready": event})["n"] == 1
    kept = StateGraph(Unlocked).add_node("node", node).add_edge(START, "node").compile(checkpointer=journal)
    assert drive.invoke(kept, {"ready": event}, on("t"))["n"] == 1
    assert event.is_set()


def test_a_value_that_cannot_be_stored_fails_its_task_and_nothing_is_written(journal: Journal, drive: Drive) -> None:
    """Where the type said nothing: the error names node and key. Rows: S1-043, S1-041."""

    class Loose(TypedDict, total=False):
        n: int
        any: Any

    def node(state: Any) -> Any:
        return {"n": 2, "any": threading.Lock()}

    graph = StateGraph(Loose).add_node("node", node).add_edge(START, "node").compile(checkpointer=journal)
    with pytest.raises(Exception, match="any") as refused:
        drive.invoke(graph, {"n": 1}, on("t"))
    assert "node" in str(refused.value)
    assert drive.get_state(graph, on("t")).values == {"n": 1}


# S1-044, S1-016: determinism


def told(graph: Any, drive: Drive, thread: str) -> list[Any]:
    """A thread's history without ids and times."""
    return [
        (
            entry.metadata["step"],
            entry.metadata["source"],
            entry.values,
            entry.next,
            [task.name for task in entry.tasks],
        )
        for entry in drive.get_state_history(graph, on(thread))
    ]


@pytest.mark.property
@pytest.mark.parametrize("kind", DRIVES)
@settings(max_examples=10)
@given(seed=st.integers(0, 10_000))
def test_delays_change_nothing_but_times(kind: str, seed: int) -> None:
    """Rows: S1-044, S1-016. Rules: 35."""
    chance = random.Random(seed)

    def slow(name: str) -> Any:
        def node(state: State) -> State:
            time.sleep(chance.random() / 200)
            return {"trail": [name], "summed": len(state.get("trail", []))}

        return node

    builder = StateGraph(State)
    for name in ("a", "b", "c", "d", "e"):
        builder.add_node(name, slow(name))
    builder.add_edge(START, "c").add_edge(START, "a").add_edge(START, "b").add_edge("b", "d").add_edge("a", "d")
    graph = builder.add_edge(["c", "d"], "e").compile(checkpointer=MemoryJournal())
    with driving(kind) as drive:
        drive.invoke(graph, {"trail": []}, on("one"))
        drive.invoke(graph, {"trail": []}, on("two"))
        assert told(graph, drive, "one") == told(graph, drive, "two")


# S1-046: failures


def test_siblings_of_a_failed_node_are_kept_and_not_run_again(box: JournalBox, strict: bool, drive: Drive) -> None:
    """The policy's attempts are made first; the cause is raised; a resume in another process runs the failed one only.

    Rows: S1-046. Rules: 91, 92, 182.
    """
    ran: list[str] = []

    def node(name: str) -> Any:
        def body(state: State) -> State:
            ran.append(name)
            if name == "b" and ran.count("b") <= 3:
                time.sleep(0.02)
                raise ConnectionError("down")
            return {"trail": [name]}

        return body

    def build() -> Any:
        policy = RetryPolicy(max_attempts=3, initial_interval=0.001, jitter=False, retry_on=ConnectionError)
        builder = StateGraph(State, strict=strict)
        for name in ("a", "b", "c"):
            builder.add_node(name, node(name), retry_policy=policy).add_edge(START, name)
        return builder.compile(checkpointer=box.open())

    with pytest.raises(ConnectionError, match="down"):
        drive.invoke(build(), {"trail": ["in"]}, on("t"))
    assert (ran.count("a"), ran.count("b"), ran.count("c")) == (1, 3, 1)
    assert drive.invoke(build(), None, on("t"))["trail"] == ["in", "a", "b", "c"]
    assert (ran.count("a"), ran.count("b"), ran.count("c")) == (1, 4, 1)
