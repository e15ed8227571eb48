"""The suite `streams`: what a chunk costs, what a stalled reader keeps alive, and what a message more costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench import timing
from bench.aims import Aim, ahead, at_most
from bench.jobs import Job, Mode, Output, Peer, Row, Sample, Site

DRIVER = {"sync": "sync", "async": "async"}
MODES: tuple[Mode, ...] = ("sync", "async")


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    chunks: int = 10_000
    stalled: tuple[int, int] = (1_000, 10_000)
    messages: tuple[int, ...] = (100, 300, 1_000)


FULL = Sizes()
QUICK = Sizes(chunks=500, stalled=(200, 400), messages=(30, 100))


def _has(peer: Peer, name: str) -> Any:
    """The contestant's function of that name, if it has one."""
    return getattr(peer, name, None)


def _timed(id: str, title: str, make: Callable[[Any], Job]) -> Row:
    def prepare(peer: Peer, site: Site) -> Callable[[], Sample] | None:
        if _has(peer, "chunks") is None:
            return None
        job = make(peer)
        loops = timing.warmed(job)
        return lambda: {id: timing.per_unit(job, loops)}

    return Row((Output(id, title, "us"),), prepare)


def _stalled(sizes: tuple[int, int], mode: Mode) -> Row:
    few, many = sizes
    peak, growth = f"stalled/{many}/{mode}", f"stalled/growth/{mode}"

    def prepare(peer: Peer, site: Site) -> Callable[[], Sample] | None:
        if _has(peer, "stalled") is None:
            return None
        small, large = _has(peer, "stalled")(few, mode), _has(peer, "stalled")(many, mode)
        small()

        def measure() -> Sample:
            at_few, at_many = small(), large()
            return {peak: at_many, growth: at_many / at_few}

        return measure

    title = f"a reader that stalls over {many:,} chunks of 1 KB, peak ({DRIVER[mode]})"
    over = f"the same: peak at {many:,} over peak at {few:,} ({DRIVER[mode]})"
    return Row((Output(peak, title, "KB"), Output(growth, over, "x")), prepare)


def _growth(few: int, many: int) -> Row:
    id = "messages/growth"

    def prepare(peer: Peer, site: Site) -> Callable[[], Sample] | None:
        if _has(peer, "conversation") is None:
            return None
        small, large = _has(peer, "conversation")(few), _has(peer, "conversation")(many)
        loops = timing.warmed(small)
        timing.warmed(large)
        return lambda: {id: timing.per_unit(large, 1) / timing.per_unit(small, loops)}

    return Row((Output(id, f"a conversation: a step at {many:,} over one at {few:,}", "x"),), prepare)


def rows(s: Sizes) -> list[Row]:
    """Everything, in the order of the table."""
    found = [
        _timed(f"chunks/{mode}", f"{s.chunks:,} custom chunks, a chunk ({DRIVER[mode]})", _chunks(s.chunks, mode))
        for mode in MODES
    ]
    found += [_stalled(s.stalled, mode) for mode in MODES]
    for size in s.messages:
        found.append(_timed(f"messages/{size}", f"a conversation of {size:,}, a message", _conversation(size)))
    found.append(_growth(s.messages[0], s.messages[-1]))
    return found


def _chunks(count: int, mode: Mode) -> Callable[[Any], Job]:
    return lambda peer: peer.chunks(count, mode)


def _conversation(size: int) -> Callable[[Any], Job]:
    return lambda peer: peer.conversation(size)


def aims(s: Sizes) -> list[Aim]:
    """What is aimed at."""
    found = [ahead(f"chunks/{mode}", 3) for mode in MODES]
    found += [at_most(f"stalled/growth/{mode}", 1.5, "x") for mode in MODES]
    found += [ahead(f"messages/{size}", 15) for size in s.messages]
    found.append(at_most("messages/growth", 1.5, "x"))
    return found


SUMMARY = ("chunks/sync", "chunks/async", f"stalled/{FULL.stalled[1]}/sync", "messages/1000", "messages/growth")
"""The lines that README's table may show."""
