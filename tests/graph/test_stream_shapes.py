"""Rules of version 2 of the stream shapes, of printing, and of what nested checkpoints show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict

import pytest
from pydantic import BaseModel

from lawful.core.errors import ConfigurationError
from lawful.graph import START, Command, GraphOutput, StateGraph, interrupt
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from support.graphs import Drive, on
from support.pausing import Log, chain, checkpoint_id

pytestmark = pytest.mark.unit

OLD = r"\.value"


def a(state: Log) -> Log:
    return {"log": ["a"]}


def ask(state: Log) -> Log:
    return {"log": [interrupt("who?")]}


def deep(drive: Drive, *bodies: Callable[..., Any], strict: bool = True, **options: Any) -> Any:
    """A graph that holds a graph that holds the bodies."""
    middle: Any = StateGraph(Log, strict=strict)
    middle.add_node("in", chain(drive, *bodies, strict=strict)).add_edge(START, "in")
    outer: Any = StateGraph(Log, strict=strict)
    return outer.add_node("mid", middle.compile()).add_edge(START, "mid").compile(**options)


# Version 2


def test_version_2_is_one_form_for_all_modes(drive: Drive, journal: Journal, strict: bool) -> None:
    """Type, namespace and data; one mode or a list makes no difference.

    Rules: 166
    """
    graph = chain(drive, a, strict=strict, checkpointer=journal)
    update = {"type": "updates", "ns": (), "data": {"a": {"log": ["a"]}}}
    assert drive.stream(graph, {"log": []}, on("1"), version="v2") == [update]
    assert drive.stream(graph, {"log": []}, on("2"), version="v2", stream_mode=["updates"]) == [update]
    modes = ["values", "updates", "tasks", "checkpoints", "debug", "custom", "messages", "events"]
    told = drive.stream(graph, {"log": []}, on("3"), version="v2", stream_mode=modes)
    assert {chunk["type"] for chunk in told} == {"values", "updates", "tasks", "checkpoints", "debug", "events"}
    for chunk in told:
        assert set(chunk) == {"type", "ns", "data"} | ({"interrupts"} if chunk["type"] == "values" else set())


def test_version_2_tells_questions_beside_the_values(drive: Drive, journal: Journal, strict: bool) -> None:
    """Not among them.

    Rules: 166, 168
    """
    graph = chain(drive, a, ask, strict=strict, checkpointer=journal)
    told = drive.stream(graph, {"log": []}, on("t"), version="v2", stream_mode="values")
    assert [(chunk["data"], [q.value for q in chunk["interrupts"]]) for chunk in told] == [
        ({"log": []}, []),
        ({"log": ["a"]}, []),
        ({"log": ["a"]}, ["who?"]),
    ]


@dataclass
class Count:
    """A state as a dataclass."""

    n: int = 0


class Counted(BaseModel):
    """A state as a model."""

    n: int = 0


def up(state: Any) -> Any:
    return {"n": state.n + 1}


@pytest.mark.parametrize("state", [Count, Counted])
def test_version_2_gives_states_as_their_class(drive: Drive, journal: Journal, strict: bool, state: Any) -> None:
    """In values and checkpoints, and from invoke; version 1 gives dicts.

    Rules: 166
    """
    builder: Any = StateGraph(state, strict=strict)
    graph = builder.add_node("up", up).add_edge(START, "up").compile(checkpointer=journal)
    told = drive.stream(graph, state(n=1), on("t"), version="v2", stream_mode=["values", "checkpoints"])
    assert [chunk["data"] for chunk in told if chunk["type"] == "values"] == [state(n=1), state(n=2)]
    assert [chunk["data"]["values"] for chunk in told if chunk["type"] == "checkpoints"][-1] == state(n=2)
    assert drive.invoke(graph, state(n=1), on("i"), version="v2") == GraphOutput(state(n=2))
    assert drive.invoke(graph, state(n=1), on("o")) == {"n": 2}


class In(TypedDict):
    """What goes in."""

    n: int


class Out(BaseModel):
    """What comes out; more is required of it than a first step gives."""

    n: int
    word: str


def test_values_that_are_no_whole_output_yet_stay_a_dict(drive: Drive) -> None:
    """Rather than failing the run.

    Rules: 166
    """

    def last(state: Log) -> Log:
        return {"word": "end"}

    builder: Any = StateGraph(Log, input_schema=In, output_schema=Out)
    graph = builder.add_node("last", drive.node(last)).add_edge(START, "last").compile()
    told = drive.stream(graph, {"n": 1}, version="v2", stream_mode="values")
    assert [chunk["data"] for chunk in told] == [{"n": 1, "log": []}, Out(n=1, word="end")]


def test_an_output_of_version_2_can_still_be_read_as_a_dict(drive: Drive, journal: Journal) -> None:
    """With a warning each time.

    Rules: 166
    """
    graph = chain(drive, a, ask, checkpointer=journal)
    output = drive.invoke(graph, {"log": []}, on("t"), version="v2")
    assert (output.value, [q.value for q in output.interrupts]) == ({"log": ["a"]}, ["who?"])
    with pytest.warns(DeprecationWarning, match=OLD):
        assert output["log"] == ["a"]
    with pytest.warns(DeprecationWarning, match=OLD):
        assert output["__interrupt__"] == output.interrupts
    with pytest.warns(DeprecationWarning, match=OLD):
        assert ("log" in output, "__interrupt__" in GraphOutput[dict[str, int]]({})) == (True, False)
    with pytest.warns(DeprecationWarning, match=OLD):
        assert (list(GraphOutput(Count(2))), GraphOutput(Count(2))["n"], output.get("no", 1)) == (["n"], 2, 1)
    with pytest.warns(DeprecationWarning, match=OLD), pytest.raises(KeyError):
        output["lgo"]


def test_version_2_names_inner_graphs_only_when_they_are_asked_for(drive: Drive, strict: bool) -> None:
    """Rules: 166, 165"""
    graph = deep(drive, a, strict=strict)
    assert [c["ns"] for c in drive.stream(graph, {"log": []}, version="v2")] == [()]
    spaces = [c["ns"] for c in drive.stream(graph, {"log": []}, version="v2", subgraphs=True)]
    assert [[part.partition(":")[0] for part in space] for space in spaces] == [["mid", "in"], ["mid"], []]


def test_an_unknown_version_is_refused(drive: Drive) -> None:
    """Rules: 166"""
    for call in (drive.stream, drive.invoke):
        with pytest.raises(ConfigurationError, match="v2"):
            call(chain(drive, a), {"log": []}, version="v3")


def test_invoke_with_a_mode_gives_the_streams_chunks(drive: Drive) -> None:
    """Rules: 165, 166"""
    graph = chain(drive, a)
    assert drive.invoke(graph, {"log": []}, stream_mode="updates") == [{"a": {"log": ["a"]}}]
    assert drive.invoke(graph, {"log": []}, stream_mode=["updates"], version="v2") == [
        {"type": "updates", "ns": (), "data": {"a": {"log": ["a"]}}}
    ]


# Printing


def test_print_mode_prints_and_changes_nothing_that_is_given(
    drive: Drive, strict: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line a chunk, named by its mode; also of an invocation.

    Rules: 180
    """
    graph = chain(drive, a, strict=strict)
    assert drive.stream(graph, {"log": []}, stream_mode="values", print_mode="updates") == [
        {"log": []},
        {"log": ["a"]},
    ]
    assert capsys.readouterr().out == "[updates] {'a': {'log': ['a']}}\n"
    assert drive.invoke(graph, {"log": []}, print_mode=["values", "updates"]) == {"log": ["a"]}
    assert [line.partition(" ")[0] for line in capsys.readouterr().out.splitlines()] == [
        "[values]",
        "[updates]",
        "[values]",
    ]


