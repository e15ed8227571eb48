"""The journal lease by which others see whether this process's claims may still be at work."""

from __future__ import annotations

import os
import threading
from weakref import WeakKeyDictionary, ref

from lawful.core.clock import Clock
from lawful.core.context import Run
from lawful.effects.moves import Claimant
from lawful.journal.leases import Held, keeper, owner_of
from lawful.journal.port import Journal
from lawful.journal.records import Lease

LEASE = 30.0
"""Seconds after which a claim may be reconciled though its claimant may still be alive."""


class Presence:
    """One process's lease, held while it has a ledger."""

    def __init__(self, journal: Journal, token: str) -> None:
        self._journal = journal
        self._token = token
        self._lock = threading.Lock()
        self._held: Held | None = None
        self._owner = ""
        self._pid = 0

    def claimant(self) -> Claimant:
        """Who we are; the lease is taken at the first claim and renewed while the ledger lives."""
        with self._lock:
            if self._pid != os.getpid() or self._held is None or self._held.lost:
                self._take()
            fence = self._held.lease.fence if self._held is not None else 0
            return Claimant(self._owner, LEASE, self._thread if self._held is not None else "", fence)

    def _take(self) -> None:
        self._pid = os.getpid()
        self._owner = owner_of(self._token)
        self._thread = f"effects {self._owner}"
        got = self._journal.acquire(self._thread, self._owner, LEASE)
        self._held = keeper.hold(self._journal, got, LEASE) if isinstance(got, Lease) else None


_presences: WeakKeyDictionary[Journal, ref[Presence]] = WeakKeyDictionary()
_presences_lock = threading.Lock()


def presence(journal: Journal, clock: Clock) -> Presence:
    """This process's presence in ``journal``: one for all ledgers that live over the same handle.

    It lasts as long as someone holds it; the lease is left to expire then.
    """
    with _presences_lock:
        known = _presences.get(journal)
        found = known() if known is not None else None
        if found is None:
            found = Presence(journal, clock.token())
            _presences[journal] = ref(found)
        return found


def claimant_of(run: Run) -> Claimant:
    """The run as a claimant: its thread's lease tells others whether it is still at work."""
    lease = run.root.lease
    if isinstance(lease, Lease):
        return Claimant(lease.owner, LEASE, lease.thread, lease.fence)
    held = presence(run.journal, run.clock)
    run.shared["effects:presence"] = held  # for as long as the run lasts
    return held.claimant()
