"""A thread that LangGraph paused is taken over and gone on with."""

from __future__ import annotations

from typing import Any, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START
from langgraph.graph import StateGraph as TheirGraph
from langgraph.types import interrupt as their_interrupt

from lawful import Command, StateGraph, interrupt
from lawful.compat import import_threads
from lawful.compat.tables import tables_at
from lawful.stores.sqlite import SQLiteJournal


class Order(TypedDict, total=False):
    item: str
    note: str


# Yesterday, under LangGraph:
def asked(state: Order) -> Any:
    return {"note": their_interrupt(f"send {state.get('item')}?")}


with SqliteSaver.from_conn_string("checkpoints.sqlite") as saver:
    old: Any = TheirGraph(Order)
    old.add_node("ask", asked).add_edge(START, "ask")
    old.compile(checkpointer=saver).invoke({"item": "tea"}, {"configurable": {"thread_id": "7"}})


# Today, the ported graph:
def ask(state: Order) -> Order:
    return {"note": interrupt(f"send {state.get('item')}?")}


journal = SQLiteJournal("journal.db")
graph = StateGraph(Order).add_node("ask", ask).add_edge(START, "ask").compile(journal)
tables = tables_at("sqlite", "checkpoints.sqlite")
for thread in import_threads(tables, journal, program=graph.program):
    print(thread.thread, thread.waits, [question.value for question in thread.questions])
print(graph.invoke(Command(resume="by post"), thread="7"))
tables.close()
journal.close()
# prints: 7 ('ask',) ['send tea?']
# prints: {'item': 'tea', 'note': 'by post'}
