"""A node fails; the run is taken up again where it stopped, and what was finished is not done again."""

from __future__ import annotations

from typing import Annotated, TypedDict

from lawful import START, SQLiteJournal, StateGraph, append
from lawful.core.errors import NetworkError

calls: list[str] = []


class Build(TypedDict, total=False):
    done: Annotated[list[str], append]


def fetch(build: Build) -> Build:
    calls.append("fetch")
    return {"done": ["fetch"]}


def publish(build: Build) -> Build:
    calls.append("publish")
    if calls.count("publish") == 1:
        raise NetworkError("the registry did not answer")
    return {"done": ["publish"]}


graph = (
    StateGraph(Build)
    .add_sequence([fetch, publish])
    .add_edge(START, "fetch")
    .compile(checkpointer=SQLiteJournal("builds.db"))
)
try:
    graph.invoke({"done": []}, thread="build-1")
except NetworkError as error:
    print(error.message, graph.get_state("build-1").next)

print(graph.invoke(None, thread="build-1")["done"], calls)

# prints: the registry did not answer ('publish',)
# prints: ['fetch', 'publish'] ['fetch', 'publish', 'publish']
