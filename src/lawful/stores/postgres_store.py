"""`PostgresStore`: the long-term store in a PostgreSQL database, for any number of machines; extra ``postgres``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from typing import Any, ClassVar, TypeVar
from zlib import crc32

from lawful.core.clock import SYSTEM, Clock
from lawful.core.errors import ConfigurationError
from lawful.stores.postgres_link import Link, Server
from lawful.stores.postgres_pool import Pool
from lawful.stores.postgres_rekeying import DIALECT, fetched, rewritten
from lawful.stores.postgres_schema import STORE, check_schema, lock_key
from lawful.stores.sqlite_store_schema import after, packed, unpacked
from lawful.stores.store_checks import closed, corrupt
from lawful.stores.store_port import Store, StoreTx
from lawful.stores.store_records import IndexConfig, Namespace, Record, TTLConfig, expiry

T = TypeVar("T")

_HEAD = 512
"""Bytes of a namespace that the index holds; of longer ones the rest is compared row by row."""
_FIELDS = "ns, key, value, crc, created, updated, ttl, expires"
_LIVE = "(expires IS NULL OR expires > %s)"
_PUT = """
WITH old AS (DELETE FROM @vector WHERE scope=%s AND place=%s)
INSERT INTO @item AS i (scope, place, head, ns, key, created, updated, ttl, expires, crc, value)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (scope, place) DO UPDATE SET written=excluded.written, updated=excluded.updated, ttl=excluded.ttl,
expires=excluded.expires, crc=excluded.crc, value=excluded.value,
created=CASE WHEN i.expires <= excluded.updated THEN excluded.created ELSE i.created END"""
_PUT_VECTORS = "INSERT INTO @vector (scope, place, crc, body) VALUES (%s, %s, %s, %s)"
_TOUCH = """
UPDATE @item i SET expires=t.until FROM unnest(%s::bytea[], %s::float8[], %s::float8[], %s::float8[])
t(place, updated, ttl, until) WHERE i.scope=%s AND i.place=t.place AND i.updated=t.updated AND i.ttl=t.ttl"""


class PostgresStore(Store):
    """A store in the tables that `lawful.stores.postgres.setup` made, for any number of threads, processes and machines.

    Works behind a pooler that hands out a connection for each transaction, and prepares no statements on the server
    unless ``prepare`` says so. The writes of one scope go one after the other; reads wait for nobody. ``connections`` is
    how many this process opens at most. ``busy_timeout`` is how many seconds to wait for another's lock, or for a
    connection, before StoreLocked. Times are the database's, unless ``clock`` is given. ``schema`` is where the tables
    are. A fork is safe: the child makes connections of its own.

    Raises: ConfigurationError, NewerSchema, StoreError.
    """

    blocking = True
    supports_index = True
    _before_setup: ClassVar = False

    def __init__(
        self,
        url: str,
        *,
        schema: str = "lawful",
        scope: str = "local",
        ttl: TTLConfig | None = None,
        index: IndexConfig | None = None,
        connections: int = 4,
        busy_timeout: float = 5.0,
        prepare: bool = False,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(scope=scope, ttl=ttl, index=index, clock=clock or SYSTEM)
        if connections < 1:
            raise ConfigurationError(
                f"connections must be at least 1, but is {connections}", component="store", operation="open"
            )
        server = Server(url, check_schema(schema), busy_timeout=busy_timeout, prepare=prepare, safe=True, kind=STORE)
        self._pool = Pool(
            server, writers=1, readers=connections, clock=clock, component="store", before_setup=self._before_setup
        )
        self._open = [True]

    @property
    def place(self) -> str:
        """The server, database and schema, for people; without user and password."""
        return self._pool.server.place

    def run(self, scope: str, work: Callable[[StoreTx], T], *, writing: bool) -> T:
        if not self._open[0]:
            raise closed()
        keys = [lock_key("store", self._pool.server.schema, scope)]
        if writing:
            with self._pool.locking(keys) as (link, now):
                tx = _Tx(link, scope, now)
                done = work(tx)
                tx.settle()
                return done
        with self._pool.reading() as (link, now):
            tx = _Tx(link, scope, now)
            done = work(tx)
        if tx.touched:
            with self._pool.locking(keys) as (link, _):
                tx.moved_to(link).settle()
        return done

    def sweep_ttl(self) -> int:
        if not self._open[0]:
            raise closed()
        with self._pool.locking(()) as (link, now):
            return link.write("DELETE FROM @item WHERE expires <= %s", (now,)).rowcount

    # Sealed bytes.

    dialect = DIALECT

    def fetch_raw(self, statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """As `lawful.stores.rekeying.Rewritable`; for that alone."""
        with self._pool.reading() as (link, _):
            return fetched(link, statement, values)

    def rewrite_raw(self, table: str, changes: Sequence[tuple[str, Sequence[Any]]]) -> int:
        """As `lawful.stores.rekeying.Rewritable`; for that alone."""
        with self._pool.locking(()) as (link, _):
            return rewritten(link, table, changes)

    def close(self) -> None:
        self._open[0] = False
        self._pool.close()


class _Tx:
    def __init__(self, link: Link, scope: str, now: float) -> None:
        self._link = link
        self._scope = scope
        self._now = now
        self.touched: list[Record] = []

    def moved_to(self, link: Link) -> _Tx:
        """The same, in another transaction."""
        self._link = link
        return self

    def read(self, namespace: Namespace, key: str) -> Record | None:
        row = self._link.run(
            f"SELECT {_FIELDS} FROM @item WHERE scope=%s AND place=%s AND {_LIVE}",
            (self._scope, _place(packed(namespace), key), self._now),
        ).fetchone()
        return None if row is None else _record(row)

    def rows(self, prefix: Namespace) -> Iterator[Record]:
        within, bounds = _within(prefix)
        found = self._link.run(
            f"SELECT {_FIELDS} FROM @item WHERE scope=%s AND {_LIVE}{within} ORDER BY written DESC",
            (self._scope, self._now, *bounds),
        )
        return map(_record, found)

    def namespaces(self, prefix: Namespace) -> Iterator[Namespace]:
        within, bounds = _within(prefix)
        found = self._link.run(
            f"SELECT DISTINCT ns FROM @item WHERE scope=%s AND {_LIVE}{within} ORDER BY ns",
            (self._scope, self._now, *bounds),
        )
        return (_namespace(ns) for (ns,) in found)

    def write(self, namespace: Namespace, key: str, value: bytes, ttl: float | None) -> None:
        # What was touched before this write must not outlive it.
        self.settle()
        ns, now = packed(namespace), self._now
        times = (now, now, ttl, expiry(now, ttl))
        place = (self._scope, _place(ns, key))
        self._link.write(_PUT, (*place, *place, ns[:_HEAD], ns, key, *times, _crc(value), value))

    def remove(self, namespace: Namespace, key: str) -> None:
        self.settle()
        place = _place(packed(namespace), key)
        self._link.write("DELETE FROM @item WHERE scope=%s AND place=%s", (self._scope, place))

    def set_vectors(self, namespace: Namespace, key: str, data: bytes) -> None:
        place = _place(packed(namespace), key)
        self._link.write(_PUT_VECTORS, (self._scope, place, _crc(data), data))

    def vectors(self, prefix: Namespace) -> Iterator[tuple[Namespace, str, bytes]]:
        within, bounds = _within(prefix)
        found = self._link.run(
            f"SELECT ns, key, body, v.crc FROM @item JOIN @vector v USING (scope, place)"
            f" WHERE scope=%s AND {_LIVE}{within} ORDER BY written DESC",
            (self._scope, self._now, *bounds),
        )
        return map(_vectors, found)

    def touch(self, found: Sequence[Record]) -> None:
        self.touched += found

    def settle(self) -> None:
        """Write down what was touched; what has been written or has gone meanwhile stays as it is."""
        if self.touched:
            places = [_place(packed(row.namespace), row.key) for row in self.touched]
            until = [expiry(self._now, row.ttl) for row in self.touched]
            times = ([row.updated for row in self.touched], [row.ttl for row in self.touched], until)
            self._link.write(_TOUCH, (places, *times, self._scope))
            self.touched.clear()


def _place(ns: bytes, key: str) -> bytes:
    # The namespace ends with NUL, which no key holds: no two places have the same text.
    return blake2b(ns + b"\x00" + key.encode(), digest_size=16).digest()


def _within(prefix: Namespace) -> tuple[str, tuple[bytes, ...]]:
    """What a row's namespace must be to begin with ``prefix``, and the values that this text is bound to."""
    if not prefix:
        return "", ()
    first = packed(prefix)
    end = after(first)
    return " AND head >= %s AND head <= %s AND ns >= %s AND ns < %s", (first[:_HEAD], end[:_HEAD], first, end)


def _crc(value: bytes) -> int:
    return crc32(value) - (1 << 31)  # as a signed column holds it


def _namespace(data: Any) -> Namespace:
    try:
        return unpacked(data)
    except (ValueError, TypeError, AttributeError) as error:
        raise corrupt(data, "", data if isinstance(data, bytes) else b"") from error


def _vectors(row: tuple[Any, ...]) -> tuple[Namespace, str, bytes]:
    ns, key, body, crc = row
    namespace = _namespace(ns)
    if _crc(body) != crc:
        raise corrupt(namespace, key, body)
    return namespace, key, body


def _record(row: tuple[Any, ...]) -> Record:
    ns, key, value, crc, created, updated, ttl, expires = row
    namespace = _namespace(ns)
    if _crc(value) != crc:
        raise corrupt(namespace, key, value)
    return Record(namespace, key, value, created, updated, ttl, expires)
