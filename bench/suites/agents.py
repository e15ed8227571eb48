"""The suite `agents`: what a tool call's turn costs in an agent's loop with a model that answers at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bench import timing
from bench.aims import Aim, Medians, ahead
from bench.jobs import Job, Output, Row, Sample, Site
from bench.peers._names import OURS, PLAIN

LANGCHAIN = "langchain"
MODULES = {
    OURS: "bench.agents.ours",
    LANGCHAIN: "bench.agents.langchain",
    "pydantic-ai": "bench.agents.pydantic_ai",
    PLAIN: "bench.agents.plain",
}


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    short: int = 100
    middle: int = 300
    long: int = 1_000
    agents: int = 1_000
    each: int = 3


FULL = Sizes()
QUICK = Sizes(short=10, middle=20, long=30, agents=20)
SUMMARY = ("short", "long", "concurrent")


def _row(id: str, title: str, make: Callable[[Any], Job]) -> Row:
    def prepare(peer: Any, site: Site) -> Callable[[], Sample] | None:
        job = make(peer)
        timing.once(job)
        return lambda: {id: timing.per_unit(job, 1)}

    return Row((Output(id, title, "us"),), prepare)


def rows(s: Sizes) -> list[Row]:
    """Everything, in the order of the table."""
    return [
        _row("short", f"a turn of {s.short:,} tool calls, a call", lambda p: p.loop(s.short)),
        _row("middle", f"a turn of {s.middle:,}, a call", lambda p: p.loop(s.middle)),
        _row("long", f"a turn of {s.long:,}, a call", lambda p: p.loop(s.long)),
        _row(
            "concurrent",
            f"{s.agents:,} turns at once, {s.each} calls each, a call",
            lambda p: p.concurrent(s.agents, s.each),
        ),
    ]


def flat(row: str, other: str, most: float) -> Aim:
    """A call in ``row`` costs at most ``most`` times what it costs in ``other``."""

    def value(medians: Medians) -> float | None:
        one, two = medians.get(row, {}).get(OURS), medians.get(other, {}).get(OURS)
        return None if one is None or two is None else one / two

    return Aim(row, f"<= {most:g}x {other}", value, lambda x: x <= most)


def aims(s: Sizes) -> Sequence[Aim]:
    """What the design sets."""
    return [*(ahead(row, 10, LANGCHAIN) for row in ("short", "middle", "long")), flat("long", "short", 1.25)]
