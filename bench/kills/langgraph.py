"""The kill in LangGraph: the payment is a task of a node, as its documentation advises, on SQLite with durability "sync".

Contract: a task whose result is stored is not run again; one that was cut off is, so side effects should be idempotent.
"""

from __future__ import annotations

import sqlite3
import sys
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import task
from langgraph.graph import START, StateGraph

from bench.kills.world import ask, pay
from bench.peers._names import LANGGRAPH

NAME = LANGGRAPH
KILL = "bench.kills.langgraph"


def version() -> str:
    return installed("langgraph")


class State(TypedDict, total=False):
    receipt: str


def main(folder: str, life: int) -> None:
    """Run the graph, or resume it."""

    @task
    def payment() -> str:
        return pay(folder, life)

    def node(state: State) -> State:
        return {"receipt": payment().result()}

    connection = sqlite3.connect(Path(folder) / "graph.db", check_same_thread=False)
    builder: Any = StateGraph(State)
    graph = builder.add_node("node", node).add_edge(START, "node").compile(checkpointer=SqliteSaver(connection))
    graph.invoke({} if life == 1 else None, {"configurable": {"thread_id": "t"}}, durability="sync")
    ask("done")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
