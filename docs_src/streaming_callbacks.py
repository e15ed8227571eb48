"""A handler that hears when a run pauses and when it goes on."""

from typing import TypedDict

from lawful import START, Command, GraphCallbackHandler, MemoryJournal, StateGraph, interrupt
from lawful.graph.callbacks import GraphInterruptEvent, GraphResumeEvent


class Leave(TypedDict, total=False):
    days: int
    granted: bool


def decide(leave: Leave) -> Leave:
    return {"granted": interrupt(f"{leave.get('days')} days?")}


class Desk(GraphCallbackHandler):
    def on_interrupt(self, event: GraphInterruptEvent) -> None:
        print("waits:", event.interrupts[0].value)

    def on_resume(self, event: GraphResumeEvent) -> None:
        print("goes on:", event.status)


graph = StateGraph(Leave).add_node(decide).add_edge(START, "decide").compile(checkpointer=MemoryJournal())
config = {"configurable": {"thread_id": "ada"}, "callbacks": [Desk()]}
graph.invoke({"days": 3}, config)
print(graph.invoke(Command(resume=True), config))

# prints: waits: 3 days?
# prints: goes on: pending
# prints: {'days': 3, 'granted': True}
