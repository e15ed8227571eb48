"""A thread is branched off with other values, and another is made up step by step."""

from __future__ import annotations

from typing import Annotated, TypedDict

from lawful import START, MemoryJournal, StateGraph, append
from lawful.graph import StateUpdate


class Draft(TypedDict, total=False):
    log: Annotated[list[str], append]


def write(draft: Draft) -> Draft:
    return {"log": ["written"]}


def check(draft: Draft) -> Draft:
    return {"log": [f"checked {draft.get('log', [])[-1]}"]}


graph = StateGraph(Draft).add_sequence([write, check]).add_edge(START, "write").compile(checkpointer=MemoryJournal())
graph.invoke({"log": []}, thread="t")
written = next(s for s in graph.get_state_history("t") if s.next == ("check",))

branch = graph.fork(written, {"log": ["mended"]}, as_node="write", into="t2")
print(graph.invoke(None, branch)["log"], graph.get_state("t").values["log"])

supersteps = [[StateUpdate({"log": []}, "__start__")], [StateUpdate({"log": ["written elsewhere"]}, "write")]]
graph.bulk_update_state({"configurable": {"thread_id": "t3"}}, supersteps)
print(graph.get_state("t3").next, graph.invoke(None, thread="t3")["log"])

# prints: ['written', 'mended', 'checked mended'] ['written', 'checked written']
# prints: ('check',) ['written elsewhere', 'checked written elsewhere']
