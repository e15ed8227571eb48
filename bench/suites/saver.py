"""The suite `saver`: one LangGraph conversation, on its own saver and on a journal of ours; the file and the time."""

from __future__ import annotations

import gc
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from bench.aims import Aim, at_most, share
from bench.jobs import Output, Row, Sample, Site
from bench.peers._names import LANGGRAPH, OURS

MODULES = {OURS: "bench.peers.saver_ours", LANGGRAPH: "bench.peers.saver_langgraph"}


@dataclass(frozen=True)
class Sizes:
    """Turns of the conversation: a message each way."""

    turns: int = 200


FULL = Sizes()
QUICK = Sizes(turns=15)
SUMMARY = ("saver/bytes", "saver/turn")


def size_of(folder: Path) -> int:
    """Bytes of the database, its log worked in."""
    for path in folder.glob("*.db"):
        with sqlite3.connect(path) as con:
            con.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return sum(path.stat().st_size for path in folder.iterdir())


def rows(s: Sizes) -> list[Row]:
    """Everything, in the order of the table."""
    outputs = (
        Output("saver/bytes", f"{s.turns} turns of 1 KB each way under LangGraph: file", "B"),
        Output("saver/turn", f"{s.turns} turns of 1 KB each way under LangGraph: each turn", "us"),
    )

    def prepare(peer: Any, site: Site) -> Callable[[], Sample]:
        def measure() -> Sample:
            folder = site.fresh().parent / f"saver-{perf_counter()}"
            folder.mkdir()
            saver, close = peer.open(folder / "talk.db")
            gc.collect()
            start = perf_counter()
            peer.talk(saver, s.turns)
            spent = (perf_counter() - start) / s.turns * 1e6
            close()
            return {"saver/bytes": size_of(folder), "saver/turn": spent}

        return measure

    return [Row(outputs, prepare)]


def aims(s: Sizes) -> Sequence[Aim]:
    """At most 8 MB for 200 turns, and a small part of what LangGraph's own saver makes of them."""
    return [at_most("saver/bytes", 8_000_000, "B"), share("saver/bytes", 0.06)]
