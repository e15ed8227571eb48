"""LangGraph's threads in PostgreSQL, taken over and written back."""

# LangGraph tells its types in part only.
# pyright: reportUnknownMemberType=false, reportMissingImports=false, reportUnknownVariableType=false

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest

pytest.importorskip("langgraph.checkpoint.postgres")

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import START
from langgraph.graph import StateGraph as TheirGraph
from langgraph.types import Command as TheirCommand
from langgraph.types import interrupt as their_interrupt

from lawful.compat import export_threads, import_threads
from lawful.compat.tables import tables_at
from lawful.graph import Command, StateGraph, interrupt
from lawful.journal.memory import MemoryJournal
from support.pg import PgServer

pytestmark = [pytest.mark.postgres, pytest.mark.integration]


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    seen: set[str]
    n: int


def graph(cls: Any, ask: Any) -> Any:
    def first(state: State) -> Any:
        return {"log": ["first"], "seen": {"a"}, "n": 7}

    def asks(state: State) -> Any:
        return {"log": [f"{ask('well?')} {sorted(state.get('seen', ()))} {state.get('n')}"]}

    made = cls(State).add_node("first", first).add_node("asks", asks)
    return made.add_edge(START, "first").add_edge("first", "asks")


def test_threads_come_from_postgres_and_go_back(pg: PgServer) -> None:
    pg.run("CREATE DATABASE lg_threads")
    url = pg.url(database="lg_threads")
    with PostgresSaver.from_conn_string(url) as saver:
        saver.setup()
        theirs = graph(TheirGraph, their_interrupt).compile(checkpointer=saver)
        for n in range(3):
            theirs.invoke({"log": [str(n)]}, {"configurable": {"thread_id": f"t{n}"}})
    journal, tables = MemoryJournal(), tables_at("postgres", url)
    ours = graph(StateGraph, interrupt).compile(checkpointer=journal)
    told = list(import_threads(tables, journal, program=ours.program))
    tables.close()
    assert [(t.thread, t.error, [q.value for q in t.questions]) for t in told] == [
        (f"t{n}", None, ["well?"]) for n in range(3)
    ]
    journal.copy_thread("t2", "t3")
    with PostgresSaver.from_conn_string(url) as saver:
        assert [t.error for t in export_threads(journal, saver, program=ours.program, threads=["t3"])] == [None]
        theirs = graph(TheirGraph, their_interrupt).compile(checkpointer=saver)
        for n in range(3):
            here = ours.invoke(Command(resume="yes"), thread=f"t{n}")
            there = theirs.invoke(TheirCommand(resume="yes"), {"configurable": {"thread_id": f"t{n}"}})
            assert here == there == {"log": [str(n), "first", "yes ['a'] 7"], "seen": {"a"}, "n": 7}
        back = theirs.invoke(TheirCommand(resume="back"), {"configurable": {"thread_id": "t3"}})
        assert back["log"] == ["2", "first", "back ['a'] 7"]
