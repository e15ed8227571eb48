"""One interleaved run: every round goes through all rows, and in every row through all contestants in turn."""

from __future__ import annotations

import gc
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from bench.jobs import Output, Peer, Row, Sample, Site


@dataclass
class Result:
    """What a run gave, raw."""

    outputs: list[Output]
    versions: dict[str, str]
    missing: dict[str, str]
    rounds: int
    samples: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    """Output id -> contestant -> one value a round."""
    failures: dict[str, dict[str, str]] = field(default_factory=dict)
    """Output id -> contestant -> why it has no value there."""
    machine: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    def medians(self) -> dict[str, dict[str, float]]:
        """Output id -> contestant -> the median over the rounds.

        Who failed in any round has none: the rounds before are fewer than the others' and were measured at other times.
        """
        found: dict[str, dict[str, float]] = {}
        for output in self.outputs:
            failed = self.failures.get(output.id, {})
            samples = self.samples.get(output.id, {})
            found[output.id] = {name: median(values) for name, values in samples.items() if name not in failed}
        return found


@dataclass
class Cell:
    """A contestant in a row, ready to be measured."""

    row: Row
    peer: Peer
    measure: Callable[[], Sample]


def say(text: str) -> None:
    """Progress, to stderr, so that stdout is the table alone."""
    print(text, file=sys.stderr, flush=True)


def machine() -> dict[str, Any]:
    """Where the numbers come from."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else [],
        "at": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
    }


def failed(result: Result, row: Row, peer: Peer, error: BaseException) -> None:
    """Note it under every line of the row, and go on: one contestant's trouble is not another's."""
    reason = f"{type(error).__name__}: {error}"[:300]
    say(f"  {peer.NAME} failed in {row.outputs[0].id}: {reason}")
    for output in row.outputs:
        result.failures.setdefault(output.id, {})[peer.NAME] = reason


def run(rows: Sequence[Row], peers: Sequence[Peer], missing: dict[str, str], rounds: int) -> Result:
    """Prepare everything, freeze what is alive, then go round."""
    versions = {peer.NAME: peer.version() for peer in peers}
    outputs = [output for row in rows for output in row.outputs]
    result = Result(outputs, versions, missing, rounds, machine=machine())
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="lawful-bench-", ignore_cleanup_errors=True) as folder:
        site = Site(Path(folder))
        table = _prepare(rows, peers, site, result)
        gc.collect()
        gc.freeze()
        for turn in range(rounds):
            start = time.perf_counter()
            _round(table, turn, result)
            say(f"round {turn + 1} of {rounds}: {time.perf_counter() - start:.1f} s")
        gc.unfreeze()
        for close in reversed(site.closers):
            close()
    result.seconds = time.perf_counter() - began
    return result


def _prepare(rows: Sequence[Row], peers: Sequence[Peer], site: Site, result: Result) -> list[list[Cell]]:
    """Rows of cells; a contestant that has no such thing is left out silently, one that fails is named."""
    table: list[list[Cell]] = []
    for row in rows:
        say(f"preparing {row.outputs[0].id}")
        line: list[Cell] = []
        for peer in peers:
            try:
                measure = row.prepare(peer, site)
            except Exception as error:
                failed(result, row, peer, error)
                continue
            if measure is not None:
                line.append(Cell(row, peer, measure))
        table.append(line)
    return table


def _round(table: Sequence[list[Cell]], turn: int, result: Result) -> None:
    """Once through the table; who begins moves on by one every round."""
    for line in table:
        for i in range(len(line)):
            cell = line[(i + turn) % len(line)]
            if cell.peer.NAME in result.failures.get(cell.row.outputs[0].id, {}):
                continue
            try:
                sample = cell.measure()
            except Exception as error:
                failed(result, cell.row, cell.peer, error)
                continue
            for id, value in sample.items():
                result.samples.setdefault(id, {}).setdefault(cell.peer.NAME, []).append(value)
