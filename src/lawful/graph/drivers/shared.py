"""What both drivers share: the commit of a machine's records under its lease, and the poll for a request to stop."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from lawful.core.context import Run
from lawful.core.errors import RunCancelled, RunTimeoutError
from lawful.graph import orders as o
from lawful.graph.control import RunControl
from lawful.graph.machine import Machine
from lawful.graph.outbox import Outbox
from lawful.journal.port import Journal
from lawful.journal.records import Batch

POLL = 0.05
"""Seconds between two looks for a request to stop."""
WORKERS = 32
"""Sync nodes of one invocation that run at once, unless max_concurrency says otherwise."""


class Deal:
    """One run's dealings with its journal."""

    __slots__ = ("_next_look", "journal", "owns_lease", "released", "run")

    def __init__(self, run: Run, journal: Journal, owns_lease: bool) -> None:
        self.run = run
        self.journal = journal
        self.owns_lease = owns_lease
        """Whether this run took the lease (a nested run uses its root's)."""
        self.released = False
        """Whether the lease went with the last commit."""
        self._next_look = run.clock.monotonic() + POLL

    def batch(self, commit: o.Commit) -> Batch:
        run = self.run
        assert run.thread is not None
        release = commit.last and self.owns_lease and run.lease is not None
        self.released = release
        return Batch(run.thread, tuple(commit.records), run.root.lease, release=release)

    def asked_to_stop(self) -> BaseException | None:
        """RunCancelled or LeaseLost, if another run asked for this thread; looks at most every POLL seconds."""
        lease = self.run.lease
        if (
            lease is None or not self.owns_lease or self.released
        ):  # given up by our own last commit, which may be under way
            return None
        now = self.run.clock.monotonic()
        if now < self._next_look:
            return None
        self._next_look = now + POLL
        if not self.journal.cancelled(lease):
            return None
        return RunCancelled(
            f"The run on thread {self.run.thread!r} was asked to stop by another run",
            component="graph",
            operation="run",
            details={"thread": self.run.thread or ""},
        )


def drainable(machine: Machine) -> bool:
    """Whether stopping between two steps loses nothing: a graph inside a node that keeps no record would lose all."""
    return machine.recorder is not None or machine.run.parent is None


class Driver:
    """What a driver holds of one run."""

    __slots__ = (
        "chunks",
        "control",
        "deal",
        "feed",
        "limit",
        "live",
        "local",
        "machine",
        "outbox",
        "outcome",
        "step_deadline",
        "step_timeout",
        "timed",
        "watchful",
    )

    def __init__(
        self,
        machine: Machine,
        deal: Deal | None,
        chunks: deque[Any],
        *,
        live: bool = False,
        limit: int | None = None,
        step_timeout: float | None = None,
    ) -> None:
        self.machine = machine
        self.deal = deal
        self.chunks = chunks
        """What the stream has to give, in order."""
        self.outbox: Outbox | None = None
        """The same, where chunks may come from elsewhere while the driver waits."""
        self.live = live
        """Whether chunks must come out while a node runs, so that no node may run on the pump itself."""
        self.limit = limit
        self.local: deque[Any] = deque()
        """Events that wait to be fed."""
        self.outcome: o.Outcome | None = None
        self.step_timeout = step_timeout
        self.timed = step_timeout is not None or machine.run.deadline is not None
        """Whether time may run out, so that no node may keep the pump from seeing it."""
        self.watchful = machine.recorder is not None or self.timed
        """Whether to look around after each event: for a request to stop, for a step that is overdue."""
        self.step_deadline: float | None = None
        self.control: RunControl | None = machine.run.shared.get("control") if drainable(machine) else None
        self.feed: Callable[[o.Event], Sequence[o.Order]] = machine.advance if self.control is None else self._fed
        """Gives the machine an event."""

    def _fed(self, event: o.Event) -> Sequence[o.Order]:
        """The same, told first that the run was asked to stop: the step that ends with this event is the last."""
        reason = None if self.control is None else self.control.drain_reason
        if reason is not None and self.machine.draining is None:
            self.machine.advance(o.DrainAsked(reason))
        return self.machine.advance(event)

    def hears(self, outbox: Outbox, wake: Callable[[], None]) -> None:
        """Be woken by what is put into the stream while nothing else is to be done."""
        outbox.wake, self.outbox = wake, outbox

    def arm(self) -> None:
        """A step begins: its time runs from now."""
        if not self.timed:
            return
        self.step_deadline = self.machine.run.deadline
        if self.step_timeout is not None:
            until = self.machine.run.clock.monotonic() + self.step_timeout
            self.step_deadline = until if self.step_deadline is None else min(until, self.step_deadline)

    def overdue(self) -> o.Cancelled | None:
        """The event of a step or a run that ran out of time, once."""
        run = self.machine.run
        if self.step_deadline is None or (now := run.clock.monotonic()) < self.step_deadline:
            return None
        self.step_deadline = None
        if run.deadline is not None and now >= run.deadline:
            outer = run.parent.deadline if run.parent is not None else None
            whose = "run" if run.parent is None or run.deadline == outer else "graph"
            return o.Cancelled(
                RunTimeoutError(
                    f"The run of {self.machine.program.name!r} took longer than its limit",
                    component="graph",
                    operation="run",
                    details={"limit": "seconds", "graph": self.machine.program.name, "of": whose},
                )
            )
        return o.Cancelled(TimeoutError(f"Timed out: a step took longer than {self.step_timeout} s"))
