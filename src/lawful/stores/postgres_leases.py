"""Leases in the database: they go by its clock, and a dead holder's is waited out, for no process sees another die."""

from __future__ import annotations

import time

from lawful.journal.checks import lease_lost
from lawful.journal.records import Busy, Lease
from lawful.stores.postgres_batch import FREE
from lawful.stores.postgres_link import NOW
from lawful.stores.postgres_pool import Pool

_LOOK = 0.02
"""Seconds before the second look at a lease that another process may give up; each pause is longer than the one before."""
_LONGEST = 0.25
_HOLDER = f"SELECT owner, expires, {NOW} FROM @lease WHERE scope=%s AND thread=%s AND owner IS NOT NULL"
_TAKE = """
INSERT INTO @lease AS l (scope, thread, owner, fence, expires, asked) VALUES (%s, %s, %s, 1, %s, false)
ON CONFLICT (scope, thread) DO UPDATE
SET owner=excluded.owner, fence=l.fence+1, expires=excluded.expires, asked=false
WHERE l.owner IS NULL OR l.expires<=%s
RETURNING fence"""
_RENEW = """
UPDATE @lease SET expires=%s WHERE scope=%s AND thread=%s AND fence=%s AND owner IS NOT NULL RETURNING fence"""
_CANCEL = """
UPDATE @lease SET asked=true WHERE scope=%s AND thread=%s AND owner IS NOT NULL AND expires>%s RETURNING fence"""


def holder(store: Pool, scope: str, thread: str) -> tuple[Busy, float] | None:
    """Who holds the lease and for how many seconds more; None where it is free."""
    rows = store.ask(_HOLDER, (scope, thread))
    if not rows:
        return None
    ((owner, expires, told),) = rows
    left = expires - store.now(told)
    return (Busy(owner, expires), left) if left > 0 else None


def acquire(store: Pool, scope: str, thread: str, owner: str, ttl: float) -> Lease | Busy:
    """As `Journal.acquire`. It looks first, so that those who ask in vain write nothing."""
    while True:
        held = holder(store, scope, thread)
        if held is not None:
            return held[0]
        with store.writing((scope, thread)) as (link, now):
            got = link.write(_TAKE, (scope, thread, owner, now + ttl, now)).fetchone()
        if got is not None:
            return Lease(thread, owner, got[0], now + ttl)


def renew(store: Pool, scope: str, lease: Lease, ttl: float) -> Lease:
    """As `Journal.renew`."""
    key = (scope, lease.thread)
    with store.writing() as (link, now):
        if link.write(_RENEW, (now + ttl, *key, lease.fence)).fetchone() is None:
            row = link.run("SELECT owner FROM @lease WHERE scope=%s AND thread=%s", key).fetchone()
            raise lease_lost(lease.thread, lease.fence, row[0] if row else None)
    return Lease(lease.thread, lease.owner, lease.fence, now + ttl)


def release(store: Pool, scope: str, lease: Lease) -> None:
    """As `Journal.release`."""
    with store.writing() as (link, _):
        link.write(FREE, (scope, lease.thread, lease.fence))
    store.freed()


def cancel(store: Pool, scope: str, thread: str) -> bool:
    """As `Journal.cancel`."""
    with store.writing() as (link, now):
        return link.write(_CANCEL, (scope, thread, now)).fetchone() is not None


def cancelled(store: Pool, scope: str, lease: Lease) -> bool:
    """As `Journal.cancelled`."""
    statement = "SELECT owner, fence, asked FROM @lease WHERE scope=%s AND thread=%s"
    rows = store.ask(statement, (scope, lease.thread))
    return not rows or rows[0][0] is None or rows[0][1] != lease.fence or bool(rows[0][2])


def wait(store: Pool, scope: str, thread: str, timeout: float) -> None:
    """As `Journal.wait`: by looking now and then, and at once when this process gives a lease up."""
    deadline, look = time.monotonic() + timeout, _LOOK
    while True:
        seen = store.releases
        held = holder(store, scope, thread)
        left = deadline - time.monotonic()
        if held is None or left <= 0:
            return
        pause = min(left, look, max(held[1], 0.001))
        store.pause(seen, pause)
        if pause == left:
            return
        look = min(look * 1.5, _LONGEST)
