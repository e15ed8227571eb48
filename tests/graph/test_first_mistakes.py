"""What a newcomer gets wrong first: each mistake is told where it is made, with what to write instead."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from lawful import START, Agent, Command, Done, MemoryJournal, SQLiteJournal, StateGraph, append, interrupt
from lawful.core.errors import (
    AlreadyAnswered,
    ConfigurationError,
    GraphBuildError,
    StoreError,
    UnknownQuestion,
    ValidationError,
)
from support.graphs import Drive, on

pytestmark = pytest.mark.unit


class Order(TypedDict, total=False):
    item: str
    count: int
    log: Annotated[list[str], append]
    held: Any


def graph(node: Any, **given: Any) -> Any:
    built: Any = StateGraph(Order).add_node("n", node).add_edge(START, "n")
    return built.compile(**given)


def one(order: Order) -> Order:
    return {"count": 1}


def how_many(order: Order) -> Order:
    return {"count": int(interrupt("How many?"))}


def test_a_graph_that_was_not_compiled_says_so() -> None:
    built: Any = StateGraph(Order).add_node("n", one).add_edge(START, "n")
    for name in ("invoke", "run_sync", "stream", "get_state"):
        with pytest.raises(AttributeError, match=rf"no attribute '{name}': compile\(\) makes"):
            getattr(built, name)
    with pytest.raises(AttributeError, match="Did you mean 'add_node'"):
        _ = built.add_nod


def test_a_state_is_declared_by_a_class() -> None:
    with pytest.raises(GraphBuildError, match="declared by a class"):
        StateGraph({"item": str})  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "given,told",
    [
        ("shop.db", "Write SQLiteJournal('shop.db')"),
        (MemoryJournal, "Received the class MemoryJournal. Write MemoryJournal("),
        ("postgresql://shop@db/shop", "Write PostgresJournal("),
    ],
)
def test_what_is_no_journal_is_told_with_what_is(given: Any, told: str) -> None:
    with pytest.raises(TypeError, match=re.escape(told)):
        graph(one, checkpointer=given)


def test_a_thread_without_a_journal_is_refused(drive: Drive) -> None:
    """Nothing of it would be kept, and the next call on it would begin anew."""
    with pytest.raises(ConfigurationError, match="has no journal to keep it in"):
        drive.invoke(graph(one), {"item": "tea"}, thread="t")
    assert drive.invoke(graph(one), {"item": "tea"}, on("t"))["count"] == 1
    with pytest.raises(ConfigurationError, match="has no journal to keep it in"):
        Agent("demo").invoke("Hello", thread="t")


def test_a_run_without_a_thread_says_how_one_is_named() -> None:
    kept = graph(one, checkpointer=MemoryJournal())
    with pytest.raises(ConfigurationError, match=r"thread='\.\.\.'"):
        kept.invoke({"item": "tea"})
    with pytest.raises(ConfigurationError, match="Is 'thread' meant for 'thread_id'"):
        kept.invoke({"item": "tea"}, {"configurable": {"thread": "t"}})


def test_resume_takes_answers_and_not_bare_values() -> None:
    """A bare value would reach the node as a list of one."""
    kept = graph(how_many, checkpointer=MemoryJournal())
    kept.run_sync({"item": "tea"}, thread="t")
    [question] = kept.questions("t")
    for given in (3, "3", question, [question.answer(3)]):
        with pytest.raises(ConfigurationError, match=r"question\.answer\(value\)"):
            kept.resume_sync("t", given)
    expected: Any = {"item": "tea", "count": 3, "log": []}
    assert kept.resume_sync("t", question.answer(3)) == Done(expected, "t")


def test_an_answer_to_a_thread_that_never_ran_is_refused(drive: Drive) -> None:
    kept = graph(how_many, checkpointer=MemoryJournal())
    with pytest.raises(UnknownQuestion, match="'typo' asks nothing: nothing has run on it"):
        drive.invoke(kept, Command(resume=3), on("typo"))
    assert kept.get_state("typo").metadata is None


def test_an_answer_that_its_node_cannot_take_is_not_answered_again_in_silence(drive: Drive) -> None:
    kept = graph(drive.node(how_many), checkpointer=MemoryJournal())
    drive.invoke(kept, {"item": "tea"}, on("t"))
    with pytest.raises(ValueError, match="invalid literal"):
        drive.invoke(kept, Command(resume="many"), on("t"))
    with pytest.raises(AlreadyAnswered, match=r"somebody answered 'many'.*fork\(get_state"):
        drive.invoke(kept, Command(resume="3"), on("t"))
    kept.fork(kept.get_state("t"), None)
    drive.invoke(kept, None, on("t"))
    assert drive.invoke(kept, Command(resume="3"), on("t"))["count"] == 3


def test_an_exception_says_which_node_it_left(drive: Drive) -> None:
    def breaks(order: Order) -> Order:
        raise ZeroDivisionError("none left")

    with pytest.raises(ZeroDivisionError) as caught:
        drive.invoke(graph(drive.node(breaks), name="shop"), {"item": "tea"})
    assert caught.value.__notes__ == ["In node 'n' of 'shop', step 1"]
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    "key,told", [("count", "'count' has no value yet"), ("cuont", "no key 'cuont'. Did you mean 'count'"), ("zzz", "")]
)
def test_a_key_that_is_missing_is_compared_with_the_state(drive: Drive, key: str, told: str) -> None:
    def reads(order: dict[str, Any]) -> Order:
        return {"count": order[key]}

    with pytest.raises(KeyError) as caught:
        drive.invoke(graph(drive.node(reads)), {"item": "tea"})
    assert told in "\n".join(caught.value.__notes__)
    assert len(caught.value.__notes__) == (2 if told else 1)


def test_a_value_that_cannot_be_stored_is_told_with_the_ways_out() -> None:
    with pytest.raises(ValidationError, match=r"key 'held' cannot be stored.*untracked.*codec\.register"):
        graph(lambda order: {"held": object()}, checkpointer=MemoryJournal()).invoke({}, thread="t")  # pyright: ignore[reportUnknownLambdaType]


def test_a_journal_file_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="it is a folder"):
        SQLiteJournal(tmp_path)
    with pytest.raises(StoreError, match="there is no folder"):
        SQLiteJournal(tmp_path / "none" / "shop.db")
