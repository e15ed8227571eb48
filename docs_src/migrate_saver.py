"""LangGraph itself, over a journal of ours."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from lawful.compat import JournalSaver
from lawful.stores.sqlite import SQLiteJournal


class State(TypedDict):
    log: Annotated[list[str], operator.add]


def ask(state: State) -> Any:
    return {"log": [interrupt("Shall we?")]}


journal = SQLiteJournal("langgraph.db")
builder: Any = StateGraph(State)
builder.add_node("ask", ask).add_edge(START, "ask")
graph: Any = builder.compile(checkpointer=JournalSaver(journal))

config = {"configurable": {"thread_id": "1"}}
graph.invoke({"log": ["begun"]}, config)
print(graph.get_state(config).next)
print(graph.invoke(Command(resume="yes"), config))
journal.close()
# prints: ('ask',)
# prints: {'log': ['begun', 'yes']}
