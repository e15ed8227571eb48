"""Leases from a run's side: who we are, waiting for a thread by policy and in order, and keeping what we hold."""

from __future__ import annotations

import _thread
import os
import secrets
import threading
import time
from collections import deque
from typing import Literal, TypeAlias
from weakref import WeakKeyDictionary, WeakValueDictionary

from lawful.core.errors import ConfigurationError, LeaseLost, StoreError, ThreadBusy, nearest
from lawful.journal.port import Journal
from lawful.journal.records import Busy, Lease

BusyPolicy: TypeAlias = Literal["queue", "reject", "cancel"]

TTL = 30.0
"""Seconds that a lease lasts; it is renewed every third of that."""
BUSY_TIMEOUT = 30.0
"""Seconds that ``queue`` and ``cancel`` wait before ThreadBusy."""
_LOOK = 0.05
"""Seconds between two looks at a lease that another process may have given up."""

_POLICIES = ("queue", "reject", "cancel")


class _Process:
    """The process's token, renewed after a fork."""

    pid = 0
    token = ""


def process_token() -> str:
    """15 hex digits that name this process and no other; the part of a lease's owner before the slash."""
    if _Process.pid != os.getpid():
        _Process.token = f"{secrets.randbits(60):015x}"
        _Process.pid = os.getpid()
    return _Process.token


def owner_of(run_id: str) -> str:
    """The lease's owner string for one run of this process."""
    return f"{process_token()}/{run_id}"


# Waiting. Those who wait for one thread in one process stand in a line; only its head asks the journal.


class _Line:
    """Who waits for one thread, first come first; `moved` is notified when one leaves."""

    __slots__ = ("moved", "places")

    def __init__(self) -> None:
        self.moved = threading.Condition()
        self.places: deque[Taking] = deque()


class _Lines:
    """The lines of this process, by journal handle and thread."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self.lock = threading.Lock()
        self.of: WeakKeyDictionary[Journal, dict[str, _Line]] = WeakKeyDictionary()

    def join(self, taking: Taking) -> _Line:
        with self.lock:
            line = self.of.setdefault(taking.journal, {}).setdefault(taking.thread, _Line())
            line.places.append(taking)
            return line

    def leave(self, taking: Taking, line: _Line) -> None:
        with self.lock:
            if taking in line.places:
                line.places.remove(taking)
            if not line.places:
                self.of.get(taking.journal, {}).pop(taking.thread, None)
        with line.moved:
            line.moved.notify_all()


_lines = _Lines()


class Taking:
    """One run's attempt to take a thread's lease, in steps that never wait.

    Call `step` until it gives a Lease; between two steps either `block` (sync) or sleep for at most the seconds it gave
    (async). Give the lease to the `keeper`, then call `leave`, whatever happened: a lease that was granted and that nobody
    keeps goes back, also where the step that gets it is still under way in another thread (its waiter was cancelled).
    """

    def __init__(
        self,
        journal: Journal,
        thread: str,
        owner: str,
        policy: BusyPolicy = "queue",
        timeout: float = BUSY_TIMEOUT,
        ttl: float = TTL,
    ) -> None:
        if policy not in _POLICIES:
            raise ConfigurationError(
                f"unknown policy {policy!r} for a busy thread.{nearest(str(policy), _POLICIES)}",
                component="lease",
                operation="take",
            )
        self.journal = journal
        self.thread = thread
        self._owner = owner
        self._policy = policy
        self._ttl = ttl
        self._deadline = time.monotonic() + timeout
        self._line: _Line | None = None
        self._asked = ""
        """The holder that was asked to stop already."""
        self._hand = threading.Lock()
        self._granted: Lease | None = None
        self._left = False

    def step(self) -> Lease | float:
        """The lease, or for how many seconds to wait before the next step. Raises: ThreadBusy, StoreError."""
        if self._line is None:
            self._line = _lines.join(self)
            if self._policy == "cancel":
                self.journal.cancel(self.thread)
        first = self._first()
        if not first and self._policy == "reject":
            raise self._busy("a run that waits for it")
        if first:
            got = self.journal.acquire(self.thread, self._owner, self._ttl)
            if isinstance(got, Lease):
                self._grant(got)
                return got
            self._refused(got)
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise self._busy("a run that waits for it" if not first else self._asked)
        return min(left, _LOOK)

    def _grant(self, lease: Lease) -> None:
        with self._hand:
            self._granted = lease
            left = self._left
        if left:
            self.journal.release(lease)

    def _refused(self, busy: Busy) -> None:
        if self._policy == "reject":
            raise self._busy(busy.owner)
        if self._policy == "cancel" and busy.owner != self._asked:
            self.journal.cancel(self.thread)
        self._asked = busy.owner

    def block(self, seconds: float) -> None:
        """Wait until a step may have become worth while, for at most ``seconds``."""
        line = self._line
        if line is None or self._first():
            self.journal.wait(self.thread, seconds)
            return
        with line.moved:
            if not self._first():
                line.moved.wait(seconds)

    def leave(self) -> None:
        """Give up the place in the line, and a lease that nobody keeps."""
        with self._hand:
            self._left = True
            lease = self._granted
        try:
            if lease is not None and not keeper.keeps(lease):
                self.journal.release(lease)
        finally:
            if self._line is not None:
                _lines.leave(self, self._line)
                self._line = None

    def take(self) -> Lease:
        """Wait for the lease in this thread; the caller keeps it. Raises: ThreadBusy, StoreError."""
        while not isinstance(got := self.step(), Lease):
            self.block(got)
        with self._hand:
            self._granted = None
        return got

    def _first(self) -> bool:
        line = self._line
        try:
            return line is None or line.places[0] is self
        except IndexError:  # the one before left in between
            return True

    def _busy(self, holder: str) -> ThreadBusy:
        return ThreadBusy(
            f"thread {self.thread!r} is held by {holder}",
            component="lease",
            operation="take",
            details={"thread": self.thread, "holder": holder, "policy": self._policy},
        )


def take(
    journal: Journal,
    thread: str,
    owner: str,
    policy: BusyPolicy = "queue",
    timeout: float = BUSY_TIMEOUT,
    ttl: float = TTL,
) -> Lease:
    """Take the thread's lease: the sync form of `Taking`.

    ``queue`` waits its turn, ``cancel`` asks the holder to stop and waits for that, both for at most ``timeout`` seconds;
    ``reject`` does not wait. ``owner`` is made by `owner_of`. Raises: ThreadBusy, StoreError.
    """
    taking = Taking(journal, thread, owner, policy, timeout, ttl)
    try:
        return taking.take()
    finally:
        taking.leave()


# Keeping.


class Held:
    """A lease that a run holds; renewed by the process's keeper for as long as this object lives."""

    __slots__ = ("__weakref__", "due", "journal", "lease", "lost", "ttl")

    def __init__(self, journal: Journal, lease: Lease, ttl: float) -> None:
        self.journal = journal
        self.lease = lease
        self.ttl = ttl
        self.lost = False
        """Whether a renewal found that another run has taken the thread over."""
        self.due = time.monotonic() + ttl / 3

    def renew(self) -> None:
        """Prolong the lease now; a store in trouble is asked again at the next turn."""
        try:
            self.lease = self.journal.renew(self.lease, self.ttl)
        except LeaseLost:
            self.lost = True
        except StoreError:
            pass
        self.due = time.monotonic() + self.ttl / 3


