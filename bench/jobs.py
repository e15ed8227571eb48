"""The shape of a measurement: what a contestant hands over (a job), and what the harness makes of it (a row)."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

Mode = Literal["sync", "async", "mixed"]
"""sync: sync nodes, sync driver. async: async nodes, async driver. mixed: sync nodes, async driver."""

Shape = Literal["cycle", "kb-one", "kb-all", "list", "turns", "wide"]
"""What a stored job runs; `bench.shapes` says what each of them writes."""


def nothing() -> None:
    """Close what needs no closing."""


@dataclass(frozen=True)
class Job:
    """One graph, compiled and ready; every call is one whole invocation on a fresh state (or thread)."""

    units: int
    """Steps, branches or snapshots in one invocation: what the time is divided by."""
    expect: Any
    """What an invocation returns; compared in the warm-up, so that nobody wins by not doing the work."""
    call: Callable[[], Any] | None = None
    """An invocation under the sync driver."""
    acall: Callable[[], Awaitable[Any]] | None = None
    """An invocation under the async driver; used where `call` is None."""
    close: Callable[[], None] = nothing
    aclose: Callable[[], Awaitable[None]] | None = None
    """Runs before `close`, on the loop that `acall` ran on."""
    peak: Callable[[], int] | None = None
    """How many tasks were in flight at once, where overlapping is the point; must equal `units`."""


@dataclass(frozen=True)
class Reader:
    """A thread with a known number of checkpoints, to be read again and again."""

    checkpoints: int
    get_state: Callable[[], Any]
    """Reads the newest state whole and returns its counter."""
    count: int
    """What that counter is."""
    history: Callable[[], int]
    """Reads every snapshot of the thread with its values, and returns how many there were."""
    close: Callable[[], None] = nothing


class Peer(Protocol):
    """The functions of a contestant's module. Each returns None where the contestant has no such thing."""

    NAME: str

    def version(self) -> str: ...
    def cycle(self, steps: int, mode: Mode) -> Job | None: ...
    def chain(self, nodes: int, mode: Mode) -> Job | None: ...
    def fanout(self, branches: int, mode: Mode, pause: float = 0.0) -> Job | None: ...
    def send(self, tasks: int, mode: Mode, waits: bool = True) -> Job | None: ...
    def concurrent(self, runs: int, steps: int, mode: Mode) -> Job | None: ...
    def stored(self, shape: Shape, size: int, path: Path, mode: Mode) -> Job | None: ...
    def reader(self, checkpoints: int, path: Path) -> Reader | None: ...


@dataclass(frozen=True)
class Output:
    """One line of the table."""

    id: str
    title: str
    unit: str


Sample = dict[str, float]
"""Output id -> value, from one round."""


class Site:
    """Where a run keeps its files, and what it closes when it is over."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.closers: list[Callable[[], None]] = []
        self._files = itertools.count()

    def fresh(self) -> Path:
        """A path that no file has had."""
        return self.folder / f"store{next(self._files)}.db"


@dataclass(frozen=True)
class Row:
    """Something measured once a round for every contestant in turn; it may give several lines."""

    outputs: Sequence[Output]
    prepare: Callable[[Peer, Site], Callable[[], Sample] | None]
    """Builds and warms up, once; the function it returns measures, once a round. None: the contestant has no such thing."""


class Unfit(Exception):
    """A contestant did something else than the row asks for, so that its time would mean nothing."""
