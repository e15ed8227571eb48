"""LangGraph with its own saver for PostgreSQL, over a pool of connections, as its documentation has it."""

from __future__ import annotations

from importlib.metadata import version as installed
from typing import Any

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import START, StateGraph
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool

from bench.pg import work

NAME = "langgraph"


class Contestant:
    """Tables in the schema ``public``."""

    NAME = NAME

    def version(self) -> str:
        return f"{installed('langgraph')}, saver {installed('langgraph-checkpoint-postgres')}"

    def stored(self, kind: str, steps: int) -> Any:
        """As ours."""
        options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
        pool: Any = ConnectionPool(work.url(), max_size=4, kwargs=options, open=True)
        saver = PostgresSaver(pool)
        saver.setup()
        schema, node = (work.Kilobyte, work.rewrite) if kind == "kb" else (work.Growing, work.grow)
        builder: Any = StateGraph(schema).add_node("node", node).add_edge(START, "node")
        graph = builder.add_conditional_edges("node", lambda s: "node" if s["n"] < steps else "__end__").compile(
            checkpointer=saver
        )
        return lambda thread: graph.invoke({"n": 0}, {"configurable": {"thread_id": thread}, "recursion_limit": 9_999})


work.url()
peer = Contestant()
