"""Effects through the ledger, on one SQLite file."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from pathlib import Path
from time import perf_counter
from typing import Any, TypedDict

from bench.jobs import Unfit
from lawful import END, START, StateGraph, __version__
from lawful.effects import Ledger, Succeeded, recover_sync
from lawful.stores.sqlite import SQLiteJournal
from lawful.testing.provider import FakeCommand, FakeProvider

NAME = "lawful"
KILL = "bench.kills.ours"


def version() -> str:
    return __version__


def each(path: Path, count: int) -> float:
    """Microseconds an effect, one after the other: planned and claimed in one commit, settled in another."""
    journal, pay = SQLiteJournal(path), FakeProvider(keyed=3600.0).effect("pay")
    ledger = Ledger(journal)
    began = perf_counter()
    for n in range(count):
        if not isinstance(ledger.execute_sync(pay.plan(FakeCommand(f"{n}"))), Succeeded):
            raise Unfit("an effect did not happen")
    took = perf_counter() - began
    journal.close()
    return took / count * 1e6


def commits(path: Path, count: int) -> float:
    """Commits that are forced to the disk, an effect."""
    journal, pay = SQLiteJournal(path), FakeProvider(keyed=3600.0).effect("pay")
    counted = _counting(journal)
    ledger = Ledger(journal)
    for n in range(count):
        ledger.execute_sync(pay.plan(FakeCommand(f"{n}")))
    journal.close()
    return len(counted) / count


def _counting(journal: SQLiteJournal) -> list[str]:
    """Grows with every transaction that effects make in ``journal``."""
    counted: list[str] = []
    inner: Any = journal.transact

    def transact(work: Any, **more: Any) -> Any:
        counted.append("transact")
        return inner(work, **more)

    journal.transact = transact
    return counted


def without(path: Path, steps: int) -> float:
    """Rows and transactions of effects in a run of ``steps`` steps that has none."""
    journal = SQLiteJournal(path)
    counted = _counting(journal)

    class State(TypedDict):
        n: int

    def node(state: State) -> State:
        return {"n": state["n"] + 1}

    builder = StateGraph(State).add_node("node", node).add_edge(START, "node")
    builder.add_conditional_edges(
        "node", lambda state: "node" if state["n"] < steps else END, {"node": "node", END: END}
    )
    graph = builder.compile(checkpointer=journal)
    if graph.invoke({"n": 0}, {"configurable": {"thread_id": "t"}, "recursion_limit": steps + 5})["n"] != steps:
        raise Unfit("the run did something else")
    journal.close()
    con = sqlite3.connect(path)
    rows = sum(con.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in ("operation", "event", "mark"))
    con.close()
    return float(rows + len(counted))


def crowd(path: Path, count: int, workers: int) -> float:
    """Microseconds an effect, by so many threads at once."""
    journal, provider = SQLiteJournal(path), FakeProvider(keyed=3600.0)
    pay, ledger = provider.effect("pay"), Ledger(journal)

    def work(worker: int) -> None:
        for n in range(worker, count, workers):
            ledger.execute_sync(pay.plan(FakeCommand(f"{n}")))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(workers)]
    began = perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = perf_counter() - began
    journal.close()
    if sum(provider.applied.values()) != count:
        raise Unfit("not every effect happened once")
    return took / count * 1e6


_built: dict[tuple[int, int], tuple[Path, FakeProvider]] = {}


def recovering(path: Path, count: int, open_: int) -> float:
    """Milliseconds to recover a journal of ``count`` operations of which ``open_`` have no known outcome.

    The journal is made once, and copied for each round.
    """
    if (count, open_) not in _built:
        _built[count, open_] = _with_open(path, count, open_)
        path = path.with_suffix(".first.db")
    made, provider = _built[count, open_]
    shutil.copy(made, path)
    journal = SQLiteJournal(path)
    began = perf_counter()
    report = recover_sync(journal, [provider.effect("pay")])
    took = perf_counter() - began
    journal.close()
    if len(report.settled) != open_ or report.left:
        raise Unfit(f"{len(report.settled)} of {open_} were settled")
    return took * 1e3


def _with_open(path: Path, count: int, open_: int) -> tuple[Path, FakeProvider]:
    """A journal file, and the provider that knows what became of its operations."""
    provider = FakeProvider(lookup="strong")
    pay = provider.effect("pay")
    journal = SQLiteJournal(path)
    ledger = Ledger(journal)
    for n in range(count):
        if n == count - open_:
            provider.lookup, provider.lose_reply = None, -1  # from here on replies are lost and nothing can be asked
        ledger.execute_sync(pay.plan(FakeCommand(f"{n}")))
    provider.lookup, provider.lose_reply = "strong", 0
    journal.close()
    return path, provider
