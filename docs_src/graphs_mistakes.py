"""Mistakes that are refused, each with the place and the nearest name that exists."""

from __future__ import annotations

from typing import Any, TypedDict

from lawful import START, StateGraph
from lawful.core.errors import GraphBuildError, InvalidUpdateError


class Trip(TypedDict, total=False):
    city: str
    days: int


def plan(trip: Trip) -> dict[str, Any]:
    return {"dayz": 3}


def count(trip: Trip) -> dict[str, Any]:
    return {"days": "three"}


for node in (plan, count):
    try:
        StateGraph(Trip).add_node(node).add_edge(START, node.__name__).compile().invoke({"city": "Lyon"})
    except InvalidUpdateError as error:
        print(error.message)

try:
    StateGraph(Trip).add_node(plan).add_edge(START, "plam").compile()
except GraphBuildError as error:
    print(error.message)

# prints: Node 'plan' wrote 'dayz', which the state does not have. Did you mean 'days'?
# prints: Node 'count' wrote to key 'days': days: expected int, got str 'three'
# prints: Found edge ending at unknown node 'plam'. Did you mean 'plan'?
