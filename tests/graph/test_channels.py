"""Each kind of channel seen through a graph: what it takes in one step, how long it keeps it, what is stored."""

from __future__ import annotations

import operator
import threading
from typing import Annotated, Any, TypedDict

import pytest

from lawful import START, Send, StateGraph, interrupt
from lawful import Command as Go
from lawful.core.errors import InvalidUpdateError
from lawful.graph import (
    AnyValue,
    BinaryOperatorAggregate,
    EphemeralValue,
    LastValue,
    Topic,
    UntrackedValue,
    append,
    last,
    topic,
    untracked,
)
from lawful.journal.port import Journal
from support.graphs import Drive, JournalBox, on, total

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    plain: str
    ended: bool
    explicit: Annotated[str, LastValue(str)]
    anyone: Annotated[str, AnyValue(str)]
    brief: Annotated[str, EphemeralValue(str)]
    crowd: Annotated[str, EphemeralValue(str, guard=False)]
    topic: Annotated[list[str], Topic(str)]
    archive: Annotated[list[str], Topic(str, accumulate=True)]
    summed: Annotated[int, BinaryOperatorAggregate(int, total)]
    handle: Annotated[Any, UntrackedValue(object)]
    handles: Annotated[Any, UntrackedValue(object, guard=False)]


def written(*values: Any, key: str, strict: bool) -> Any:
    """A builder with parallel writers w0, w1, ... of ``key``, and their names."""
    builder = StateGraph(State, strict=strict)
    for i, value in enumerate(values):

        def write(state: State, value: Any = value) -> Any:
            return {key: value}

        builder.add_node(f"w{i}", write).add_edge(START, f"w{i}")
    names = [f"w{i}" for i in range(len(values))]
    return builder, names


def seen(drive: Drive, *values: Any, key: str, strict: bool) -> tuple[Any, Any, dict[str, Any]]:
    """What is in ``key`` one step after ``values`` were written to it at once, two steps after, and at the end."""
    builder, names = written(*values, key=key, strict=strict)
    looks: list[Any] = []

    def look(state: State) -> State:
        looks.append(state.get(key, "absent"))
        return {}

    def again(state: State) -> State:
        looks.append(state.get(key, "absent"))
        return {"ended": True}

    builder.add_node("look", look).add_node("again", again).add_edge(names, "look").add_edge("look", "again")
    out = drive.invoke(builder.compile(), {})
    return looks[0], looks[1], out


# LastValue


@pytest.mark.parametrize("key", ["plain", "explicit"])
def test_last_value_keeps_its_one_write(key: str, strict: bool, drive: Drive) -> None:
    """Rules: 19. Rows: S1-C01, S1-S01."""
    first, second, out = seen(drive, "v", key=key, strict=strict)
    assert (first, second, out[key]) == ("v", "v", "v")


@pytest.mark.parametrize("key", ["plain", "explicit"])
def test_last_value_refuses_two_writers_and_names_them(key: str, strict: bool, drive: Drive) -> None:
    """Equal values are refused too. Rules: 19. Rows: S1-C01."""
    builder, _ = written("v", "v", key=key, strict=strict)
    with pytest.raises(InvalidUpdateError) as refused:
        drive.invoke(builder.compile(), {})
    told = str(refused.value)
    assert told.startswith(f"At key '{key}'")
    assert "'w0'" in told
    assert "'w1'" in told


def test_last_value_takes_the_next_steps_write(strict: bool, drive: Drive) -> None:
    """Rules: 19."""

    def one(state: State) -> State:
        return {"plain": "1"}

    def two(state: State) -> State:
        return {"plain": state.get("plain", "") + "2"}

    graph = StateGraph(State, strict=strict).add_sequence([one, two]).add_edge(START, "one").compile()
    assert drive.invoke(graph, {"plain": "0"})["plain"] == "12"


def test_a_node_that_writes_one_key_twice_is_two_writers(strict: bool, drive: Drive) -> None:
    """Rules: 19, 55."""

    def doubled(state: State) -> Any:
        return [Go(update={"plain": "1"}), {"plain": "2"}]

    graph = StateGraph(State, strict=strict).add_node(doubled).add_edge(START, "doubled").compile()
    with pytest.raises(InvalidUpdateError, match=r"^At key 'plain'"):
        drive.invoke(graph, {})


# AnyValue, EphemeralValue


def test_any_value_takes_the_last_and_is_empty_after_a_step_without_a_write(strict: bool, drive: Drive) -> None:
    """Rows: S1-C02, S1-051."""
    first, second, out = seen(drive, "v", "v", key="anyone", strict=strict)
    assert (first, second) == ("v", "absent")
    assert "anyone" not in out


