"""Each call on a thread is asked for, on behalf of whom the host has authenticated."""

from typing import TypedDict

from lawful import START, MemoryJournal, Principal, StateGraph
from lawful.core.errors import AccessDenied
from lawful.journal.guard import Access, GuardedJournal


class State(TypedDict):
    said: str


def shout(state: State) -> State:
    return {"said": state["said"].upper()}


def authorize(principal: Principal, thread: str, access: Access) -> bool:
    return thread.startswith(f"{principal.id}-") or (access == "read" and "auditor" in principal.roles)


journal = GuardedJournal(MemoryJournal(), authorize)
graph = StateGraph(State).add_node(shout).add_edge(START, "shout").compile(checkpointer=journal)

ann, eve = graph.acting(Principal("ann")), graph.acting(Principal("eve", ("auditor",)))
print(ann.invoke({"said": "hello"}, thread="ann-1"))
print(eve.get_state("ann-1").values)
try:
    eve.invoke({"said": "bye"}, thread="ann-1")
except AccessDenied as error:
    print(error.message)
# prints: {'said': 'HELLO'}
# prints: {'said': 'HELLO'}
# prints: 'eve' may not write thread 'ann-1'
