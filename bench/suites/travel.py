"""The suite `travel`: what a replay and a fork cost on a thread with few and with many checkpoints, on SQLite."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from bench import shapes
from bench.aims import Aim, ahead, at_most
from bench.jobs import Output, Row, Sample, Site, Unfit
from bench.peers._names import LANGGRAPH, OURS

MODULES = {OURS: "bench.peers.ours", LANGGRAPH: "bench.peers.langgraph"}
TAIL = 10
"""Steps that a replay runs again."""


@dataclass(frozen=True)
class Sizes:
    """Checkpoints of the two threads, and how often each is branched in a round."""

    few: int = 20
    many: int = 1_000
    turns: int = 10


FULL = Sizes()
QUICK = Sizes(few=15, many=40, turns=2)
SUMMARY = ("replay/1000", "fork/1000")


class Traveller:
    """A thread of 1 KB state with so many checkpoints, that is replayed and forked at one near its end."""

    def __init__(self, peer: Any, checkpoints: int, site: Site) -> None:
        saver, close = peer.open(site.fresh())
        site.closers.append(close)
        self.count = checkpoints - 2
        self.options = peer.stored_options
        self.app = peer.face.loop(shapes.Kilobyte, shapes.kb_one, self.count).compile(checkpointer=saver)
        config = {"configurable": {"thread_id": "travel"}, "recursion_limit": checkpoints + 10}
        self.app.invoke(shapes.kilobyte(), config, **self.options)
        seen = list(self.app.get_state_history({"configurable": {"thread_id": "travel"}}))
        if len(seen) != checkpoints:
            raise Unfit(f"{len(seen)} checkpoints where {checkpoints} were meant")
        self.at = seen[TAIL].config
        self.before = seen[TAIL].values["count"]

    def replay(self) -> None:
        """Run the last steps again, on a branch."""
        found = self.app.invoke(None, self.at, **self.options)["count"]
        if found != self.count:
            raise Unfit(f"the replay came to {found}, not to {self.count}")

    def fork(self) -> None:
        """Branch off with another value."""
        made = self.app.update_state(self.at, {"f0": "forked"}, as_node="node")
        if made["configurable"]["checkpoint_id"] == self.at["configurable"]["checkpoint_id"]:
            raise Unfit("the fork has no checkpoint of its own")


def rows(s: Sizes) -> list[Row]:
    """Everything, in the order of the table."""
    return [
        _row("replay", f"replay of the last {TAIL} steps", Traveller.replay, s),
        _row("fork", "fork by update_state", Traveller.fork, s),
    ]


def _row(id: str, title: str, act: Callable[[Traveller], None], s: Sizes) -> Row:
    outputs = [Output(f"{id}/{n}", f"{title} at {n:,} checkpoints", "us") for n in (s.few, s.many)]
    outputs.append(Output(f"{id}/growth", f"{title}: at {s.many:,} over at {s.few:,}", "x"))

    def prepare(peer: Any, site: Site) -> Callable[[], Sample] | None:
        both = {n: Traveller(peer, n, site) for n in (s.few, s.many)}
        for each in both.values():
            act(each)

        def measure() -> Sample:
            gc.collect()
            spent = dict.fromkeys(both, 0.0)
            for _ in range(s.turns):
                for n, each in both.items():
                    start = perf_counter()
                    act(each)
                    spent[n] += (perf_counter() - start) / s.turns * 1e6
            sample = {f"{id}/{n}": spent[n] for n in both}
            sample[f"{id}/growth"] = spent[s.many] / spent[s.few]
            return sample

        return measure

    return Row(tuple(outputs), prepare)


def aims(s: Sizes) -> Sequence[Aim]:
    """That a branch costs what it runs, however long the history, and a replay less than the newest peer's."""
    return [at_most("replay/growth", 2, "x"), at_most("fork/growth", 2, "x"), ahead(f"replay/{s.many}", 1)]
