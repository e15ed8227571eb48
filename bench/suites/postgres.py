"""The suite `postgres`: bytes of write-ahead log a step; needs the URL of a database in ``LAWFUL_BENCH_POSTGRES``."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bench.aims import Aim, ahead
from bench.jobs import Output, Row, Sample, Site
from bench.peers._names import LANGGRAPH, OURS
from bench.pg import work

MODULES = {OURS: "bench.pg.ours", LANGGRAPH: "bench.pg.langgraph"}


@dataclass(frozen=True)
class Sizes:
    """Steps of the 1 KB state; lines of 10 KB in the list."""

    steps: int = 50
    lines: int = 100


FULL = Sizes()
QUICK = Sizes(steps=10, lines=20)
SUMMARY = ("wal/kb", "wal/list")


def _position(con: Any) -> int:
    row = con.execute("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint").fetchone()
    return int(row[0])


def _row(id: str, title: str, kind: str, steps: int) -> Row:
    """The log is the server's own: nothing else may write to it meanwhile."""

    def prepare(peer: Any, site: Site) -> Callable[[], Sample] | None:
        import psycopg

        run = peer.stored(kind, steps)
        run(f"warm-{os.urandom(4).hex()}")
        con = psycopg.connect(work.url(), autocommit=True)
        site.closers.append(con.close)

        def measure() -> Sample:
            con.execute("CHECKPOINT")
            before = _position(con)
            run(f"{id}-{os.urandom(6).hex()}")
            return {id: (_position(con) - before) / steps}

        return measure

    return Row((Output(id, title, "B"),), prepare)


def rows(s: Sizes) -> list[Row]:
    """Everything, in the order of the table."""
    return [
        _row("wal/kb", f"write-ahead log of a step that rewrites 1 KB ({s.steps} steps)", "kb", s.steps),
        _row("wal/list", f"write-ahead log of a step of a list that grows to {s.lines * 10} KB", "list", s.lines),
    ]


def aims(s: Sizes) -> Sequence[Aim]:
    """What the design sets."""
    return [ahead("wal/list", 20)] if s is FULL else []
