"""The architecture document's first sample, mended: an entry, a router whose targets are known, a merge for the list."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from lawful import END, START, StateGraph, append


class State(TypedDict, total=False):
    messages: Annotated[list[str], append]
    counter: int


def process(state: State) -> State:
    return {"messages": ["processed"], "counter": state.get("counter", 0) + 1}


def decide(state: State) -> State:
    return {}


def go_on(state: State) -> Literal["process", "__end__"]:
    return "process" if state.get("counter", 0) < 5 else END


graph = StateGraph(State).add_node(process).add_node(decide).add_edge(START, "process").add_edge("process", "decide")
workflow = graph.add_conditional_edges("decide", go_on).compile()
print(workflow.invoke({"messages": [], "counter": 0})["counter"])

# prints: 5
