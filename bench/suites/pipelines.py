"""The suite `pipelines`: what a step costs with and without a listener, whether branches overlap, what optimising gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bench import timing
from bench.aims import Aim, Medians, at_most
from bench.jobs import Job, Output, Row, Sample, Site
from bench.peers._names import OURS, PLAIN, PYDANTIC_GRAPH

MODULES = {
    OURS: "bench.pipes.ours",
    "langchain": "bench.pipes.langchain",
    PYDANTIC_GRAPH: "bench.pipes.pydantic_graph",
    PLAIN: "bench.pipes.plain",
}


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    chain: int = 1_000
    lambdas: int = 200
    branches: int = 100
    pause: float = 0.1
    agents: int = 4
    thinking: float = 1.2


FULL = Sizes()
QUICK = Sizes(chain=50, lambdas=20, branches=10, pause=0.02, thinking=0.1)
SUMMARY = ("chain", "told", "fanout", "debate")


def _row(id: str, title: str, unit: str, make: Callable[[Any], Job | None], scale: Callable[[float], float]) -> Row:
    """``scale`` makes of microseconds a unit what the line shows."""

    def prepare(peer: Any, site: Site) -> Callable[[], Sample] | None:
        job = make(peer)
        if job is None:
            return None
        loops = 1 if unit == "x" else timing.warmed(job)
        if unit == "x":
            timing.once(job)
        return lambda: {id: scale(timing.per_unit(job, loops))}

    return Row((Output(id, title, unit),), prepare)


def rows(s: Sizes) -> list[Row]:
    """Everything, in the order of the table."""

    def times(units: int, pause: float) -> Callable[[float], float]:
        return lambda us: us * units / 1e6 / pause

    return [
        _row("chain", f"chain of {s.chain:,} async steps, a step", "us", lambda p: p.chain(s.chain), float),
        _row("told", "the same with every event taken, a step", "us", lambda p: p.told(s.chain), float),
        _row("pure", f"chain of {s.lambdas} functions, a function", "us", lambda p: p.pure_chain(s.lambdas), float),
        _row("fused", "the same after optimising", "us", lambda p: p.fused(s.lambdas), float),
        _row("optimise", f"optimising {s.lambdas} functions", "us", lambda p: p.optimising(s.lambdas), float),
        _row(
            "fanout",
            f"{s.branches} branches that sleep {s.pause * 1000:.0f} ms, times one sleep",
            "x",
            lambda p: p.fanout(s.branches, s.pause),
            times(s.branches, s.pause),
        ),
        _row(
            "debate",
            f"debate of {s.agents} agents of {s.thinking:g} s, times the slowest",
            "x",
            lambda p: p.debate(s.agents, s.thinking),
            times(s.agents, s.thinking),
        ),
    ]


def over(row: str, limit: float, other: str = "chain") -> Aim:
    """Ours in ``row`` is at most ``limit`` microseconds above the hand-written ``other``."""

    def value(medians: Medians) -> float | None:
        ours, plain = medians.get(row, {}).get(OURS), medians.get(other, {}).get(PLAIN)
        return None if ours is None or plain is None else ours - plain

    return Aim(row, f"<= {limit:g} us over plain", value, lambda x: x <= limit)


def aims(s: Sizes) -> Sequence[Aim]:
    """What the design sets."""
    return [over("chain", 5), over("told", 15), at_most("fanout", 1.1, "x"), at_most("debate", 1.03, "x")]