def _name(lease: Lease) -> tuple[str, str, int]:
    """What stays the same when it is renewed, and is no other lease's."""
    return lease.thread, lease.owner, lease.fence


class Keeper:
    """Renews leases every third of their time, on one daemon thread that is started when it is needed.

    It holds its leases weakly: those of a run that was given up without a word are left to expire.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew, as in a child process, where neither the thread nor the runs exist."""
        self._changed = threading.Condition()
        self._held: WeakValueDictionary[tuple[str, str, int], Held] = WeakValueDictionary()
        self._running = False

    def hold(self, journal: Journal, lease: Lease, ttl: float = TTL) -> Held:
        """Renew ``lease`` until `drop`, or until the object returned is no longer referred to."""
        held = Held(journal, lease, ttl)
        with self._changed:
            self._held[_name(lease)] = held
            if not self._running:
                self._running = True
                _thread.start_new_thread(self._run, ())
            elif ttl < TTL:
                self._changed.notify()
        return held

    def keeps(self, lease: Lease) -> bool:
        """Whether ``lease`` is among those that are renewed."""
        with self._changed:
            return _name(lease) in self._held

    def drop(self, held: Held) -> None:
        """Renew it no longer; the lease itself is released by its owner."""
        with self._changed:
            self._held.pop(_name(held.lease), None)

    def _run(self) -> None:
        while (due := self._next()) is not None:
            self._renew(due)
            del due  # or this frame would keep the leases alive through its next wait

    def _renew(self, due: list[Held]) -> None:
        for held in due:
            held.renew()
            if held.lost:
                self.drop(held)

    def _next(self) -> list[Held] | None:
        """Wait for the next renewals; None, once nothing has been held for a while."""
        with self._changed:
            now = time.monotonic()
            waiting = list(self._held.values())
            due = [held for held in waiting if held.due <= now]
            if due:
                return due
            pause = min((held.due - now for held in waiting), default=TTL / 3)
            empty = not waiting
            del waiting
            self._changed.wait(pause)
            if empty and not self._held:
                self._running = False
                return None
        return []


keeper = Keeper()
"""The keeper of this process."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_lines.forget)
    os.register_at_fork(after_in_child=keeper.forget)
