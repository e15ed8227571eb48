"""Leases in the file, and locks of the operating system by which the death of a holder's process is seen at once."""

from __future__ import annotations

import os
import threading

from lawful.journal.leases import process_token
from lawful.journal.records import Busy, Lease
from lawful.stores.sqlite_link import Link

try:
    import fcntl
except ImportError:  # Windows: leases of dead processes are waited out
    fcntl = None


class SideFile:
    """The file ``<path>-lock``, of which each process locks the one byte that its token names.

    Such locks are the process's own: a child does not inherit them, and they end with the process, however it ends. They
    also end when *any* descriptor of the file is closed, so a process has one for each path, and shares it.
    """

    def __init__(self, path: str) -> None:
        self.path = path + "-lock"
        self.users = 0
        self._fd = -1
        self._locked = 0
        self._mutex = threading.Lock()

    def guard(self) -> bool:
        """Lock our byte, if it is not locked yet; False where the file system has no such locks."""
        with self._mutex:
            if self._locked == os.getpid():
                return True
            if fcntl is None:
                return False
            try:
                if self._fd < 0:
                    self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
                fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _byte(process_token()))
            except OSError:
                return False
            self._locked = os.getpid()
            return True

    def dead(self, owner: str) -> bool:
        """Whether the process of ``owner``, which had locked its byte, is no more."""
        token = owner.partition("/")[0]
        if token == process_token() or fcntl is None or not self.guard():
            return False
        with self._mutex:
            try:
                fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _byte(token))
                fcntl.lockf(self._fd, fcntl.LOCK_UN, 1, _byte(token))
            except OSError:
                return False
            return True

    def close(self) -> None:
        with self._mutex:
            if self._fd >= 0:
                os.close(self._fd)
            self._fd, self._locked = -1, 0

    def renew_mutex(self) -> None:
        self._mutex = threading.Lock()


def _byte(token: str) -> int:
    return int(token, 16)


_sides: dict[str, SideFile] = {}
_mutex = threading.Lock()


def side_of(path: str) -> SideFile | None:
    """The side file of a database, shared by all journals of this process on it; None for one in memory."""
    if path in (":memory:", ""):
        return None
    real = os.path.realpath(path)
    with _mutex:
        side = _sides.setdefault(real, SideFile(real))
        side.users += 1
        return side


def leave_side(side: SideFile | None) -> None:
    """Give up one use of it; the last closes it, and with it ends what this process held."""
    if side is None:
        return
    with _mutex:
        side.users -= 1
        if side.users <= 0:
            _sides.pop(side.path.removesuffix("-lock"), None)
            side.close()


def _in_child() -> None:
    global _mutex
    _mutex = threading.Lock()
    for side in _sides.values():
        side.renew_mutex()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


def _holder(link: Link, scope: str, thread: str, now: float, side: SideFile | None) -> Busy | None:
    """Who holds the lease now, with the owner's death taken into account."""
    row = link.con.execute(
        "SELECT owner, expires, guarded FROM lease WHERE scope=? AND thread=?", (scope, thread)
    ).fetchone()
    if row is None or row[0] is None or row[1] <= now:
        return None
    owner, expires, guarded = row
    if guarded and side is not None and side.dead(owner):
        return None
    return Busy(owner, expires)


def acquire(
    link: Link, scope: str, thread: str, owner: str, now: float, ttl: float, side: SideFile | None
) -> Lease | Busy:
    """As `Journal.acquire`, within a write transaction."""
    busy = _holder(link, scope, thread, now, side)
    if busy is not None:
        return busy
    ours = owner.partition("/")[0] == process_token()
    guarded = ours and side is not None and side.guard()
    key = (scope, thread)
    row = link.con.execute("SELECT fence FROM lease WHERE scope=? AND thread=?", key).fetchone()
    fence = 1 if row is None else row[0] + 1
    link.con.execute(
        "INSERT INTO lease(scope, thread, owner, fence, expires, asked, guarded) VALUES (?,?,?,?,?,0,?)"
        " ON CONFLICT(scope, thread) DO UPDATE SET owner=excluded.owner, fence=excluded.fence, expires=excluded.expires,"
        " asked=0, guarded=excluded.guarded",
        (*key, owner, fence, now + ttl, guarded),
    )
    link.fences.pop(key, None)
    return Lease(thread, owner, fence, now + ttl)


def renew(link: Link, scope: str, lease: Lease, now: float, ttl: float) -> Lease:
    """As `Journal.renew`, after `fenced`."""
    link.con.execute("UPDATE lease SET expires=? WHERE scope=? AND thread=?", (now + ttl, scope, lease.thread))
    return Lease(lease.thread, lease.owner, lease.fence, now + ttl)


def cancel(link: Link, scope: str, thread: str, now: float, side: SideFile | None) -> bool:
    """As `Journal.cancel`."""
    if _holder(link, scope, thread, now, side) is None:
        return False
    link.con.execute("UPDATE lease SET asked=1 WHERE scope=? AND thread=?", (scope, thread))
    return True


def cancelled(link: Link, scope: str, lease: Lease) -> bool:
    """As `Journal.cancelled`."""
    row = link.con.execute(
        "SELECT owner, fence, asked FROM lease WHERE scope=? AND thread=?", (scope, lease.thread)
    ).fetchone()
    return row is None or row[0] is None or row[1] != lease.fence or bool(row[2])


def free_at(link: Link, scope: str, thread: str, now: float, side: SideFile | None) -> float | None:
    """When the lease expires; None where it is free."""
    busy = _holder(link, scope, thread, now, side)
    return None if busy is None else busy.expires
