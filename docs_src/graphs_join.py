"""A join that one route may skip must say what it waits for, or it is refused before the graph runs."""

from __future__ import annotations

from typing import Annotated, TypedDict

from lawful import END, START, StateGraph, append
from lawful.core.errors import GraphBuildError


class Work(TypedDict, total=False):
    done: Annotated[list[str], append]


def fetch(work: Work) -> Work:
    return {"done": ["fetch"]}


def check(work: Work) -> Work:
    return {"done": ["check"]}


def report(work: Work) -> Work:
    return {"done": ["report"]}


def perhaps(work: Work) -> str:
    return END


def build() -> StateGraph[Work]:
    graph = StateGraph(Work).add_node(fetch).add_node(check).add_node(report).add_edge(START, "fetch")
    return graph.add_conditional_edges("fetch", perhaps, ["check", END])


try:
    build().add_edge(["fetch", "check"], "report").compile()
except GraphBuildError as error:
    print("refused:", "report" in error.message)

graph = build().add_edge(["fetch", "check"], "report", join="activated").compile()
print(graph.invoke({"done": []})["done"])

# prints: refused: True
# prints: ['fetch', 'report']
