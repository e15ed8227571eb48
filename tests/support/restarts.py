"""A program that pauses twice and is run anew for every answer: ``python restarts.py DB SINK start|TEXT [kill]``.

Its one node does an effect on the file SINK, asks two questions one after another and returns both answers. It prints what it
waits for, or the result; with ``kill`` it then ends itself by SIGKILL.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from lawful.core.questions import Reply
from lawful.effects import Lookup, effect
from lawful.graph import START, Done, Paused, StateGraph, interrupt
from lawful.journal.port import Journal
from lawful.stores.sqlite import SQLiteJournal
from support.pausing import Log


def build(sink: Path, journal: Journal) -> Any:
    """The graph over ``journal``, whose effect appends a line to ``sink``."""

    @effect("line", capability=Lookup("strong"), tool="write_line")
    def write_line(line: str) -> str:
        with sink.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
        return f"wrote {line}"

    @write_line.lookup
    def find_line(line: str) -> str | None:  # pyright: ignore[reportUnusedFunction]
        written = sink.read_text(encoding="utf-8").splitlines() if sink.exists() else []
        return f"wrote {line}" if line in written else None

    def node(state: Log) -> Log:
        receipt = write_line("effect")
        return {"log": [receipt, interrupt("first?"), interrupt("second?")]}

    builder: Any = StateGraph(Log)
    return builder.add_node("node", node).add_edge(START, "node").compile(checkpointer=journal)


def main(db: str, sink: str, what: str, *rest: str) -> None:
    graph = build(Path(sink), SQLiteJournal(db))
    if what == "start":
        result = graph.run_sync({"log": []}, thread="t")
    else:
        (question,) = graph.questions("t")
        result = graph.resume_sync("t", Reply(question.id, what))
    told: Any = {"failed": str(result)}
    if isinstance(result, Paused):
        told = {"waits": [question.value for question in result.questions]}
    elif isinstance(result, Done):
        told = {"done": graph.get_state("t").values["log"]}
    print(json.dumps(told), flush=True)
    if "kill" in rest:
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])
