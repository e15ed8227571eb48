"""A compiled graph is a node of another; what it adds to a shared list is added once."""

from __future__ import annotations

from typing import Annotated, TypedDict

from lawful import START, StateGraph, append


class Log(TypedDict, total=False):
    lines: Annotated[list[str], append]


def inner(log: Log) -> Log:
    return {"lines": ["inner"]}


def after(log: Log) -> Log:
    return {"lines": ["after"]}


child = StateGraph(Log).add_node(inner).add_edge(START, "inner").compile()
parent = (
    StateGraph(Log)
    .add_node("child", child)
    .add_node(after)
    .add_edge(START, "child")
    .add_edge("child", "after")
    .compile()
)
print(parent.invoke({"lines": ["start"]})["lines"])

# prints: ['start', 'inner', 'after']
