"""The architecture document's router, mended: every name that it returns is a node, and its type says so."""

from __future__ import annotations

from typing import Literal, TypedDict

from lawful import START, StateGraph


class State(TypedDict, total=False):
    counter: int
    error: str
    path: str


def process(state: State) -> State:
    return {"counter": state.get("counter", 0)}


def error_handler(state: State) -> State:
    return {"path": "handled"}


def summarize(state: State) -> State:
    return {"path": "summarized"}


def go_on(state: State) -> State:
    return {"path": "went on"}


def router(state: State) -> Literal["error_handler", "summarize", "go_on"]:
    if state.get("error"):
        return "error_handler"
    if state.get("counter", 0) > 10:
        return "summarize"
    return "go_on"


graph = StateGraph(State).add_edge(START, "process").add_conditional_edges("process", router)
graph.add_node(process).add_node(error_handler).add_node(summarize).add_node(go_on)
for start in ({"error": "lost"}, {"counter": 11}, {"counter": 1}):
    print(graph.compile().invoke(start)["path"])

# prints: handled
# prints: summarized
# prints: went on
