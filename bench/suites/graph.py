"""The suite `graph`: what a step, a branch, a run, a commit and a byte cost, and the aims that issue and design set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench import cold, storage, timing
from bench.aims import Aim, ahead, at_most, share
from bench.jobs import Job, Mode, Output, Peer, Row, Sample, Site
from bench.peers._names import BURR

DRIVER = {"sync": "sync", "async": "async", "mixed": "sync nodes, async driver"}


@dataclass(frozen=True)
class Sizes:
    """How much is measured; `QUICK` is for a look whether everything runs, its numbers mean little."""

    cycle: int = 1_000
    chain: tuple[int, ...] = (10, 30, 100, 300, 1_000, 3_000)
    fanout: tuple[int, ...] = (10, 30, 100, 300, 1_000)
    send: tuple[int, ...] = (10, 100, 1_000, 5_000)
    runs: int = 1_000
    scale: tuple[int, int] = (300, 3_000)
    kb_steps: int = 1_000
    list_steps: int = 200
    wide: int = 100
    reads: tuple[int, int] = (10, 1_000)


FULL = Sizes()
QUICK = Sizes(
    cycle=100,
    chain=(10, 300),
    fanout=(10, 100),
    send=(10, 100),
    runs=50,
    scale=(30, 300),
    kb_steps=50,
    list_steps=20,
    wide=20,
    reads=(10, 50),
)


def timed(id: str, title: str, make: Callable[[Peer], Job | None]) -> Row:
    """Microseconds a unit of a job."""

    def prepare(peer: Peer, site: Site) -> Callable[[], Sample] | None:
        job = make(peer)
        if job is None:
            return None
        loops = timing.warmed(job)
        return lambda: {id: timing.per_unit(job, loops)}

    return Row((Output(id, title, "us"),), prepare)


def scaled(id: str, title: str, make: Callable[[Peer, int], Job | None], small: int, large: int) -> Row:
    """The cost of a step at the large size over that at the small one, measured in turn in blocks of equal work."""

    def prepare(peer: Peer, site: Site) -> Callable[[], Sample] | None:
        few, many = make(peer, small), make(peer, large)
        if few is None or many is None:
            return None
        timing.warmed(few)
        timing.warmed(many)
        loops = max(1, large // small)

        def measure() -> Sample:
            blocks = [(timing.per_unit(few, loops), timing.per_unit(many, 1)) for _ in range(3)]
            return {id: sum(b for _, b in blocks) / sum(a for a, _ in blocks)}

        return measure

    return Row((Output(id, title, "x"),), prepare)


def _cycles(s: Sizes) -> list[Row]:
    def make(mode: Mode) -> Callable[[Peer], Job | None]:
        return lambda peer: peer.cycle(s.cycle, mode)

    modes: tuple[Mode, ...] = ("sync", "async", "mixed")
    rows = [timed(f"cycle/{m}", f"cycle of {s.cycle:,}, a step ({DRIVER[m]})", make(m)) for m in modes]
    title = f"cycle of {s.cycle:,} on SQLite, a step"
    rows.append(storage.stored_row("cycle/sqlite", f"{title} (sync)", s.cycle, "sync"))
    rows.append(storage.stored_row("cycle/sqlite-async", f"{title} (async)", s.cycle, "async"))
    return rows


def _sized(
    id: str, title: str, sizes: Sequence[int], mode: Mode, make: Callable[[Peer, int, Mode], Job | None]
) -> list[Row]:
    def one(size: int) -> Row:
        line = title.format(f"{size:,}")
        return timed(f"{id}/{size}/{mode}", f"{line} ({DRIVER[mode]})", lambda peer: make(peer, size, mode))

    return [one(size) for size in sizes]


def _chain(peer: Peer, size: int, mode: Mode) -> Job | None:
    return peer.chain(size, mode)


def _fanout(peer: Peer, size: int, mode: Mode) -> Job | None:
    return peer.fanout(size, mode)


def _send(peer: Peer, size: int, mode: Mode) -> Job | None:
    return peer.send(size, mode)


PAUSE = 0.02
SLEEPERS = 32


def _sleepers(mode: Mode) -> Row:
    """Whether branches really run side by side: 32 that sleep 20 ms should take little more than 20 ms."""
    id = f"overlap/{mode}"

    def prepare(peer: Peer, site: Site) -> Callable[[], Sample] | None:
        job = peer.fanout(SLEEPERS, mode, PAUSE)
        if job is None:
            return None
        timing.warmed(job)
        return lambda: {id: timing.per_unit(job, 2) * SLEEPERS / 1000}

    title = f"{SLEEPERS} branches that sleep {PAUSE * 1000:.0f} ms, the whole run ({DRIVER[mode]})"
    return Row((Output(id, title, "ms"),), prepare)


def rows(s: Sizes) -> list[Row]:
    """Everything, in the order of the table."""
    found = _cycles(s)
    middle = [size for size in s.chain if size <= 300][-1:]
    for mode, sizes in (("sync", s.chain), ("async", s.chain), ("mixed", middle)):
        found += _sized("chain", "chain of {}, a node", sizes, mode, _chain)
    for mode, sizes in (("sync", s.fanout), ("async", s.fanout), ("mixed", s.fanout)):
        found += _sized("fanout", "fan-out of {}, a branch", sizes, mode, _fanout)
    found += _sized("send", "Send of {}, all in flight together, a task", s.send, "async", _send)
    straight, most = f"Send of {s.send[-1]:,} of nodes that never wait, a task (async)", s.send[-1]
    found.append(timed(f"send/{most}/straight", straight, lambda peer: peer.send(most, "async", False)))
    found += _sized("send", "Send of {}, a task", s.send, "sync", _send)
    found += [_sleepers("sync"), _sleepers("async")]
    runs = f"{s.runs:,} concurrent runs of 10 steps, a step"
    found.append(timed("concurrent/async", f"{runs} (async)", lambda peer: peer.concurrent(s.runs, 10, "async")))
    small, large = s.scale
    for mode in ("sync", "async"):
        found += _scales(mode, small, large)
    found.append(cold.ROW)
    found += storage.commits(s.cycle, s.wide)
    kb = f"bytes a step, 1 KB state, {s.kb_steps:,} steps"
    found.append(storage.bytes_row("bytes/kb-one", f"{kb}, 100 B of it new", "kb-one", s.kb_steps))
    found.append(storage.bytes_row("bytes/kb-all", f"{kb}, all of it new", "kb-all", s.kb_steps))
    grown = f"bytes a step, a list growing by 5 KB to {s.list_steps * 5 / 1000:g} MB in {s.list_steps} steps"
    found.append(storage.bytes_row("bytes/list", grown, "list", s.list_steps))
    found.append(storage.reads(*s.reads))
    found.append(storage.growth())
    return found


def _scales(mode: Mode, small: int, large: int) -> list[Row]:
    title = f"a step at {large:,} over one at {small:,}"
    return [
        scaled(f"scale/chain/{mode}", f"chain: {title} ({mode})", lambda p, n: p.chain(n, mode), small, large),
        scaled(f"scale/cycle/{mode}", f"cycle: {title} ({mode})", lambda p, n: p.cycle(n, mode), small, large),
    ]


def aims(s: Sizes) -> list[Aim]:
    """What is aimed at against the newest peers in the same run; ours is the strict contestant throughout."""
    found: list[Aim] = []
    for mode in ("sync", "async"):
        found.append(ahead(f"cycle/{mode}", 25))
        found += [ahead(f"chain/{size}/{mode}", 25) for size in s.chain if size >= 300]
        found += [ahead(f"fanout/{size}/{mode}", 20) for size in s.fanout]
        found.append(ahead(f"cycle/{mode}", 3, BURR))
        found += [ahead(f"chain/{size}/{mode}", 3, BURR) for size in s.chain]
        found += [at_most(f"scale/{shape}/{mode}", 1.2, "x") for shape in ("chain", "cycle")]
    found.append(ahead(f"send/{s.send[-1]}/async", 40))
    found.append(ahead("concurrent/async", 40))
    found.append(ahead("concurrent/async", 3, BURR))
    found.append(share("cold/start", 1 / 3))
    found.append(share("cold/rss", 1 / 2))
    found.append(at_most("commits/step", 1.05))
    found.append(at_most("commits/wide-async", 5))
    found.append(at_most("bytes/list", 10_000, "B"))
    found.append(at_most("read/get_state/growth", 1.5, "x"))
    found.append(at_most("growth/200", 2_000, "KB"))
    found += [at_most(f"growth/{pair}", 2.4, "x") for pair in ("200:100", "300:150")]
    return found


SUMMARY = (
    "cycle/sync",
    "cycle/async",
    "cycle/sqlite",
    "chain/1000/sync",
    "fanout/1000/sync",
    "fanout/1000/async",
    "send/5000/async",
    "concurrent/async",
    "cold/start",
    "cold/rss",
    "bytes/list",
    "growth/200",
)
"""The lines that README's table shows."""
