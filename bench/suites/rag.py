"""The suite `rag`: building each store of passages and asking it, beside the raw library; dense is 384 numbers, 10 hits."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bench.aims import Aim
from bench.jobs import Output, Row, Sample, Site, Unfit
from bench.peers._names import OURS

MODULES = {OURS: "bench.rag.ours", "raw library": "bench.rag.raw"}
KINDS = ("memory", "file", "sqlite-vec", "pgvector", "pgvector-hnsw", "qdrant", "fts5", "tantivy")
TENTH = ("pgvector-hnsw", "qdrant")
ASKED = 20
"""Questions in a round."""


@dataclass(frozen=True)
class Sizes:
    """How many passages.

    Qdrant's local mode, which its makers mean for some ten thousand, gets a tenth, and so does pgvector's index HNSW, whose
    building takes minutes. Both kinds of pgvector need the URL of a database in ``LAWFUL_BENCH_POSTGRES``.
    """

    passages: int = 100_000


FULL = Sizes()
QUICK = Sizes(passages=2_000)
SUMMARY = tuple(f"{kind}/ask" for kind in KINDS)


def _row(kind: str, many: int) -> Row:
    outputs = (
        Output(f"{kind}/build", f"{kind}: building {many:,} passages, a passage", "us"),
        Output(f"{kind}/ask", f"{kind}: a question among {many:,} passages", "us"),
    )

    def prepare(peer: Any, site: Site) -> Callable[[], Sample] | None:
        made = peer.store(kind, many, site.fresh())
        if made is None:
            return None
        build, ask, close = made
        site.closers.append(close)
        start = time.perf_counter()
        build()
        built = (time.perf_counter() - start) * 1e6 / many
        if ask() != 10 * ASKED:
            raise Unfit(f"{kind} does not give ten hits a question")

        def measure() -> Sample:
            # A store is built once; only the questions are asked again each round.
            begun = time.perf_counter()
            ask()
            return {f"{kind}/build": built, f"{kind}/ask": (time.perf_counter() - begun) * 1e6 / ASKED}

        return measure

    return Row(outputs, prepare)


def rows(s: Sizes) -> list[Row]:
    """Everything, in the order of the table."""
    return [_row(kind, s.passages // 10 if kind in TENTH else s.passages) for kind in KINDS]


def aims(s: Sizes) -> Sequence[Aim]:
    """None is set by the design."""
    return []
