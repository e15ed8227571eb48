"""A fresh process: a 3-node graph on SQLite, run to its first result; prints that and the resident memory then, in KB.

Run as a script with the contestant's name and a path, so that nothing is imported but what the contestant needs.
"""

from __future__ import annotations

import os
import sys
from typing import Any, TypedDict


class State(TypedDict):
    """What the three nodes carry."""

    count: int
    topic: str


def bump(state: Any) -> dict[str, Any]:
    """One step."""
    return {"count": state["count"] + 1}


def line(graph: Any, start: str, end: str) -> Any:
    """Three nodes one after another, the same for both libraries."""
    for name in "abc":
        graph.add_node(name, bump)
    graph.add_edge(start, "a").add_edge("a", "b").add_edge("b", "c").add_edge("c", end)
    return graph


WHERE = {"configurable": {"thread_id": "cold"}}


def lawful(path: str) -> int:
    """Strict, with `SQLiteJournal`."""
    from lawful.graph import END, START, StateGraph
    from lawful.stores.sqlite import SQLiteJournal

    app = line(StateGraph(State), START, END).compile(checkpointer=SQLiteJournal(path))
    return app.invoke({"count": 0, "topic": "cold"}, WHERE)["count"]


def langgraph(path: str) -> int:
    """With `SqliteSaver` and durability "sync"."""
    import sqlite3

    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.graph import END, START, StateGraph

    link = sqlite3.connect(path, check_same_thread=False)
    saver = SqliteSaver(link)
    saver.setup()
    link.execute("PRAGMA synchronous=NORMAL")
    app = line(StateGraph(State), START, END).compile(checkpointer=saver)
    return app.invoke({"count": 0, "topic": "cold"}, WHERE, durability="sync")["count"]


def burr(path: str) -> int:
    """With `SQLitePersister`."""
    import sqlite3

    from burr.core import ApplicationBuilder, action
    from burr.core.persistence import SQLitePersister

    link = sqlite3.connect(path)
    link.execute("PRAGMA journal_mode=WAL")
    link.execute("PRAGMA synchronous=NORMAL")
    store = SQLitePersister(path, connection=link)
    store.initialize()
    step = action(reads=["count"], writes=["count"])(lambda state: state.update(count=state["count"] + 1))
    app = (
        ApplicationBuilder()
        .with_actions(a=step, b=step, c=step)
        .with_transitions(("a", "b"), ("b", "c"))
        .with_entrypoint("a")
        .with_state(count=0, topic="cold")
        .with_state_persister(store)
        .build()
    )
    return app.run(halt_after=["c"])[2]["count"]


def plain(path: str) -> int:
    """Three calls and three rows."""
    import json
    import sqlite3

    link = sqlite3.connect(path, isolation_level=None)
    link.execute("PRAGMA journal_mode=WAL")
    link.execute("PRAGMA synchronous=NORMAL")
    link.execute("CREATE TABLE step(thread TEXT, n INTEGER, body TEXT, PRIMARY KEY(thread, n))")
    state = {"count": 0, "topic": "cold"}
    for n in range(3):
        state.update(bump(state))
        link.execute("INSERT INTO step VALUES('cold', ?, ?)", (n, json.dumps(state)))
    return state["count"]


def resident() -> int:
    """This process's resident memory in KB."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
    except OSError:
        import psutil

        return psutil.Process().memory_info().rss // 1024


if __name__ == "__main__":
    found = {"lawful": lawful, "langgraph": langgraph, "burr": burr, "plain": plain}[sys.argv[1]](sys.argv[2])
    sys.stdout.write(f"{found} {resident()}\n")
    sys.stdout.flush()
    sys.stdin.read()  # the parent stops the clock at the line above; what ending costs is not asked