def test_ephemeral_lives_for_one_step(strict: bool, drive: Drive) -> None:
    """Rules: 25. Rows: S1-C03."""
    first, second, out = seen(drive, "v", key="brief", strict=strict)
    assert (first, second) == ("v", "absent")
    assert "brief" not in out


def test_ephemeral_is_read_by_all_nodes_of_that_step(strict: bool, drive: Drive) -> None:
    """Reading does not clear it. Rules: 25. Rows: S1-C03."""
    builder, _ = written("v", key="brief", strict=strict)
    looks: list[Any] = []

    def look(state: State) -> State:
        looks.append(state.get("brief"))
        return {}

    builder.add_node("a", look).add_node("b", look).add_edge("w0", "a").add_edge("w0", "b")
    drive.invoke(builder.compile(), {})
    assert looks == ["v", "v"]


def test_ephemeral_guards_against_two_writers_unless_told(strict: bool, drive: Drive) -> None:
    """Rules: 25. Rows: S1-C03."""
    builder, _ = written("v", "w", key="brief", strict=strict)
    with pytest.raises(InvalidUpdateError, match=r"^At key 'brief'"):
        drive.invoke(builder.compile(), {})
    assert seen(drive, "v", "w", key="crowd", strict=strict)[:2] == ("w", "absent")


def test_ephemeral_input_is_gone_from_the_final_checkpoint(journal: Journal, strict: bool, drive: Drive) -> None:
    """Rules: 25."""
    looks: list[Any] = []

    def look(state: State) -> State:
        looks.append(state.get("brief"))
        return {"plain": "p"}

    graph = StateGraph(State, strict=strict).add_node(look).add_edge(START, "look").compile(checkpointer=journal)
    drive.invoke(graph, {"brief": "v"}, on("t"))
    assert looks == ["v"]
    assert drive.get_state(graph, on("t")).values.get("brief") is None
    assert drive.get_state(graph, on("t")).values["plain"] == "p"


# Topic


@pytest.mark.parametrize("values", [(["a", "b"], ["c"]), ("a", ["b", "c"]), (["a"], "b", "c")])
def test_topic_flattens_lists_and_forgets_after_a_step(values: Any, strict: bool, drive: Drive) -> None:
    """Rules: 24. Rows: S1-C04."""
    first, second, out = seen(drive, *values, key="topic", strict=strict)
    assert first == ["a", "b", "c"]
    assert second == "absent"
    assert "topic" not in out


def test_an_accumulating_topic_keeps_all(strict: bool, drive: Drive) -> None:
    """Rules: 24. Rows: S1-C04."""
    first, second, out = seen(drive, ["a"], "b", key="archive", strict=strict)
    assert (first, second, out["archive"]) == (["a", "b"], ["a", "b"], ["a", "b"])


def test_a_topic_shows_only_the_last_step(strict: bool, drive: Drive) -> None:
    """Rules: 24. Rows: S1-C04."""
    looks: list[Any] = []

    def one(state: State) -> State:
        return {"topic": ["1"], "archive": ["1"]}

    def two(state: State) -> State:
        return {"topic": ["2"], "archive": ["2"]}

    def look(state: State) -> State:
        looks.append((state.get("topic"), state.get("archive")))
        return {}

    graph = StateGraph(State, strict=strict).add_sequence([one, two, look]).add_edge(START, "one").compile()
    drive.invoke(graph, {})
    assert looks == [(["2"], ["1", "2"])]


def test_what_a_node_does_to_a_topics_list_stays_with_the_node(strict: bool, drive: Drive) -> None:
    """Rows: S1-C04, S1-042."""
    builder, _ = written(["a"], key="archive", strict=strict)

    def spoil(state: State) -> State:
        state.get("archive", []).append("spoilt")
        return {}

    graph = builder.add_node("spoil", spoil).add_edge("w0", "spoil").compile()
    assert drive.invoke(graph, {})["archive"] == ["a"]


# BinaryOperatorAggregate and the markers


def test_an_aggregate_channel_folds_from_its_types_empty_value(strict: bool, drive: Drive) -> None:
    """Rows: S1-C05, S1-S01."""
    first, second, out = seen(drive, 1, 2, 3, key="summed", strict=strict)
    assert (first, second, out["summed"]) == (6, 6, 6)


class Marked(TypedDict, total=False):
    messages: list[dict[str, Any]]
    context: Annotated[dict[str, Any], untracked()]
    history: Annotated[list[str], append()]
    latest: Annotated[str, last()]
    news: Annotated[list[str], topic()]


