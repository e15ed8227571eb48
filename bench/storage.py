"""What is written: transactions by step, bytes by step, growth of a conversation, and what reading back costs."""

from __future__ import annotations

import gc
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from bench import timing
from bench.jobs import Job, Mode, Output, Peer, Reader, Row, Sample, Shape, Site, Unfit

WRITES = re.compile(r"\s*(INSERT|UPDATE|DELETE|REPLACE)\b", re.IGNORECASE)
BEGINS = re.compile(r"\s*(BEGIN|SAVEPOINT)\b", re.IGNORECASE)
COMMITS = re.compile(r"\s*(COMMIT|END)\b", re.IGNORECASE)
UNDOES = re.compile(r"\s*ROLLBACK(?!\s+TO)\b", re.IGNORECASE)


class Counter:
    """Counts a connection's transactions from its statements: each COMMIT, and each write outside a transaction."""

    def __init__(self) -> None:
        self.transactions = 0
        self.seen = 0

    def watch(self, link: sqlite3.Connection) -> None:
        """Count from now on what ``link`` executes, on whatever thread."""
        inside = False

        def trace(statement: str) -> None:
            nonlocal inside
            self.seen += 1
            if COMMITS.match(statement):
                self.transactions += 1
                inside = False
            elif BEGINS.match(statement):
                inside = True
            elif UNDOES.match(statement):
                inside = False
            elif not inside and WRITES.match(statement):
                self.transactions += 1

        link.set_trace_callback(trace)


@contextmanager
def counting() -> Iterator[Counter]:
    """Every connection opened inside is counted; `sqlite3.connect` is put back at the end."""
    counter, connect = Counter(), sqlite3.connect

    def watched(*args: Any, **more: Any) -> sqlite3.Connection:
        link = connect(*args, **more)
        counter.watch(link)
        return link

    sqlite3.connect = watched
    sqlite3.dbapi2.connect = watched
    try:
        yield counter
    finally:
        sqlite3.connect = connect
        sqlite3.dbapi2.connect = connect


def transactions(peer: Peer, shape: Shape, size: int, site: Site, mode: Mode) -> int:
    """Transactions of one whole invocation, leases included, setting up the file excluded."""
    path = site.fresh()
    with counting() as counter:
        job = peer.stored(shape, size, path, mode)
        assert job is not None
        if job.call is None:
            timing.once(job)  # opens the store
        before = counter.transactions
        answer = timing.once(job)
        found = counter.transactions - before
        timing.shut(job)
    remove(path)
    if answer != job.expect:
        raise Unfit(f"returned {answer!r:.80}, not {job.expect!r:.80}")
    if not counter.seen:
        raise Unfit("its statements could not be seen")
    return found


def commits(steps: int, wide: int) -> list[Row]:
    """Transactions a step over one-task steps, and in one step of ``wide`` tasks."""

    def per_step(peer: Peer, site: Site) -> Callable[[], Sample] | None:
        if not has(peer, "cycle", site, "sync"):
            return None
        return lambda: {"commits/step": transactions(peer, "cycle", steps, site, "sync") / steps}

    def in_step(mode: Mode, name: str) -> Callable[[Peer, Path], Callable[[], Sample] | None]:
        def prepare(peer: Peer, site: Site) -> Callable[[], Sample] | None:
            if not has(peer, "wide", site, mode):
                return None
            # A step of one task commits once; what the same run of more tasks commits beyond that is the wide step's.
            return lambda: {
                name: transactions(peer, "wide", wide, site, mode) - transactions(peer, "wide", 1, site, mode) + 1
            }

        return prepare

    together = f"commits in one {wide}-way step whose tasks end together (async)"
    return [
        Row((Output("commits/step", f"commits a step, {steps} one-task steps", "commits"),), per_step),
        Row((Output("commits/wide-async", together, "commits"),), in_step("async", "commits/wide-async")),
        Row(
            (
                Output(
                    "commits/wide-sync", f"commits in one {wide}-way step of sync nodes, one after another", "commits"
                ),
            ),
            in_step("sync", "commits/wide-sync"),
        ),
    ]


def has(peer: Peer, shape: Shape, site: Site, mode: Mode) -> bool:
    """Whether the contestant stores this shape under this driver."""
    path = site.fresh()
    job = peer.stored(shape, 3, path, mode)
    if job is None:
        return False
    timing.once(job)
    timing.shut(job)
    remove(path)
    return True


def remove(path: Path) -> None:
    """The file and what lies beside it."""
    for beside in path.parent.glob(path.name + "*"):
        if beside.is_file():
            beside.unlink()


