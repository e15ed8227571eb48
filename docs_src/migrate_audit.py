"""What an unchanged LangGraph graph would lose without a word."""

from __future__ import annotations

from typing import Any, TypedDict

from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from lawful.compat import audit_graph


class Order(TypedDict, total=False):
    item: str
    note: str


def charge(item: str) -> None: ...


def ask(state: Order) -> Any:
    charge(state.get("item", ""))
    return {"nota": interrupt("send it?")}


graph: Any = StateGraph(Order)
graph.add_node("ask", ask).add_edge(START, "ask")
for finding in audit_graph(graph):
    print(f"line {finding.line}: {finding.kind}")
# prints: line 23: dropped_key
# prints: line 22: effect_before_pause