def test_the_markers_name_channels(journal: Journal, drive: Drive) -> None:
    """Rows: S1-012, S1-S01."""
    looks: list[Any] = []

    def a(state: Marked) -> Marked:
        return {"history": ["a"], "news": ["a"]}

    def b(state: Marked) -> Marked:
        return {"history": ["b"], "news": ["b"], "latest": "b"}

    def look(state: Marked) -> Marked:
        looks.append((state.get("context"), state.get("history"), state.get("news"), state.get("latest")))
        return {}

    builder = StateGraph(Marked).add_node(a).add_node(b).add_node(look).add_edge(START, "a").add_edge(START, "b")
    graph = builder.add_edge(["a", "b"], "look").compile(checkpointer=journal)
    out = drive.invoke(graph, {"messages": [{"role": "user"}], "context": {"k": 1}, "history": ["in"]}, on("t"))
    assert looks == [({"k": 1}, ["in", "a", "b"], ["a", "b"], "b")]
    assert out["context"] == {"k": 1}
    assert drive.get_state(graph, on("t")).values == {
        "messages": [{"role": "user"}],
        "history": ["in", "a", "b"],
        "latest": "b",
    }


# UntrackedValue


def test_untracked_is_for_the_run_and_never_stored(journal: Journal, strict: bool, drive: Drive) -> None:
    """A lock could not be stored, and need not be. Rules: 26. Rows: S1-C09, S1-043."""
    lock = threading.Lock()
    looks: list[Any] = []

    def take(state: State) -> State:
        return {"handle": lock, "plain": "p"}

    def use(state: State) -> State:
        looks.append(state.get("handle"))
        return {}

    graph = StateGraph(State, strict=strict).add_sequence([take, use]).add_edge(START, "take")
    compiled = graph.compile(checkpointer=journal)
    out = drive.invoke(compiled, {}, on("t"))
    assert looks == [lock]
    assert out["handle"] is lock
    for entry in [drive.get_state(compiled, on("t")), *drive.get_state_history(compiled, on("t"))]:
        assert "handle" not in entry.values
        assert all("handle" not in (task.result or {}) for task in entry.tasks)


def test_untracked_is_absent_after_a_resume(box: JournalBox, strict: bool, drive: Drive) -> None:
    """Rules: 26. Rows: S1-C09."""
    looks: list[Any] = []

    def take(state: State) -> State:
        return {"handle": threading.Lock()}

    def ask(state: State) -> State:
        looks.append("handle" in state)
        return {"plain": interrupt("?")}

    builder = StateGraph(State, strict=strict).add_sequence([take, ask]).add_edge(START, "take")
    drive.invoke(builder.compile(checkpointer=box.open()), {}, on("t"))
    assert drive.invoke(builder.compile(checkpointer=box.open()), Go(resume="yes"), on("t"))["plain"] == "yes"
    assert looks == [True, False]


def test_untracked_guards_against_two_writers_unless_told(strict: bool, drive: Drive) -> None:
    """Rules: 26. Rows: S1-C09."""
    builder, _ = written(object(), object(), key="handle", strict=strict)
    with pytest.raises(InvalidUpdateError, match=r"^At key 'handle'"):
        drive.invoke(builder.compile(), {})
    mine, yours = object(), object()
    assert seen(drive, mine, yours, key="handles", strict=strict)[0] is yours


class Parcel(TypedDict, total=False):
    handle: Annotated[Any, UntrackedValue(object)]
    done: Annotated[list[Any], operator.add]


def test_untracked_keys_are_stripped_from_a_stored_send_only(box: JournalBox, strict: bool, drive: Drive) -> None:
    """The task that runs at once has the whole argument; after a resume the top-level key is gone, a nested one is not.

    Rules: 27.
    """
    lock = threading.Lock()
    given: list[dict[str, Any]] = []

    def spread(state: Parcel) -> list[Send]:
        return [Send("work", {"item": 1, "handle": lock, "nested": {"handle": "kept"}})]

    def work(state: Any) -> Parcel:
        given.append(dict(state))
        if len(given) == 1:
            raise ConnectionError("down")
        return {"done": [state["item"]]}

    builder = StateGraph(Parcel, strict=strict).add_node("work", work).add_conditional_edges(START, spread, ["work"])
    with pytest.raises(ConnectionError):
        drive.invoke(builder.compile(checkpointer=box.open()), {}, on("t"))
    assert drive.invoke(builder.compile(checkpointer=box.open()), None, on("t"))["done"] == [1]
    assert given == [
        {"item": 1, "handle": lock, "nested": {"handle": "kept"}},
        {"item": 1, "nested": {"handle": "kept"}},
    ]
