"""A run is held to its limits; what it did is kept, and a higher limit goes on from there."""

from __future__ import annotations

from typing import Annotated, TypedDict

from lawful import START, Failed, Limits, MemoryJournal, StateGraph, append


class Talk(TypedDict, total=False):
    lines: Annotated[list[str], append]


def speak(talk: Talk) -> Talk:
    return {"lines": ["x" * 100]}


builder = StateGraph(Talk).add_node(speak).add_edge(START, "speak").add_edge("speak", "speak")
graph = builder.compile(checkpointer=MemoryJournal(), limits=Limits(steps=3, seconds=30, state_bytes=10_000))

for thread, limits in (("a", None), ("b", Limits(state_bytes=250))):
    match graph.run_sync({}, thread=thread, limits=limits):
        case Failed(error, state):
            print(error.code, len(state["lines"]))
        case ended:
            print(ended)

# prints: graph_recursion_limit 3
# prints: state_too_large 2
