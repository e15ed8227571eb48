"""Merges obey laws that are checked, so parallel results do not depend on who was first; a merge that does is found."""

from __future__ import annotations

from typing import Annotated, TypedDict

from hypothesis import strategies as st

from lawful import START, StateGraph, append
from lawful.testing import check_laws
from lawful.testing.laws import LawBroken


class State(TypedDict):
    notes: Annotated[list[str], append]


def scout(state: State) -> State:
    return {"notes": ["scout"]}


def critic(state: State) -> State:
    return {"notes": ["critic"]}


graph = StateGraph(State).add_node(scout).add_node(critic).add_edge(START, "scout").add_edge(START, "critic").compile()
print(graph.invoke({"notes": []})["notes"], graph.invoke({"notes": []})["notes"])

check_laws(append, st.lists(st.integers()))


def mean(a: float, b: float) -> float:
    return (a + b) / 2


try:
    check_laws(mean, st.integers(0, 9))
except LawBroken as broken:
    print("a mean is not", broken.law.name)
# prints: ['critic', 'scout'] ['critic', 'scout']
# prints: a mean is not associative
