"""The architecture document's conversation state, typed: one key that is never stored, one that only grows."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from lawful import START, MemoryJournal, StateGraph, append, untracked


class ConversationState(TypedDict, total=False):
    messages: list[dict[str, str]]
    context: Annotated[dict[str, Any], untracked()]
    history: Annotated[list[str], append()]


def greet(state: ConversationState) -> ConversationState:
    return {"history": [f"hello {state.get('context', {}).get('user')}"]}


graph = StateGraph(ConversationState).add_node(greet).add_edge(START, "greet").compile(checkpointer=MemoryJournal())
result = graph.invoke({"messages": [], "context": {"user": "Ada"}, "history": []}, thread="t")
print(result["history"], sorted(graph.get_state("t").values))

# prints: ['hello Ada'] ['history', 'messages']