def test_debug_prints_updates_and_values(drive: Drive, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a call, or of a graph compiled so.

    Rules: 180. Rows: S1-006
    """
    wanted = "[values] {'log': []}\n[updates] {'a': {'log': ['a']}}\n[values] {'log': ['a']}\n"
    assert drive.stream(chain(drive, a), {"log": []}, debug=True) == [{"a": {"log": ["a"]}}]
    assert capsys.readouterr().out == wanted
    graph = chain(drive, a, debug=True)
    drive.invoke(graph, {"log": []})
    assert capsys.readouterr().out == wanted
    drive.invoke(graph, {"log": []}, debug=False)
    assert capsys.readouterr().out == ""


def test_printing_names_the_inner_graph(drive: Drive, capsys: pytest.CaptureFixture[str]) -> None:
    """Rules: 180"""
    drive.stream(deep(drive, a), {"log": []}, subgraphs=True, print_mode="updates", stream_mode="values")
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("[mid:")
    assert "|in:" in first
    assert first.endswith("] [updates] {'a': {'log': ['a']}}")


def test_an_unknown_print_mode_is_refused(drive: Drive) -> None:
    """Rules: 180"""
    with pytest.raises(ConfigurationError, match="updates"):
        drive.stream(chain(drive, a), {"log": []}, print_mode="update")


# Nested checkpoints


def test_nested_checkpoints_are_what_their_histories_show(drive: Drive, strict: bool) -> None:
    """Each under its namespace, with its parents' checkpoints; a task that holds a graph shows where that one's are.

    Rules: 172, 173
    """
    graph = deep(drive, a, ask, strict=strict, checkpointer=MemoryJournal())
    told = drive.stream(graph, {"log": []}, on("t"), stream_mode=["checkpoints", "debug"], subgraphs=True)
    by_space: dict[tuple[str, ...], list[Any]] = {}
    for space, mode, payload in told:
        if mode == "checkpoints":
            by_space.setdefault(space, []).append(payload)
    assert [len(space) for space in by_space] == [0, 1, 2]
    for space, payloads in by_space.items():
        history = drive.get_state_history(graph, on("t", ns="|".join(space)))[::-1]
        assert [p["config"] for p in payloads] == [entry.config for entry in history]
        assert [p["parent_config"] for p in payloads] == [entry.parent_config for entry in history]
        assert [p["values"] for p in payloads] == [entry.values for entry in history]
        assert [p["metadata"] for p in payloads] == [entry.metadata for entry in history]
        assert [[t["state"] for t in p["tasks"]] for p in payloads] == [[t.state for t in e.tasks] for e in history]
        assert all(p["config"]["configurable"]["checkpoint_ns"] == "|".join(space) for p in payloads)
    wrapped = [(s, e["payload"]) for s, mode, e in told if mode == "debug" and e["type"] == "checkpoint"]
    assert wrapped == [(s, payload) for s, mode, payload in told if mode == "checkpoints"]


def test_a_run_that_goes_on_tells_its_checkpoint_first(drive: Drive, journal: Journal, strict: bool) -> None:
    """With the questions that wait, and of each graph inside; what follows has none.

    Rules: 172, 167
    """
    graph = deep(drive, ask, strict=strict, checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    before = {len(s.split("|")) if s else 0: s for s in journal.namespaces("t")}
    heads = {depth: drive.get_state(graph, on("t", ns=space)) for depth, space in before.items()}
    told = drive.stream(graph, Command(resume="ada"), on("t"), stream_mode=["checkpoints", "tasks"], subgraphs=True)
    first = {len(space): p for space, mode, p in reversed(told) if mode == "checkpoints"}
    for depth, head in heads.items():
        assert first[depth]["config"]["configurable"]["checkpoint_id"] == checkpoint_id(head)
        assert [q["value"] for t in first[depth]["tasks"] for q in t["interrupts"]] == ["who?"]
        assert first[depth]["metadata"]["source"] == "loop"
    results = [p for _, mode, p in told if mode == "tasks" and "result" in p]
    assert [p["interrupts"] for p in results] == [[], [], []]


def test_a_replay_tells_its_fork_once(drive: Drive, journal: Journal) -> None:
    """As its history will show it.

    Rules: 172, 154
    """
    graph = chain(drive, a, checkpointer=journal)
    drive.invoke(graph, {"log": []}, on("t"))
    old = drive.get_state_history(graph, on("t"))[1]
    told = drive.stream(graph, None, on("t", checkpoint=checkpoint_id(old)), stream_mode="checkpoints")
    assert [event["metadata"]["source"] for event in told] == ["fork", "loop"]
    ids = [event["config"]["configurable"]["checkpoint_id"] for event in told]
    assert ids == [checkpoint_id(entry) for entry in drive.get_state_history(graph, on("t"))[:2]][::-1]
