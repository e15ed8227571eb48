"""A server that must stop lets each run end its step; the next process goes on from there."""

from __future__ import annotations

from typing import Annotated, TypedDict

from lawful import START, MemoryJournal, RunControl, StateGraph, append
from lawful.core.errors import RunDrained


class Work(TypedDict, total=False):
    done: Annotated[list[str], append]


control = RunControl()


def first(work: Work) -> Work:
    control.request_drain("deploy")  # a signal handler would do this
    return {"done": ["first"]}


def second(work: Work) -> Work:
    return {"done": ["second"]}


graph = StateGraph(Work).add_sequence([first, second]).add_edge(START, "first").compile(checkpointer=MemoryJournal())
try:
    graph.invoke({}, thread="t", control=control)
except RunDrained as error:
    print(error.reason, graph.get_state("t").next)
print(graph.invoke(None, thread="t"))

# prints: deploy ('second',)
# prints: {'done': ['first', 'second']}
