"""A lane to the database: one connection, and the queue whose batches are written over it together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lawful.core.errors import StoreError, StoreLocked
from lawful.core.lazy import TYPE_CHECKING, late
from lawful.stores.postgres_batch import Group
from lawful.stores.postgres_errors import is_lost, translated
from lawful.stores.postgres_link import Link, Server
from lawful.stores.postgres_schema import lock_key
from lawful.stores.queue import Entry, Queue, finish

if TYPE_CHECKING:
    import psycopg
else:
    psycopg = late("psycopg", extra="postgres")

_TOGETHER = 64
"""Batches of one transaction: each holds a lock, of which the server has room for so many."""


class Lane:
    """Whose lock one holds may write what others queued; their threads then find it done."""

    def __init__(self, server: Server, now: Callable[[float], float], freed: Callable[[], None]) -> None:
        self._server = server
        self._now = now
        self.link = Link(server)
        self.queue = Queue(self._write, freed, most=_TOGETHER)

    def close(self) -> None:
        """Write all that is queued and let go of the connection."""
        self.queue.drain_all()
        with self.queue.gate:
            self.link.shut = True
            self.link.drop()

    def _write(self, entries: Sequence[Entry]) -> None:
        if not self._together(entries):
            for entry in entries:  # each gets the error that is its own
                self._together([entry])

    def _together(self, entries: Sequence[Entry]) -> bool:
        """All of ``entries`` in one transaction; False where it failed for a reason that may be one batch's alone."""
        if not entries:
            return True
        refused: dict[int, BaseException] = {}
        keys = sorted({self.key(entry.scope, entry.batch.thread) for entry in entries})
        begin = self._server.begin(keys, durable=any(entry.batch.durable for entry in entries))
        try:
            with self.link.writing(begin) as at:
                group = Group(self.link, self._now(at), [(entry.scope, entry.batch) for entry in entries])
                for i, entry in enumerate(entries):
                    if (refusal := group.take(entry.scope, entry.batch)) is not None:
                        refused[i] = refusal
                group.write()
        except BaseException as error:
            if not isinstance(error, Exception):
                if self.link.committed:
                    finish(entries, refused)
                raise
            # Once waited, or once lost, is enough for all of them.
            told = translated(error, self._server.place, "commit") if isinstance(error, psycopg.Error) else error
            common = is_lost(error) or isinstance(told, StoreLocked) or isinstance(error, StoreError)
            if len(entries) > 1 and not common:
                return False
            refused = dict.fromkeys(range(len(entries)), told)
        finish(entries, refused)
        return True

    def key(self, scope: str, thread: str) -> int:
        """The number of a thread's lock."""
        return lock_key("thread", self._server.schema, scope, thread)
