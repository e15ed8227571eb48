"""A program that sends messages to one thread: ``python five.py DB NAME COUNT POLICY``; prints one word per message."""

from __future__ import annotations

import sys
import time
from typing import Any

from lawful.core.errors import ThreadBusy
from lawful.graph import START, StateGraph
from lawful.stores.sqlite import SQLiteJournal
from support.pausing import Log


def answer(state: Log) -> Log:
    """Takes a moment, so that the others come meanwhile."""
    time.sleep(0.02)
    return {"log": [f"answer to {state.get('log', [])[-1]}"]}


def build(journal: Any) -> Any:
    builder: Any = StateGraph(Log)
    return builder.add_node("answer", answer).add_edge(START, "answer").compile(checkpointer=journal)


def main(db: str, name: str, count: str, policy: str) -> None:
    graph = build(SQLiteJournal(db))
    for number in range(int(count)):
        try:
            graph.invoke({"log": [f"{name}{number}"]}, thread="t", busy=policy)
        except ThreadBusy:
            print("busy", flush=True)
        else:
            print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
