"""The shipped merges as reducers of a graph, and the laws that make parallel writes mean one thing."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import strategies as st

from lawful import START, StateGraph, add_messages, append, maximum
from lawful.core.errors import InvalidUpdateError
from lawful.core.reducers import combine, replace, union
from lawful.journal.port import Journal
from lawful.testing import LawBroken, check_laws
from support.graphs import Drive, on

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    history: Annotated[list[str], append]
    listed: Annotated[tuple[str, ...], append]
    latest: Annotated[str, replace]
    best: Annotated[int, maximum]
    tags: Annotated[set[str], union]


def fan(drive: Drive, given: Any, strict: bool, **updates: Any) -> Any:
    """The result of nodes that each write one update straight after START."""
    builder = StateGraph(State, strict=strict)
    for name, update in updates.items():

        def node(state: State, update: Any = update) -> Any:
            return update

        builder.add_node(name, node).add_edge(START, name)
    return drive.invoke(builder.compile(), given)


def mean(left: float, right: float) -> float:
    return (left + right) / 2


@pytest.mark.parametrize("unlawful", [operator.sub, mean])
def test_a_merge_that_is_not_associative_is_found(unlawful: Any) -> None:
    """Rows: S0-085."""
    with pytest.raises(LawBroken, match="associative"):
        check_laws(unlawful, st.integers(-9, 9))


def test_append_is_a_monoid_and_a_reducer(strict: bool, drive: Drive) -> None:
    """It starts from its unit, in a list or a tuple as the key says. Rows: S0-086, S1-C12. Rules: 14, 20."""
    check_laws(append, st.lists(st.text(max_size=2), max_size=3))
    assert fan(drive, {}, strict, b={"history": ["b"]}, a={"history": ["a"]})["history"] == ["a", "b"]
    out = fan(drive, {"listed": ("in",)}, strict, b={"listed": ("b",)}, a={"listed": ("a",)})
    assert out["listed"] == ("in", "a", "b")


def test_append_refuses_a_bare_item_of_a_node(drive: Drive) -> None:
    """A str would fall into its letters. Rows: S0-086. Rules: 222."""
    with pytest.raises(InvalidUpdateError, match="history"):
        fan(drive, {}, True, a={"history": "word"})


def test_replace_lets_the_last_by_name_win(strict: bool, drive: Drive) -> None:
    """Said aloud, two writers are no conflict; the order of their names decides. Rows: S0-087. Rules: 19, 35."""
    check_laws(replace, st.integers())
    assert fan(drive, {"latest": "in"}, strict, z={"latest": "z"}, a={"latest": "a"})["latest"] == "z"


def test_maximum_and_union_do_not_care_who_was_first(strict: bool, drive: Drive) -> None:
    """Rows: S1-C12. Rules: 20."""
    out = fan(drive, {"best": 3}, strict, a={"best": 5, "tags": {"x"}}, b={"best": 4, "tags": {"y"}})
    assert (out["best"], out["tags"]) == (5, {"x", "y"})


def test_merges_of_fields_make_one_of_the_whole(drive: Drive) -> None:
    """And keep every law that all of them keep. Rows: S0-088, S0-080. Rules: 8."""
    whole = combine(history=append, best=maximum)
    check_laws(whole, st.fixed_dictionaries({"history": st.lists(st.integers(), max_size=2), "best": st.integers()}))
    with pytest.raises(LawBroken):
        check_laws(combine(n=operator.sub), st.fixed_dictionaries({"n": st.integers()}), laws=["associative"])

    class Whole(TypedDict, total=False):
        history: list[str]
        best: int

    def a(state: Whole) -> Whole:
        return {"history": ["a"], "best": 2}

    def b(state: Whole) -> Whole:
        return {"history": ["b"], "best": 1}

    reducer: Any = whole
    builder = StateGraph(Whole, reducer=reducer).add_node(b).add_node(a).add_edge(START, "a").add_edge(START, "b")
    assert drive.invoke(builder.compile(), {"history": ["in"]}) == {"history": ["in", "a", "b"], "best": 2}


class Chat(TypedDict, total=False):
    messages: Annotated[list[Any], add_messages]


def test_messages_merge_by_id_and_keep_their_ids_in_the_store(journal: Journal, strict: bool, drive: Drive) -> None:
    """A message that comes back changed takes its old place. Rows: S1-S05. Rules: 206, 216."""

    def answer(state: Chat) -> Chat:
        return {"messages": [("assistant", "yes")]}

    builder = StateGraph(Chat, strict=strict).add_node(answer).add_edge(START, "answer")
    graph = builder.compile(checkpointer=journal)
    first = drive.invoke(graph, {"messages": [("user", "hello")]}, on("t"))["messages"]
    assert len(first) == 2
    assert all(message.id for message in first)
    for _ in range(2):
        assert drive.get_state(graph, on("t")).values["messages"] == first
    again = drive.invoke(graph, {"messages": [first[0]]}, on("t"))["messages"]
    assert [message.id for message in again[:2]] == [message.id for message in first]
    assert len(again) == 3
