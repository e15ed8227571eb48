"""A first graph: typed state, two nodes, a route back, and the run's end as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from lawful import END, START, UNSET, Done, Failed, Paused, StateGraph, append


@dataclass(frozen=True)
class Essay:
    topic: str = UNSET
    drafts: Annotated[list[str], append] = UNSET
    grade: int = UNSET


def write(essay: Essay) -> Essay:
    return Essay(drafts=[f"{essay.topic}, draft {len(essay.drafts) + 1}"])


def mark(essay: Essay) -> Essay:
    return Essay(grade=3 * len(essay.drafts))


def good_enough(essay: Essay) -> str:
    return END if essay.grade >= 7 else "write"


writing = (
    StateGraph(Essay)
    .add_sequence([write, mark])
    .add_edge(START, "write")
    .add_conditional_edges("mark", good_enough, [END, "write"])
    .compile()
)

match writing.run_sync(Essay(topic="Tea")):
    case Done(state):
        print(state.grade, state.drafts[-1])
    case Paused(questions):
        print("asks", questions)
    case Failed(error):
        print("failed", error)

# prints: 9 Tea, draft 3
