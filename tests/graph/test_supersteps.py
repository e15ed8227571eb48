"""Supersteps: what is visible when, the input's own phase, triggering, loops, deferred nodes, limits of steps."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Annotated, Any, NotRequired, Required, TypedDict

import pytest

from lawful import START, Command, Send, StateGraph, interrupt
from lawful.core.errors import GraphRecursionError
from lawful.graph import IsLastStep, RemainingSteps
from lawful.journal.port import Journal
from support.graphs import Drive, concat, on

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    x: int
    y: int
    trail: Annotated[list[str], concat]


def mark(name: str) -> Callable[[State], State]:
    """A node that leaves its name in the trail."""

    def body(state: State) -> State:
        return {"trail": [name]}

    body.__name__ = name
    return body


# visibility


def test_tasks_of_a_step_read_the_same_state(strict: bool, drive: Drive) -> None:
    """What one writes the other sees a step later. Rules: 32. Rows: S1-P01, S0-115, S1-011, S1-042."""
    seen: list[tuple[str, Any, Any]] = []

    def look(name: str) -> Any:
        def body(state: State) -> State:
            seen.append((name, state.get("x"), state.get("y")))
            return {"x": 1} if name == "a" else {"y": 1} if name == "b" else {}

        return body

    builder = StateGraph(State, strict=strict)
    for name in ("a", "b", "after_a", "after_b"):
        builder.add_node(name, look(name))
    builder.add_edge(START, "a").add_edge(START, "b").add_edge("a", "after_a").add_edge("b", "after_b")
    drive.invoke(builder.compile(), {"x": 0, "y": 0})
    assert sorted(seen) == [("a", 0, 0), ("after_a", 1, 1), ("after_b", 1, 1), ("b", 0, 0)]


def test_a_reduced_key_shows_no_sibling_either(strict: bool, drive: Drive) -> None:
    """Rules: 32."""
    seen: list[list[str]] = []

    def body(state: State) -> State:
        seen.append(list(state.get("trail", [])))
        return {"trail": ["w"]}

    builder = StateGraph(State, strict=strict).add_node("a", body).add_node("b", body).add_node("c", body)
    builder.add_edge(START, "a").add_edge(START, "b").add_edge("a", "c").add_edge("b", "c")
    drive.invoke(builder.compile(), {"trail": ["in"]})
    assert seen == [["in"], ["in"], ["in", "w", "w"]]


# the input's phase


def test_the_input_is_a_phase_of_its_own(journal: Journal, strict: bool, drive: Drive) -> None:
    """A checkpoint at step -1 waits for "__start__", one at 0 for the first nodes. Rules: 33, 34. Rows: S1-P04, S1-K02."""
    builder = StateGraph(State, strict=strict).add_sequence([mark("a"), mark("b")]).add_edge(START, "a")
    graph = builder.compile(checkpointer=journal)
    drive.invoke(graph, {"x": 1}, on("t"))
    entries = drive.get_state_history(graph, on("t"))
    assert [(e.metadata["step"], e.metadata["source"], e.next) for e in entries] == [
        (2, "loop", ()),
        (1, "loop", ("b",)),
        (0, "loop", ("a",)),
        (-1, "input", ("__start__",)),
    ]
    assert "x" not in entries[3].values
    assert entries[2].values["x"] == 1


def test_start_is_a_task_with_a_result_in_history(journal: Journal, strict: bool, drive: Drive) -> None:
    """Rules: 34, 80."""
    graph = StateGraph(State, strict=strict).add_node("a", mark("a")).add_edge(START, "a").compile(checkpointer=journal)
    drive.invoke(graph, {"x": 1}, on("t"))
    oldest = drive.get_state_history(graph, on("t"))[-1]
    assert [(task.name, task.result) for task in oldest.tasks] == [("__start__", {"x": 1})]


def test_start_is_never_streamed(journal: Journal, strict: bool, drive: Drive) -> None:
    """Rules: 34."""
    graph = StateGraph(State, strict=strict).add_node("a", mark("a")).add_edge(START, "a").compile(checkpointer=journal)
    events = drive.stream(graph, {"x": 1}, on("t"), stream_mode=["updates", "tasks", "debug"])
    assert [list(data) for mode, data in events if mode == "updates"] == [["a"]]
    told = [data for mode, data in events if mode == "tasks"]
    told += [data["payload"] for mode, data in events if mode == "debug" and data["type"].startswith("task")]
    assert [task["name"] for task in told] == ["a"] * 4


def test_first_nodes_run_in_step_one(strict: bool, drive: Drive) -> None:
    """Rules: 33."""
    graph = StateGraph(State, strict=strict).add_node("a", mark("a")).add_edge(START, "a").compile()
    events = drive.stream(graph, {"x": 1}, stream_mode="debug")
    assert {event["step"] for event in events if event["type"] == "task"} == {1}


def test_a_conditional_entry_reads_the_input(strict: bool, drive: Drive) -> None:
    """Rules: 33, 42, 14."""
    seen: list[dict[str, Any]] = []

    def choose(state: State) -> str:
        seen.append(dict(state))
        return "b" if state.get("x") else "a"

    builder = StateGraph(State, strict=strict).add_node("a", mark("a")).add_node("b", mark("b"))
    graph = builder.set_conditional_entry_point(choose).compile()
    assert drive.invoke(graph, {"x": 1})["trail"] == ["b"]
    assert drive.invoke(graph, {"x": 0})["trail"] == ["a"]
    assert seen == [{"x": 1, "trail": []}, {"x": 0, "trail": []}]


# triggering


def test_a_node_runs_once_a_step_however_many_edges_lead_to_it(strict: bool, drive: Drive) -> None:
    """And once more when a longer way reaches it later. Rules: 29, 40."""
    builder = StateGraph(State, strict=strict)
    for name in ("a", "b", "long", "end"):
        builder.add_node(name, mark(name))
    builder.add_edge(START, "a").add_edge(START, "b").add_edge("a", "end").add_edge("b", "end")
    assert drive.invoke(builder.compile(), {})["trail"] == ["a", "b", "end"]
    builder.add_edge("a", "long").add_edge("long", "end")
    assert drive.invoke(builder.compile(), {})["trail"] == ["a", "b", "end", "long", "end"]


def test_a_plain_edge_beside_a_join(strict: bool, drive: Drive) -> None:
    """One run for the plain edge, one for the join. Rules: 28, 29."""
    builder = StateGraph(State, strict=strict)
    for name in ("a", "b", "c", "end"):
        builder.add_node(name, mark(name))
    builder.add_edge(START, "a").add_edge("a", "b").add_edge("b", "c").add_edge("a", "end").add_edge(["a", "c"], "end")
    assert drive.invoke(builder.compile(), {})["trail"] == ["a", "b", "end", "c", "end"]


def test_a_node_that_writes_nothing_triggers_its_successors(strict: bool, drive: Drive) -> None:
    """Rules: 40, 31."""

    def nothing(state: State) -> None:
        return None

    graph = StateGraph(State, strict=strict).add_sequence([nothing, mark("b")]).add_edge(START, "nothing").compile()
    assert drive.invoke(graph, {}) == {"trail": ["b"]}


def test_writing_a_key_triggers_nobody(strict: bool, drive: Drive) -> None:
    """Only edges, goto and Send do. Rules: 40. Rows: S1-P01."""
    builder = StateGraph(State, strict=strict).add_node("a", mark("a")).add_node("reader", mark("reader"))
    assert drive.invoke(builder.add_edge(START, "a").compile(), {"x": 1})["trail"] == ["a"]


def test_a_self_loop_turns(strict: bool, drive: Drive) -> None:
    """Its trigger is consumed before its own new write arms it again. Rules: 41."""

    def again(state: State) -> State:
        return {"x": state.get("x", 0) + 1, "trail": [str(state.get("x"))]}

    def more(state: State) -> str:
        return "again" if state.get("x", 0) < 3 else "__end__"

    builder = StateGraph(State, strict=strict).add_node(again).add_edge(START, "again")
    out = drive.invoke(builder.add_conditional_edges("again", more).compile(), {"x": 0})
    assert out == {"x": 3, "trail": ["0", "1", "2"]}


def test_a_loop_of_two_turns(strict: bool, drive: Drive) -> None:
    """Rules: 41. Rows: S0-080."""

    def more(state: State) -> str:
        return "a" if len(state.get("trail", [])) < 5 else "__end__"

    builder = StateGraph(State, strict=strict).add_sequence([mark("a"), mark("b")]).add_edge(START, "a")
    out = drive.invoke(builder.add_conditional_edges("b", more).compile(), {})
    assert out["trail"] == ["a", "b"] * 3


# deferred nodes


@pytest.mark.parametrize("joined", [False, True])
def test_a_deferred_node_waits_for_all_other_work(joined: bool, strict: bool, drive: Drive) -> None:
    """It runs once, with everything gathered, by plain edges as by a join. Rules: 46."""
    builder = StateGraph(State, strict=strict)
    for name in ("a", "b1", "b2", "b3"):
        builder.add_node(name, mark(name))
    builder.add_node("sum", mark("sum"), defer=True)
    builder.add_edge(START, "a").add_edge(START, "b1").add_edge("b1", "b2").add_edge("b2", "b3")
    if joined:
        builder.add_edge(["a", "b3"], "sum")
    else:
        builder.add_edge("a", "sum").add_edge("b3", "sum")
    assert drive.invoke(builder.compile(), {})["trail"] == ["a", "b1", "b2", "b3", "sum"]


def test_a_deferred_join_and_a_plain_edge_show_both_triggers(strict: bool, drive: Drive) -> None:
    """Rules: 46, 170."""
    builder = StateGraph(State, strict=strict)
    for name in ("a", "b"):
        builder.add_node(name, mark(name))
    builder.add_node("sum", mark("sum"), defer=True)
    builder.add_edge(START, "a").add_edge("a", "b").add_edge(["a", "b"], "sum").add_edge("a", "sum")
    graph = builder.compile()
    assert drive.invoke(graph, {})["trail"] == ["a", "b", "sum"]
    told = [e for e in drive.stream(graph, {}, stream_mode="tasks") if e["name"] == "sum" and "triggers" in e]
    assert [set(task["triggers"]) for task in told] == [{"branch:to:sum", "join:a+b:sum"}]


def test_what_a_deferred_node_starts_runs(strict: bool, drive: Drive) -> None:
    """By an edge, and by goto to a loop that arms it once more. Rules: 47."""

    def sum_(state: State) -> Any:
        turns = state.get("trail", []).count("sum")
        return Command(update={"trail": ["sum"]}, goto="a" if turns == 0 else "end")

    builder = StateGraph(State, strict=strict).add_node("a", mark("a")).add_node("b", mark("b"))
    builder.add_node("sum", sum_, defer=True).add_node("end", mark("end"))
    builder.add_edge(START, "a").add_edge("a", "b").add_edge("a", "sum").add_edge("b", "sum")
    assert drive.invoke(builder.compile(), {})["trail"] == ["a", "b", "sum", "a", "b", "sum", "end"]


def test_a_deferred_node_waits_for_sends_too(strict: bool, drive: Drive) -> None:
    """Rules: 46, 47."""

    def spread(state: State) -> list[Send]:
        return [Send("work", {"trail": ["x"]}), Send("work", {"trail": ["y"]})]

    builder = StateGraph(State, strict=strict).add_node("a", mark("a")).add_node("work", mark("work"))
    builder.add_node("sum", mark("sum"), defer=True).add_edge(START, "a").add_edge("a", "sum")
    builder.add_conditional_edges("a", spread, ["work"])
    assert drive.invoke(builder.compile(), {})["trail"] == ["a", "work", "work", "sum"]


# limits


def chain(length: int, strict: bool) -> Any:
    return StateGraph(State, strict=strict).add_sequence([mark(f"n{i}") for i in range(length)]).add_edge(START, "n0")


@pytest.mark.parametrize("length", [1, 3])
def test_n_steps_need_a_limit_of_n_plus_one(length: int, strict: bool, drive: Drive) -> None:
    """Rules: 50. Rows: S0-092, S1-P06."""
    graph = chain(length, strict).compile()
    with pytest.raises(GraphRecursionError, match=str(length)) as reached:
        drive.invoke(graph, {}, on(limit=length))
    assert isinstance(reached.value, RecursionError)
    assert len(drive.invoke(graph, {}, on(limit=length + 1))["trail"]) == length


def test_steps_before_the_limit_have_run(journal: Journal, strict: bool, drive: Drive) -> None:
    """And are kept. Rules: 50."""
    graph = chain(4, strict).compile(checkpointer=journal)
    with pytest.raises(GraphRecursionError):
        drive.invoke(graph, {}, on("t", limit=2))
    head = drive.get_state(graph, on("t"))
    assert (head.values["trail"], head.next) == (["n0", "n1"], ("n2",))


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(limit: int, strict: bool, drive: Drive) -> None:
    """Rules: 50. Rows: S1-P06."""
    with pytest.raises(ValueError, match="recursion_limit"):
        drive.invoke(chain(1, strict).compile(), {}, on(limit=limit))


def test_an_endless_loop_ends_at_the_limit(strict: bool, drive: Drive) -> None:
    """Rules: 50. Rows: S0-092, S1-045."""
    builder = StateGraph(State, strict=strict).add_node("a", mark("a")).add_edge(START, "a").add_edge("a", "a")
    with pytest.raises(GraphRecursionError):
        drive.invoke(builder.compile(), {}, on(limit=30))


def test_the_limit_is_of_an_invocation_not_of_a_thread(journal: Journal, strict: bool, drive: Drive) -> None:
    """Rules: 51."""

    def ask(state: State) -> State:
        return {"trail": [interrupt("?")]}

    builder = StateGraph(State, strict=strict).add_sequence([mark("a"), mark("b"), ask, mark("c"), mark("d")])
    graph = builder.add_edge(START, "a").compile(checkpointer=journal)
    drive.invoke(graph, {}, on("t", limit=4))
    out = drive.invoke(graph, Command(resume="yes"), on("t", limit=4))
    assert out["trail"] == ["a", "b", "yes", "c", "d"]
    again = drive.invoke(graph, {}, on("t", limit=4))
    assert again["trail"][5:] == ["a", "b"]


# managed values


class Counting(TypedDict):
    trail: Annotated[list[Any], operator.add]
    left: RemainingSteps
    last: NotRequired[IsLastStep]
    must: Required[RemainingSteps]


def test_managed_values_count_the_steps_left(journal: Journal, strict: bool, drive: Drive) -> None:
    """Rules: 52. Rows: S1-C11."""

    def count(state: Counting) -> Any:
        return {"trail": [(state["left"], state.get("last"), state["must"])]}

    builder = StateGraph(Counting, strict=strict).add_sequence([("a", count), ("b", count), ("c", count)])
    graph = builder.add_edge(START, "a").compile(checkpointer=journal)
    out = drive.invoke(graph, {"trail": []}, on("t", limit=4))
    assert [tuple(entry) for entry in out["trail"]] == [(3, False, 3), (2, False, 2), (1, True, 1)]
    assert set(out) == {"trail"}
    for entry in drive.get_state_history(graph, on("t")):
        assert set(entry.values) <= {"trail"}


def test_the_limit_nobody_named_is_ten_thousand_and_seven(strict: bool, drive: Drive) -> None:
    """Rules: 223, 52."""

    def count(state: Counting) -> Any:
        return {"trail": [state["left"]]}

    graph = StateGraph(Counting, strict=strict).add_node("a", count).add_edge(START, "a").compile()
    assert drive.invoke(graph, {"trail": []})["trail"] == [10006]
