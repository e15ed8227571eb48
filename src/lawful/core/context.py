"""`Run` and the slot of a running attempt, carried by the one ContextVar `current_task` that only drivers set."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, final

from lawful.core.clock import SYSTEM, Clock
from lawful.core.errors import NotInRun
from lawful.core.signals import ControlSignal


@final
class Run:
    """One run of a graph on one thread, and what everything inside it shares.

    A nested run (a graph invoked inside a node) has a ``parent`` and takes journal, lease, deadline and lineage from it.
    """

    __slots__ = (
        "cache",
        "clock",
        "config",
        "context",
        "deadline",
        "durability",
        "holder",
        "hub",
        "journal",
        "lease",
        "lineage",
        "parent",
        "performs",
        "run_id",
        "scope",
        "shared",
        "store",
        "teller",
        "thread",
    )  # fmt: skip

    def __init__(
        self,
        *,
        run_id: str,
        parent: Run | None = None,
        thread: str | None = None,
        scope: str = "local",
        lineage: str = "",
        clock: Clock = SYSTEM,
        journal: Any = None,
        lease: Any = None,
        deadline: float | None = None,
        context: Any = None,
        store: Any = None,
        config: Mapping[str, Any] | None = None,
        durability: str = "sync",
        holder: Slot | None = None,
    ) -> None:
        self.run_id = run_id
        self.parent = parent
        self.thread = thread
        """None for a run without a journal."""
        self.scope = scope
        self.lineage = lineage
        """The thread that this one was copied from at first, or itself: what operation and question ids are made of."""
        self.clock = clock
        self.journal = journal
        """A `lawful.journal.port.Journal`, or None."""
        self.lease = lease
        self.deadline = deadline
        """On the clock's monotonic scale, or None."""
        self.context = context
        self.store = store
        self.config: Mapping[str, Any] = config or {}
        self.durability = durability
        self.holder = holder
        """The attempt that a nested run runs inside."""
        self.cache: Any = parent.cache if parent is not None else None
        """A `lawful.journal.cache_port.Cache`, or None."""
        self.shared: dict[str, Any] = parent.shared if parent is not None else {}
        """One dict for a root run and all nested in it: the plain resume value, cancellation, limits."""

        self.performs: bool = parent is None or parent.performs
        """Whether effects may be performed in it: a worker's run only describes them."""

        self.hub: Any = parent.hub if parent is not None else None
        """Where stream chunks go, or None when nobody listens: a `lawful.core.telling.Stream`."""
        self.teller: Any = parent.teller if parent is not None else None
        """Where events go, or None when nobody listens: the `lawful.core.teller.Teller` of the root run."""

    @property
    def root(self) -> Run:
        run = self
        while run.parent is not None:
            run = run.parent
        return run


class Slot:
    """One attempt of one task while it runs; the graph's task is a subclass.

    When the attempt is over the slot is closed: whatever its left-over tasks or threads then ask, write or perform raises
    NotInRun.
    """

    # Plain attributes with defaults of the class: a step of thousands makes thousands of these, and most stay as they are.
    run: Run
    node: str
    step_key: str
    """Namespace path with visits, node name and Send index: equal over retries, resumes and forks of a lineage."""
    visit: int
    """How often this step key was planned in this lineage, from 1: the ledger's occurrence."""
    signal: ControlSignal | None = None
    fault: BaseException | None = None
    """A failure that wins over any signal: the attempt broke a rule of asking, or a replay has no answer for it."""
    closed: bool = False
    planned: bool = False
    """Set when an effect operation was planned in this attempt: retry, cache and time-outs ask it."""
    performs: bool = True
    """Whether effects may be performed in this attempt, as far as it is concerned itself."""
    asked: bool = False
    """Set when a question was asked in this attempt: what it gives hangs on a person's answer."""
    counts: dict[str, int] | None = None
    """How many unnamed things of each kind this attempt has asked for so far."""
    alive: float | None = None
    """When it last gave a sign of life, on the clock's monotonic scale."""
    beat: float | None = None
    """When it last said so itself, by a heartbeat."""
    spent: Any = None
    """What it took of models beside its own answer, for the node that counts it."""

    inside: tuple[tuple[str, str], ...] = ()
    """Kind and span of the tools and parts that are under way in it, the outermost first."""

    @property
    def holder(self) -> Slot | None:
        """The attempt that this one is part of: that which holds the graph it runs in, or which called it."""
        return self.run.holder

    def touch(self, beat: bool = False) -> None:
        """A sign of life of this attempt, and so of all that hold it; safe to call from any thread."""
        now = self.run.clock.monotonic()
        slot: Slot | None = self
        while slot is not None:
            slot.alive = now
            if beat:
                slot.beat = now
            slot = slot.holder

    def may_perform(self) -> bool:
        """Whether it and all that hold it may perform effects."""
        slot: Slot | None = self
        while slot is not None:
            if not slot.performs:
                return False
            slot = slot.holder
        return True

    def plans(self) -> None:
        """Mark that an effect was planned in this attempt, and so in all that hold it."""
        slot: Slot | None = self
        while slot is not None:
            slot.planned = True
            slot.count("operations")
            slot = slot.holder

    def asks(self) -> None:
        """Mark that a question was asked in this attempt, and so in all that hold it."""
        slot: Slot | None = self
        while slot is not None:
            slot.asked = True
            slot = slot.holder

    def __init__(self, run: Run, node: str, step_key: str, visit: int) -> None:
        self.run = run
        self.node = node
        self.step_key = step_key
        self.visit = visit

    def unwritten(self) -> list[Any]:
        """Records of what node code was told by the world that no commit has taken along yet; they are the caller's then."""
        return []

    def count(self, kind: str) -> int:
        """0, 1, 2...: the call index of the next unnamed thing of ``kind`` in this attempt."""
        with _COUNTING:
            if self.counts is None:
                self.counts = {}
            n = self.counts.get(kind, 0)
            self.counts[kind] = n + 1
            return n


_COUNTING = threading.Lock()

current_task: ContextVar[Slot | None] = ContextVar("lawful_current_task", default=None)
"""The running attempt; set by drivers only."""


def here(what: str) -> Slot:
    """The running attempt.

    Raises: NotInRun, which names ``what`` was called and the remedy, outside a node or after its attempt has ended.
    """
    slot = current_task.get()
    if slot is None:
        raise NotInRun(
            f"{what} works only inside a running node; in a thread of your own, start it with"
            " contextvars.copy_context().run so that it knows its node",
            component="run",
            operation=what,
        )
    if slot.closed:
        raise NotInRun(
            f"{what} was called by work left over from node {slot.node!r}, whose attempt is over",
            component="run",
            operation=what,
            details={"node": slot.node},
        )
    return slot
