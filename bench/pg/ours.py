"""Ours: `PostgresJournal` as it comes."""

from __future__ import annotations

from typing import Any

import lawful
from bench.peers._names import OURS
from bench.pg import work
from lawful import START, StateGraph
from lawful.stores.postgres import PostgresJournal, setup

NAME = OURS


def version() -> str:
    """Of this checkout."""
    return lawful.__version__


class Contestant:
    """A schema of its own."""

    NAME = NAME

    def version(self) -> str:
        return version()

    def stored(self, kind: str, steps: int) -> Any:
        """A function that runs ``steps`` steps on the thread it is given; each run is one step."""
        setup(work.url(), schema="lawful_bench")
        journal = PostgresJournal(work.url(), schema="lawful_bench")
        schema, node = (work.Kilobyte, work.rewrite) if kind == "kb" else (work.Growing, work.grow)
        builder: Any = StateGraph(schema).add_node("node", node).add_edge(START, "node")
        graph = builder.add_conditional_edges("node", lambda s: "node" if s["n"] < steps else "__end__").compile(
            checkpointer=journal
        )
        return lambda thread: graph.invoke({"n": 0}, {"configurable": {"thread_id": thread}, "recursion_limit": 9_999})


work.url()
peer = Contestant()
