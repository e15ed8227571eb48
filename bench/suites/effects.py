"""The suite `effects`: what an effect costs beside one forced commit, what recovery costs, and how often a kill pays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bench.aims import Aim, at_most
from bench.jobs import Output, Row, Sample, Site
from bench.kills.world import two_lives
from bench.peers._names import LANGGRAPH, OURS, PLAIN

MODULES = {
    OURS: "bench.ledgers.ours",
    LANGGRAPH: "bench.kills.langgraph",
    "dbos": "bench.kills.dbos",
    "pydantic-ai": "bench.kills.pydantic_ai",
    PLAIN: "bench.ledgers.plain",
}


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    each: int = 300
    crowd: int = 1_000
    workers: int = 8
    operations: int = 10_000
    open: int = 500
    steps: int = 100


FULL = Sizes()
QUICK = Sizes(each=30, crowd=50, operations=100, open=10)
SUMMARY = ("each", "crowd", "recovery")


def _row(id: str, title: str, unit: str, name: str, measure: Callable[[Any, Any], float]) -> Row:
    """Contestants that have no function ``name`` have no such thing."""

    def prepare(peer: Any, site: Site) -> Callable[[], Sample] | None:
        if not hasattr(peer, name):
            return None
        return lambda: {id: measure(peer, site.fresh())}

    return Row((Output(id, title, unit),), prepare)


def _kill() -> Row:
    """Two processes each time: one that dies, one that goes on."""

    def prepare(peer: Any, site: Site) -> Callable[[], Sample] | None:
        def measure() -> Sample:
            paid, asked = two_lives(peer.KILL, site.fresh())
            told: Sample = {"kill/effects": paid, "kill/asked": float(asked)}
            if peer.NAME == OURS:
                paid, asked = two_lives(peer.KILL, site.fresh(), "opaque")
                told |= {"kill/opaque": paid, "kill/opaque-asked": float(asked)}
            return told

        return measure

    outputs = (
        Output("kill/effects", "killed after the effect, gone on with: effects", "n"),
        Output("kill/asked", "the same: questions to a person", "n"),
        Output("kill/opaque", "the same where nothing can be looked up: effects", "n"),
        Output("kill/opaque-asked", "the same: questions to a person", "n"),
    )
    return Row(outputs, prepare)


def rows(s: Sizes) -> list[Row]:
    """Everything, in the order of the table."""
    each = f"{s.each} keyed effects in turn (plain: one forced insert each)"
    crowd = f"{s.crowd:,} by {s.workers} workers, each"
    recovery = f"recovery of {s.operations:,} operations, {s.open} of them open"
    none = f"a run of {s.steps} steps without effects: their rows and transactions"
    return [
        _row("each", each, "us", "each", lambda p, f: p.each(f, s.each)),
        _row("commits", "forced commits, a keyed effect", "n", "commits", lambda p, f: p.commits(f, s.each)),
        _row("none", none, "n", "without", lambda p, f: p.without(f, s.steps)),
        _row("crowd", crowd, "us", "crowd", lambda p, f: p.crowd(f, s.crowd, s.workers)),
        _row("recovery", recovery, "ms", "recovering", lambda p, f: p.recovering(f, s.operations, s.open)),
        _kill(),
    ]


def aims(s: Sizes) -> Sequence[Aim]:
    """What is promised; the time of an effect is told, not promised."""
    return [at_most("commits", 2), at_most("none", 0), at_most("kill/effects", 1), at_most("kill/opaque", 1)]