def size_of(peer: Peer, shape: Shape, size: int, site: Site) -> int:
    """Bytes of the file after one invocation, closed, its WAL truncated."""
    path = site.fresh()
    job = peer.stored(shape, size, path, "sync")
    assert job is not None
    answer = timing.once(job)
    timing.shut(job)
    if answer != job.expect:
        raise Unfit(f"returned {answer!r:.80}, not {job.expect!r:.80}")
    link = sqlite3.connect(path)
    link.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    link.close()
    found = sum(file.stat().st_size for file in (path, Path(f"{path}-wal")) if file.exists())
    remove(path)
    return found


def bytes_row(name: str, title: str, shape: Shape, steps: int) -> Row:
    """Bytes a step: the file after ``steps`` steps less the file after one, by the steps between."""

    def prepare(peer: Peer, site: Site) -> Callable[[], Sample] | None:
        if not has(peer, shape, site, "sync"):
            return None

        def measure() -> Sample:
            grown = size_of(peer, shape, steps, site) - size_of(peer, shape, 1, site)
            return {name: grown / (steps - 1)}

        return measure

    return Row((Output(name, title, "B"),), prepare)


def growth() -> Row:
    """Case A04: turns of 1,000 characters in and 1,000 out on one thread."""
    outputs = (
        Output("growth/200", "A04: file after 200 turns, 0.4 MB of text", "KB"),
        Output("growth/200:100", "A04: file after 200 turns over after 100", "x"),
        Output("growth/300:150", "A04: file after 300 turns over after 150", "x"),
    )

    def prepare(peer: Peer, site: Site) -> Callable[[], Sample] | None:
        if not has(peer, "turns", site, "sync"):
            return None

        def measure() -> Sample:
            at = {turns: size_of(peer, "turns", turns, site) for turns in (100, 150, 200, 300)}
            return {
                "growth/200": at[200] / 1000,
                "growth/200:100": at[200] / at[100],
                "growth/300:150": at[300] / at[150],
            }

        return measure

    return Row(outputs, prepare)


def reads(few: int, many: int) -> Row:
    """get_state and the whole history of a 1 KB state; few and many checkpoints are read in turn inside each round."""
    outputs = [Output(f"read/get_state/{n}", f"get_state at {n} checkpoints of 1 KB", "us") for n in (few, many)]
    outputs.append(Output("read/get_state/growth", f"get_state at {many} over at {few}", "x"))
    outputs += [Output(f"read/history/{n}", f"history at {n} checkpoints, a snapshot", "us") for n in (few, many)]

    def prepare(peer: Peer, site: Site) -> Callable[[], Sample] | None:
        readers = [reader for n in (few, many) if (reader := peer.reader(n, site.fresh())) is not None]
        if len(readers) < 2:
            return None
        site.closers += [reader.close for reader in readers]
        for reader, wanted in zip(readers, (few, many), strict=True):
            if reader.checkpoints != wanted:
                raise Unfit(f"{reader.checkpoints} checkpoints where {wanted} were meant")
            if (count := reader.get_state()) != reader.count:
                raise Unfit(f"get_state found {count}, not {reader.count}")
        return lambda: read_both(*readers)

    return Row(outputs, prepare)


def read_both(few: Reader, many: Reader) -> Sample:
    """Ten blocks of reads of each, alternating, so that a slow moment hits both."""
    gc.collect()
    spent = {few.checkpoints: 0.0, many.checkpoints: 0.0}
    for _ in range(10):
        for reader in (few, many):
            reader.get_state()
            start = perf_counter()
            for _ in range(10):
                reader.get_state()
            spent[reader.checkpoints] += (perf_counter() - start) / 100 * 1e6
    a, b = few.checkpoints, many.checkpoints
    sample = {f"read/get_state/{n}": spent[n] for n in (a, b)}
    sample["read/get_state/growth"] = spent[b] / spent[a]
    for reader, loops in ((few, 10), (many, 1)):
        reader.history()
        start = perf_counter()
        count = sum(reader.history() for _ in range(loops))
        sample[f"read/history/{reader.checkpoints}"] = (perf_counter() - start) / count * 1e6
    return sample


def stored_row(name: str, title: str, steps: int, mode: Mode) -> Row:
    """Microseconds a step of the cycle on SQLite; every invocation is a new thread of the same file."""

    def prepare(peer: Peer, site: Site) -> Callable[[], Sample] | None:
        job: Job | None = peer.stored("cycle", steps, site.fresh(), mode)
        if job is None:
            return None
        site.closers.append(lambda: timing.shut(job))
        loops = timing.warmed(job)
        return lambda: {name: timing.per_unit(job, loops)}

    return Row((Output(name, title, "us"),), prepare)
