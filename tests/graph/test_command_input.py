"""`Command` as a graph's input: writes and triggers on the loaded checkpoint, answers, and all of these together."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import pytest

from lawful import START, Command, Send, StateGraph, interrupt
from lawful.core.errors import InvalidUpdateError, UnknownQuestion
from lawful.journal.port import Journal
from support.graphs import Drive, concat, mark, on

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    trail: Annotated[list[str], concat]
    answer: str


def asking(journal: Journal, strict: bool, **options: Any) -> Any:
    """A graph: ask (a question), then done; side is reached by goto only."""

    def ask(state: State) -> State:
        answer = interrupt("?")
        return {"answer": answer, "trail": [f"ask saw {len(state.get('trail', []))}"]}

    builder = (
        StateGraph(State, strict=strict).add_node(ask).add_node("done", mark("done")).add_node("side", mark("side"))
    )
    return builder.add_edge(START, "ask").add_edge("ask", "done").compile(checkpointer=journal, **options)


def test_update_writes_to_the_loaded_checkpoint(journal: Journal, strict: bool, drive: Drive) -> None:
    """The pending node sees it, and asks on. Rules: 62."""
    graph = asking(journal, strict)
    drive.invoke(graph, {"trail": ["in"]}, on("t"))
    drive.invoke(graph, Command(update={"trail": ["more"]}), on("t"))
    head = drive.get_state(graph, on("t"))
    assert (head.values["trail"], head.next) == (["in", "more"], ("ask",))
    assert len(head.interrupts) == 1


def test_resume_answers(journal: Journal, strict: bool, drive: Drive) -> None:
    """Rules: 62, 114."""
    graph = asking(journal, strict)
    drive.invoke(graph, {"trail": ["in"]}, on("t"))
    out = drive.invoke(graph, Command(resume="yes"), on("t"))
    assert out == {"trail": ["in", "ask saw 1", "done"], "answer": "yes"}


def test_update_goto_and_resume_in_one(journal: Journal, strict: bool, drive: Drive) -> None:
    """Rules: 62, 63."""
    graph = asking(journal, strict)
    drive.invoke(graph, {"trail": ["in"]}, on("t"))
    out = drive.invoke(graph, Command(update={"trail": ["more"]}, goto="side", resume="yes"), on("t"))
    assert out == {"trail": ["in", "more", "ask saw 2", "side", "done"], "answer": "yes"}


def test_goto_runs_beside_what_is_pending(journal: Journal, strict: bool, drive: Drive) -> None:
    """In the same step. Rules: 63."""
    builder = StateGraph(State, strict=strict).add_sequence([mark("a"), mark("b"), mark("c")]).add_node("x", mark("x"))
    graph = builder.add_edge(START, "a").compile(checkpointer=journal, interrupt_before=["b"])
    drive.invoke(graph, {"trail": []}, on("t"))
    events = drive.stream(graph, Command(goto=["x"]), on("t"), stream_mode="debug")
    steps = {e["payload"]["name"]: e["step"] for e in events if e["type"] == "task"}
    assert steps["x"] == steps["b"] == steps["c"] - 1
    assert drive.get_state(graph, on("t")).values["trail"] == ["a", "b", "x", "c"]


def test_goto_by_send_runs_with_its_argument(journal: Journal, strict: bool, drive: Drive) -> None:
    """Rules: 62, 67."""

    def echo(state: State) -> State:
        return {"trail": [*state.get("trail", []), "echo"]}

    builder = StateGraph(State, strict=strict).add_node("a", mark("a")).add_node(echo).add_edge(START, "a")
    graph = builder.compile(checkpointer=journal)
    drive.invoke(graph, {"trail": []}, on("t"))
    out = drive.invoke(graph, Command(goto=Send("echo", {"trail": ["sent"]})), on("t"))
    assert out["trail"] == ["a", "sent", "echo"]


def test_goto_on_a_finished_thread_starts_there(journal: Journal, strict: bool, drive: Drive) -> None:
    """Rules: 62."""
    builder = StateGraph(State, strict=strict).add_sequence([mark("a"), mark("b")]).add_edge(START, "a")
    graph = builder.compile(checkpointer=journal)
    drive.invoke(graph, {"trail": []}, on("t"))
    assert drive.invoke(graph, Command(update={"trail": ["again"]}, goto="b"), on("t"))["trail"] == [
        "a",
        "b",
        "again",
        "b",
    ]


def test_strict_refuses_an_input_command_to_an_unknown_node(journal: Journal, drive: Drive) -> None:
    """And an undeclared key. Nothing is written. Rules: 45, 30, 62."""
    graph = asking(journal, True)
    drive.invoke(graph, {"trail": ["in"]}, on("t"))
    with pytest.raises(InvalidUpdateError, match="'sied'"):
        drive.invoke(graph, Command(update={"trail": ["more"]}, goto="sied"), on("t"))
    with pytest.raises(InvalidUpdateError, match="'trial'"):
        drive.invoke(graph, Command(update={"trial": ["more"]}), on("t"))
    head = drive.get_state(graph, on("t"))
    assert (head.values["trail"], head.next) == (["in"], ("ask",))


def test_resume_without_a_checkpointer_is_refused(strict: bool, drive: Drive) -> None:
    """Rules: 120, 62."""
    graph = StateGraph(State, strict=strict).add_node("a", mark("a")).add_edge(START, "a").compile()
    with pytest.raises(RuntimeError, match=r"Cannot use Command\(resume=...\) without checkpointer"):
        drive.invoke(graph, Command(resume="yes"))


def test_goto_starts_a_deferred_node_for_which_nothing_is_left_to_wait(
    journal: Journal, strict: bool, drive: Drive
) -> None:
    """Rules: 46, 62."""
    builder = StateGraph(State, strict=strict).add_node("a", mark("a")).add_node("late", mark("late"), defer=True)
    graph = builder.add_edge(START, "a").compile(checkpointer=journal)
    drive.invoke(graph, {}, on("t"))
    assert drive.invoke(graph, Command(goto="late"), on("t"))["trail"] == ["a", "late"]


@pytest.mark.parametrize("routed", [False, True])
def test_a_command_may_be_the_first_input_of_its_thread(
    journal: Journal, strict: bool, drive: Drive, routed: bool
) -> None:
    """The graph begins as with any input, at the goto too, and the update is applied once. Rules: 62."""
    builder = StateGraph(State, strict=strict).add_node("a", mark("a")).add_node("b", mark("b"))
    if routed:

        def entry(state: State) -> str:
            return "a" if state.get("answer") else "b"

        builder.add_conditional_edges(START, entry, ["a", "b"])
    else:
        builder.add_edge(START, "a")
    graph = builder.compile(checkpointer=journal)
    first = Command[Any](update={"trail": ["given"], "answer": "yes"}, goto="b")
    assert drive.invoke(graph, first, on("t"))["trail"] == ["given", "a", "b"]
    assert drive.invoke(builder.compile(), first)["trail"] == ["given", "a", "b"]
    sources = [(s.metadata["source"], s.metadata["step"], s.next) for s in drive.get_state_history(graph, on("t"))]
    assert sources == [("loop", 1, ()), ("loop", 0, ("a", "b")), ("input", -1, ("__start__",))]


def test_an_answer_alone_begins_nothing(journal: Journal, strict: bool, drive: Drive) -> None:
    """Rules: 131."""
    graph = StateGraph(State, strict=strict).add_node("a", mark("a")).add_edge(START, "a").compile(checkpointer=journal)
    if strict:
        with pytest.raises(UnknownQuestion, match="nothing has run on it"):
            drive.invoke(graph, Command(resume="yes"), on("t"))
    else:
        assert drive.invoke(graph, Command(resume="yes"), on("t")) == {"trail": []}
