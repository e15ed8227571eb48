"""What followed a checkpoint is run again on a branch, and its question asked again."""

from __future__ import annotations

from typing import Annotated, TypedDict

from lawful import START, Command, MemoryJournal, StateGraph, append, interrupt


class Trip(TypedDict, total=False):
    log: Annotated[list[str], append]


def plan(trip: Trip) -> Trip:
    return {"log": ["plan"]}


def choose(trip: Trip) -> Trip:
    return {"log": [interrupt("sea or hills?")]}


def book(trip: Trip) -> Trip:
    return {"log": [f"booked {trip.get('log', [])[-1]}"]}


graph = (
    StateGraph(Trip).add_sequence([plan, choose, book]).add_edge(START, "plan").compile(checkpointer=MemoryJournal())
)
graph.invoke({"log": []}, thread="t")
print(graph.invoke(Command(resume="sea"), thread="t")["log"])

before = next(s for s in graph.get_state_history("t") if s.next == ("choose",))
asked = graph.replay_sync(before)
print([question.value for question in graph.questions("t")], type(asked).__name__)
print(graph.invoke(Command(resume="hills"), thread="t")["log"])

# prints: ['plan', 'sea', 'booked sea']
# prints: ['sea or hills?'] Paused
# prints: ['plan', 'hills', 'booked hills']
