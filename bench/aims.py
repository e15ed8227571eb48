"""What a suite must reach, as data, and whether a run did."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bench.peers._names import LANGGRAPH, OURS

Medians = Mapping[str, Mapping[str, float]]
"""Output id -> contestant -> median."""


@dataclass(frozen=True)
class Aim:
    """One aim on one line of the table."""

    row: str
    text: str
    value: Callable[[Medians], float | None]
    """What the run gave; None where something it needs was not measured."""
    met: Callable[[float], bool]


@dataclass(frozen=True)
class Verdict:
    """An aim beside what the run gave."""

    row: str
    text: str
    value: float | None
    met: bool | None
    """None: not measured."""


def ahead(row: str, times: float, peer: str = LANGGRAPH) -> Aim:
    """Ours takes at most a ``times``-th of what the peer takes."""

    def value(medians: Medians) -> float | None:
        found = medians.get(row, {})
        if OURS not in found or peer not in found:
            return None
        return found[peer] / found[OURS]

    return Aim(row, f">= {times:g}x {peer}", value, lambda x: x >= times)


def at_most(row: str, limit: float, unit: str = "") -> Aim:
    """Ours is at most ``limit``."""
    return Aim(
        row, f"<= {limit:,g} {unit}".rstrip(), lambda medians: medians.get(row, {}).get(OURS), lambda x: x <= limit
    )


def share(row: str, part: float, peer: str = LANGGRAPH) -> Aim:
    """Ours is at most the ``part`` of the peer's."""

    def value(medians: Medians) -> float | None:
        found = medians.get(row, {})
        if OURS not in found or peer not in found:
            return None
        return found[OURS] / found[peer]

    return Aim(row, f"<= {part:.2f} of {peer}", value, lambda x: x <= part)


def judge(aims: Sequence[Aim], medians: Medians) -> list[Verdict]:
    """Every aim whose line was asked for, beside what was found."""
    verdicts: list[Verdict] = []
    for aim in aims:
        if aim.row not in medians:
            continue
        value = aim.value(medians)
        verdicts.append(Verdict(aim.row, aim.text, value, None if value is None else aim.met(value)))
    return verdicts
