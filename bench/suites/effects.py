"""The suite `effects`: what an effect costs beside one forced commit, by several workers, and what recovery costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bench.aims import Aim
from bench.jobs import Output, Row, Sample, Site
from bench.peers._names import OURS, PLAIN

MODULES = {OURS: "bench.ledgers.ours", PLAIN: "bench.ledgers.plain"}


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    each: int = 300
    crowd: int = 1_000
    workers: int = 8
    operations: int = 10_000
    open: int = 500


FULL = Sizes()
QUICK = Sizes(each=30, crowd=50, operations=100, open=10)
SUMMARY = ("each", "crowd", "recovery")


def _row(id: str, title: str, unit: str, measure: Callable[[Any, Any], float | None], only: str = "") -> Row:
    def prepare(peer: Any, site: Site) -> Callable[[], Sample] | None:
        if only and only != peer.NAME:
            return None
        return lambda: {id: measure(peer, site.fresh()) or 0.0}

    return Row((Output(id, title, unit),), prepare)


def rows(s: Sizes) -> list[Row]:
    """Everything, in the order of the table."""
    return [
        _row(
            "each",
            f"{s.each} keyed effects in turn (plain: one forced insert each)",
            "us",
            lambda p, f: p.each(f, s.each),
        ),
        _row(
            "crowd",
            f"{s.crowd:,} by {s.workers} workers, each",
            "us",
            lambda p, f: p.crowd(f, s.crowd, s.workers),
            OURS,
        ),
        _row(
            "recovery",
            f"recovery of {s.operations:,} operations, {s.open} of them open",
            "ms",
            lambda p, f: p.recovering(f, s.operations, s.open),
            OURS,
        ),
    ]


def aims(s: Sizes) -> Sequence[Aim]:
    """None: the cost of an effect is told, not promised."""
    return []
