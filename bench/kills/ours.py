"""The kill in our own form: an effect in a node, with a look-up or (third word "opaque") without."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TypedDict

from bench.kills.world import ORDER, ask, pay, payments
from lawful import START, Done, Lookup, SQLiteJournal, StateGraph, effect
from lawful.effects import Opaque


class State(TypedDict, total=False):
    receipt: str


def main(folder: str, life: int, kind: str = "lookup") -> None:
    """Run the graph, or go on with it."""

    @effect("order", capability=Lookup("strong") if kind == "lookup" else Opaque())
    def payment(order: str) -> str:
        return pay(folder, life)

    if kind == "lookup":

        @payment.lookup
        def find(order: str) -> str | None:
            return f"paid {order}" if payments(folder) else None

    def node(state: State) -> State:
        return {"receipt": payment(ORDER)}

    journal = SQLiteJournal(Path(folder) / "journal.db")
    graph = StateGraph(State).add_node("node", node).add_edge(START, "node").compile(checkpointer=journal)
    ended = graph.run_sync({} if life == 1 else None, thread="t")
    ask("done" if isinstance(ended, Done) else "asked")
    journal.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
