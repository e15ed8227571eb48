"""What runs over `PostgresJournal` in processes of its own: the graph of twelve steps that gets killed, and a crowd of runs.

As a script: ``pg_programs.py URL SCHEMA PROCESS THREADS ROUNDS`` runs the crowd and prints how many runs it made.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
import traceback
from typing import Annotated, Any, TypedDict

import msgspec

from lawful.core.clock import SystemClock
from lawful.graph import START, StateGraph
from lawful.stores.postgres import PostgresJournal
from lawful.testing.crash import Life, Point, Write, die_at, history_of, run_to_end, watch_writes
from support import crash_modes
from support.crash_programs import Nodes, hear, twelve
from support.graphs import concat, total
from support.pg_torn import die_inside

SHARED = 10
"""Threads that every process and every one of its threads of execution runs on."""


class Later(SystemClock):
    """The machine's clock, some minutes on: the leases of whoever died before are over."""

    def __init__(self, minutes: float) -> None:
        self._ahead = minutes * 60

    def now(self) -> float:
        return time.time() + self._ahead


def end_at(journal: PostgresJournal, point: Point, server: int) -> None:
    """Let the server be ended at once at this process's write ``point``, and go on when it is gone."""

    def hook(write: Write) -> None:
        if (write.number, write.place) != (point.write, point.place):
            return
        os.kill(server, signal.SIGQUIT)
        with contextlib.suppress(ProcessLookupError):
            while True:
                os.kill(server, 0)
                time.sleep(0.002)

    watch_writes(journal, hook)


def on_postgres(life: Life) -> Any:
    """The graph of twelve steps over PostgreSQL; ``told`` says where, how it is driven, and when it dies."""
    # Where the server itself dies, only what waits for its disk is sure to stand.
    safe = "server" in life.told
    journal = PostgresJournal(life.told["url"], schema=life.told["schema"], clock=Later(life.number), power_safe=safe)
    if life.told.get("point"):
        die_at(journal, Point(*life.told["point"]))
    if life.told.get("inside"):
        die_inside(journal, life.folder, life.told["url"], life.told["schema"], *life.told["inside"])
    if life.told.get("server"):
        end_at(journal, Point(*life.told["at"]), life.told["server"])
    own = msgspec.structs.replace(life, journal=journal)
    hear(own)
    driver = life.told["driver"]
    graph = twelve(Nodes(own, driver == "async"))
    state = run_to_end(graph, {"trail": ["in"]}, answer=lambda q: f"yes to {q.value}", driver=driver)
    sink = (life.folder / "sink").read_text().splitlines()
    told = {"state": state, "history": history_of(graph), "sink": sink}
    journal.close()
    return told


def mode_on_postgres(life: Life) -> Any:
    """A program of support.crash_modes over PostgreSQL; ``told`` says which, where, and when it dies."""
    journal = PostgresJournal(life.told["url"], schema=life.told["schema"], clock=Later(life.number))
    if life.told.get("point"):
        die_at(journal, Point(*life.told["point"]))
    own = msgspec.structs.replace(life, journal=journal)
    told = getattr(crash_modes, life.told["program"])(own)
    journal.close()
    return told


class Count(TypedDict, total=False):
    n: Annotated[int, total]
    seen: Annotated[list[str], concat]


def counting(journal: PostgresJournal) -> Any:
    """Two steps: one counts, one tells who was here."""

    def count(state: Count) -> Count:
        return {"n": 1}

    def tell(state: Count) -> Count:
        return {"seen": [f"{state.get('n', 0)}"]}

    graph = StateGraph(Count).add_node("count", count).add_node("tell", tell)
    return graph.add_edge(START, "count").add_edge("count", "tell").compile(checkpointer=journal)


def crowd(url: str, schema: str, process: int, threads: int, rounds: int) -> int:
    """``threads`` threads that each make ``rounds`` runs on a thread of their own and on one that all share."""
    journal = PostgresJournal(url, schema=schema, busy_timeout=60)
    graph = counting(journal)
    made: list[int] = []
    failed: list[str] = []

    def work(n: int) -> None:
        try:
            for k in range(rounds):
                for thread in (f"own-{process}-{n}", f"shared-{(n + k) % SHARED}"):
                    graph.invoke({"seen": []}, thread=thread, busy_timeout=300)
                    made.append(1)
        except BaseException:
            failed.append(traceback.format_exc())
            raise

    workers = [threading.Thread(target=work, args=(n,)) for n in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    journal.close()
    if failed:
        sys.exit(failed[0])
    return len(made)


if __name__ == "__main__":
    at, name, *numbers = sys.argv[1:]
    print(crowd(at, name, *map(int, numbers)))
