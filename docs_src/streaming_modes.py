"""What two modes give of a run of two nodes."""

from typing import Annotated, TypedDict

from lawful import START, StateGraph, append


class Trip(TypedDict, total=False):
    city: str
    stops: Annotated[list[str], append]


def plan(trip: Trip) -> Trip:
    return {"stops": ["museum", "river"]}


def book(trip: Trip) -> Trip:
    return {"stops": ["hotel"]}


graph = StateGraph(Trip).add_sequence([plan, book]).add_edge(START, "plan").compile()
for update in graph.stream({"city": "Lyon"}):
    print(update)
for mode, chunk in graph.stream({"city": "Lyon"}, stream_mode=["values", "tasks"]):
    print(mode, sorted(chunk))
print(graph.invoke({"city": "Lyon"}, output_keys="stops"))

# prints: {'plan': {'stops': ['museum', 'river']}}
# prints: {'book': {'stops': ['hotel']}}
# prints: values ['city', 'stops']
# prints: tasks ['id', 'input', 'name', 'triggers']
# prints: tasks ['error', 'id', 'interrupts', 'name', 'result']
# prints: values ['city', 'stops']
# prints: tasks ['id', 'input', 'name', 'triggers']
# prints: tasks ['error', 'id', 'interrupts', 'name', 'result']
# prints: values ['city', 'stops']
# prints: ['museum', 'river', 'hotel']
