"""Case A04: a conversation of 200 turns and 0.4 MB of text takes at most five times its text on disk, growing linearly."""

from __future__ import annotations

import random
import string
from pathlib import Path
from typing import Any

import pytest

from lawful.graph import START, StateGraph
from lawful.journal.port import Journal
from lawful.stores.sqlite import SQLiteJournal
from support.graphs import on
from support.pausing import Log

pytestmark = pytest.mark.integration

MB = 1_000_000


def text(seed: int) -> str:
    """A thousand characters that no compression shortens much."""
    return "".join(random.Random(seed).choices(string.ascii_letters + string.digits + " ", k=1000))


def build(journal: Journal) -> Any:
    def reply(state: Log) -> Log:
        return {"log": [text(-len(state.get("log", [])))]}

    builder: Any = StateGraph(Log)
    return builder.add_node("reply", reply).add_edge(START, "reply").compile(checkpointer=journal)


def talk(path: Path, first: int, last: int) -> int:
    """Turns ``first`` to ``last`` in one opening of the store, closed cleanly; the file's size then."""
    journal = SQLiteJournal(str(path))
    graph = build(journal)
    for turn in range(first, last):
        graph.invoke({"log": [text(turn)]}, on("t"))
    journal.close()
    assert not path.with_name(path.name + "-wal").exists() or path.with_name(path.name + "-wal").stat().st_size == 0
    return path.stat().st_size


def test_growth_is_linear_and_small_and_retention_shrinks_it(tmp_path: Path) -> None:
    """At most 2 MB for 200 turns; twice the turns at most 2.4 times the file; pruned, the thread still goes on.

    Cases: A04. Rows: S1-K09, S1-072
    """
    path = tmp_path / "journal.db"
    size = {}
    done = 0
    for turns in (100, 150, 200, 300):
        size[turns] = talk(path, done, turns)
        done = turns
    assert size[200] <= 2 * MB
    assert size[200] / size[100] <= 2.4
    assert size[300] / size[150] <= 2.4

    journal = SQLiteJournal(str(path))
    graph = build(journal)
    before = graph.get_state(on("t")).values
    entries = len(journal.history("t"))
    dropped = journal.prune("t", keep_last=1, keep_every=50)
    assert dropped > 0
    assert len(journal.history("t")) == entries - dropped
    assert all(row.step % 50 == 0 for row in journal.history("t")[1:])
    assert graph.get_state(on("t")).values == before
    result = graph.invoke({"log": ["one more"]}, on("t"))
    assert result["log"][:-2] == before["log"]
    assert result["log"][-2] == "one more"
    journal.close()
    assert path.stat().st_size < size[300]
