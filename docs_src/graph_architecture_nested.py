"""The architecture document's nested graphs, mended: both graphs have an entry, and share the key they exchange."""

from __future__ import annotations

from typing import TypedDict

from lawful import START, StateGraph


class SubState(TypedDict, total=False):
    text: str
    draft: str


class MainState(TypedDict, total=False):
    text: str


def sub_process(state: SubState) -> SubState:
    draft = state.get("text", "").strip()
    return {"draft": draft, "text": draft.capitalize()}


subgraph = StateGraph(SubState).add_node(sub_process).add_edge(START, "sub_process").compile()
main_graph = StateGraph(MainState).add_node("subprocess", subgraph).add_edge(START, "subprocess").compile()
print(main_graph.invoke({"text": " tea "}))

# prints: {'text': 'Tea'}
