"""Every step of a thread can be looked at, newest first, and old ones can be dropped by rule."""

from __future__ import annotations

from typing import TypedDict

from lawful import START, SQLiteJournal, StateGraph


class Count(TypedDict, total=False):
    n: int


def one(count: Count) -> Count:
    return {"n": count.get("n", 0) + 1}


def two(count: Count) -> Count:
    return {"n": count.get("n", 0) + 1}


journal = SQLiteJournal("counts.db")
graph = StateGraph(Count).add_sequence([one, two]).add_edge(START, "one").compile(checkpointer=journal)
graph.invoke({"n": 0}, thread="c")
for snapshot in graph.get_state_history("c"):
    print(snapshot.metadata["step"] if snapshot.metadata else None, snapshot.values, snapshot.next)

print(journal.prune("c", keep_last=1), "dropped,", graph.get_state("c").values, "kept")

# prints: 2 {'n': 2} ()
# prints: 1 {'n': 1} ('two',)
# prints: 0 {'n': 0} ('one',)
# prints: -1 {} ('__start__',)
# prints: 3 dropped, {'n': 2} kept
