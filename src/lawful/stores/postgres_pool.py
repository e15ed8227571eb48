"""What the handles of one database share: lanes for writing, connections for all else, and what a fork leaves of them."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar
from weakref import WeakSet

from lawful.core.clock import Clock
from lawful.core.errors import StoreError, StoreLocked
from lawful.core.lazy import TYPE_CHECKING, late
from lawful.journal.checks import closed, nested
from lawful.journal.records import Batch
from lawful.stores.postgres_errors import is_race, translating, wants_setup
from lawful.stores.postgres_lane import Lane
from lawful.stores.postgres_link import Link, Server
from lawful.stores.postgres_schema import lock_key
from lawful.stores.queue import Done, Entry

if TYPE_CHECKING:
    import psycopg
else:
    psycopg = late("psycopg", extra="postgres")

T = TypeVar("T")

_TRIES = 4
"""How often a serializable transaction is tried beside others before it asks for the gate and runs alone."""
_chance = random.Random()


class Pool:
    """The only way to the database, for one process; shared by the handles of all scopes."""

    def __init__(
        self,
        server: Server,
        *,
        writers: int,
        readers: int,
        clock: Clock | None,
        component: str = "journal",
        before_setup: bool = False,
    ) -> None:
        self._component = component
        self.server = server
        self.clock = clock
        self._closed = False
        self._lanes = [Lane(server, self.now, self.freed) for _ in range(writers)]
        self._spare = [Link(server) for _ in range(readers)]
        self._renew_locks()
        try:
            with self._translating("open"):
                self._spare[-1].open()
        except StoreError as error:
            if not (before_setup and wants_setup(error)):
                raise
        _stores.add(self)

    def _renew_locks(self) -> None:
        self._idle = list(self._spare)
        self._back = threading.Condition()
        self._changed = threading.Condition()
        self._releases = 0
        self._inside: set[int] = set()

    @property
    def writers(self) -> int:
        return len(self._lanes)

    def now(self, told: float) -> float:
        """The time that leases go by: the database's, which is ``told``, or that of the clock that was given."""
        return told if self.clock is None else self.clock.now()

    def key(self, scope: str, thread: str) -> int:
        """The number of the lock that whoever writes to a thread holds."""
        return lock_key("thread", self.server.schema, scope, thread)

    def _translating(self, operation: str) -> AbstractContextManager[None]:
        return translating(self.server.place, operation, self._component)

    # Batches.

    def commit(self, scope: str, batch: Batch) -> None:
        self._enter()
        self._lane(scope, batch.thread).queue.commit(Entry(scope, batch))

    def submit(self, scope: str, batch: Batch, done: Done) -> None:
        if self._closed:
            raise closed()
        self._lane(scope, batch.thread).queue.submit(Entry(scope, batch, done))

    def _lane(self, scope: str, thread: str) -> Lane:
        return self._lanes[self.key(scope, thread) % len(self._lanes)]

    # Everything else goes over whichever connection is idle.

    @contextmanager
    def _borrowed(self) -> Generator[Link]:
        self._enter()
        with self._back:
            if not self._back.wait_for(lambda: self._idle or self._closed, self.server.busy_timeout):
                raise StoreLocked(
                    f"all {len(self._spare)} connections to {self.server.place} are in use", component=self._component
                )
            if self._closed:
                raise closed()
            link = self._idle.pop()
        try:
            yield link
        finally:
            with self._back:
                if self._closed:
                    link.drop()
                elif link not in self._idle:
                    self._idle.append(link)
                self._back.notify()

    def _enter(self) -> None:
        if self._closed:
            raise closed()
        if threading.get_ident() in self._inside:
            raise nested()

    def ask(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """What one reading statement gives."""
        with self._borrowed() as link, self._translating("read"):
            return link.ask(statement, values)

    @contextmanager
    def writing(self, *threads: tuple[str, str]) -> Generator[tuple[Link, float]]:
        """A write transaction that holds the locks of ``threads``, and the time."""
        with self.locking(sorted({self.key(*thread) for thread in threads})) as found:
            yield found

    @contextmanager
    def locking(self, keys: Sequence[int]) -> Generator[tuple[Link, float]]:
        """A write transaction that holds the locks with these numbers, taken in their order, and the time."""
        begin = self.server.begin(keys)
        with self._borrowed() as link, self._translating("write"), link.writing(begin) as at:
            yield link, self.now(at)

    @contextmanager
    def reading(self) -> Generator[tuple[Link, float]]:
        """A consistent view, and the time."""
        with self._borrowed() as link, self._translating("read"), link.reading() as at:
            yield link, self.now(at)

    def transact(self, work: Callable[[Link, float], T], *, durable: bool) -> T:
        """Run ``work`` in a serializable transaction until no other gets in between.

        After some tries it closes the gate: then it waits for those under way, and no other begins until it has ended.
        """
        with self._borrowed() as link, self._translating("write"):
            for attempt in range(_TRIES):
                try:
                    return self._attempt(link, work, durable, "ROW EXCLUSIVE")
                except psycopg.Error as error:
                    if not is_race(error):
                        raise
                time.sleep(_chance.random() * 0.004 * 2**attempt)
            return self._attempt(link, work, durable, "SHARE ROW EXCLUSIVE")

    def _attempt(self, link: Link, work: Callable[[Link, float], T], durable: bool, serial: str) -> T:
        with link.writing(self.server.begin(durable=durable, serial=serial)) as at, self.inside():
            link.wrote = True  # what a serializable transaction has read counts only once it is committed
            return work(link, self.now(at))

    @contextmanager
    def inside(self) -> Generator[None]:
        """Remember this thread, to refuse what would wait for itself."""
        me = threading.get_ident()
        self._inside.add(me)
        try:
            yield
        finally:
            self._inside.discard(me)

    # Waiting for leases.

    def freed(self) -> None:
        """Wake those who wait for a lease."""
        with self._changed:
            self._releases += 1
            self._changed.notify_all()

    @property
    def releases(self) -> int:
        """How many leases this process has given up."""
        return self._releases

    def pause(self, seen: int, seconds: float) -> None:
        """Wait until there have been more releases than ``seen``, or so many seconds."""
        with self._changed:
            if self._releases == seen:
                self._changed.wait(seconds)

    # The end, and forks.

    def close(self) -> None:
        """Write what is queued, then let go of the connections."""
        if self._closed:
            return
        if threading.get_ident() in self._inside:
            raise nested()
        self._closed = True
        for lane in self._lanes:
            lane.close()
        with self._back:
            idle, self._idle = self._idle, []
            self._back.notify_all()
        for link in self._spare:
            link.shut = True
        for link in idle:
            link.drop()
        _stores.discard(self)

    def in_child(self) -> None:
        """Begin anew: the connections are the parent's, and its threads do not exist here."""
        _chance.seed()
        for lane in self._lanes:
            lane.link.drop()
            lane.queue.renew()
        for link in self._spare:
            link.drop()
        self._renew_locks()


_stores: WeakSet[Pool] = WeakSet()


def _in_child() -> None:
    for store in list(_stores):
        store.in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
