"""`PostgresCache`: results of nodes in a PostgreSQL database, shared by any number of machines; extra ``postgres``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from zlib import crc32

from lawful.core.clock import Clock
from lawful.core.errors import ConfigurationError, CorruptRecord
from lawful.journal.cache_port import FullKey, Namespace
from lawful.stores.memory_cache import bounded
from lawful.stores.postgres_link import Server
from lawful.stores.postgres_pool import Pool
from lawful.stores.postgres_schema import CACHE, check_schema

_GET = "SELECT place, crc, value FROM @cache WHERE place=ANY(%s::bytea[]) AND (expires IS NULL OR expires > %s)"
_PUT = """
INSERT INTO @cache AS c (place, space, expires, crc, value)
SELECT * FROM unnest(%s::bytea[], %s::bytea[], %s::float8[], %s::int4[], %s::bytea[])
ON CONFLICT (place) DO UPDATE SET written=excluded.written, expires=excluded.expires, crc=excluded.crc, value=excluded.value"""
# Rows that somebody else is just writing are left: two sweeps must not wait for each other.
_SWEEP = """
DELETE FROM @cache WHERE place IN (SELECT place FROM @cache WHERE expires <= %s
OR written <= (SELECT written FROM @cache ORDER BY written DESC OFFSET %s LIMIT 1) FOR UPDATE SKIP LOCKED)"""
_EVERY = 32
"""Writes between two sweeps of what has expired or is too much."""


class PostgresCache:
    """A cache in the table that `lawful.stores.postgres.setup` made, for any number of threads, processes and machines.

    The table is unlogged: a crash of the server empties it, without harm. The oldest results beyond ``max_entries`` are
    forgotten. ``connections`` is how many this process opens at most; works behind a pooler, as the journal does. Times are
    the database's, unless ``clock`` is given. Raises: ConfigurationError, NewerSchema, StoreError, StoreLocked, CorruptRecord.
    """

    blocking = True

    def __init__(
        self,
        url: str,
        *,
        schema: str = "lawful",
        max_entries: int = 100_000,
        connections: int = 4,
        busy_timeout: float = 5.0,
        prepare: bool = False,
        clock: Clock | None = None,
    ) -> None:
        if connections < 1:
            raise ConfigurationError(
                f"connections must be at least 1, but is {connections}", component="cache", operation="open"
            )
        self.max_entries = bounded(max_entries)
        server = Server(url, check_schema(schema), busy_timeout=busy_timeout, prepare=prepare, safe=False, kind=CACHE)
        self._pool = Pool(server, writers=1, readers=connections, clock=clock, component="cache")
        self._writes = 0

    @property
    def place(self) -> str:
        """The server, database and schema, for people; without user and password."""
        return self._pool.server.place

    def get(self, keys: Sequence[FullKey]) -> Mapping[FullKey, bytes]:
        if not keys:
            return {}
        places = {_place(key): key for key in keys}
        found: dict[FullKey, bytes] = {}
        with self._pool.reading() as (link, now):
            for place, crc, value in link.run(_GET, (list(places), now)):
                if _crc(value) != crc:
                    raise _damaged(value)
                found[places[place]] = value
        return found

    def set(self, pairs: Mapping[FullKey, tuple[bytes, float | None]]) -> None:
        # In one order, so that two who put the same keys cannot lock each other out.
        rows = sorted((_place(key), _space(key[0]), ttl, value) for key, (value, ttl) in pairs.items())
        if not rows:
            return
        with self._pool.locking(()) as (link, now):
            until = [None if ttl is None else now + ttl for _, _, ttl, _ in rows]
            values = [value for *_, value in rows]
            columns = ([row[0] for row in rows], [row[1] for row in rows], until, [_crc(v) for v in values], values)
            link.write(_PUT, columns)
            if self._writes % _EVERY == 0:
                link.write(_SWEEP, (now, self.max_entries))
        self._writes += 1

    def clear(self, namespaces: Sequence[Namespace] | None = None) -> None:
        with self._pool.locking(()) as (link, _):
            if namespaces is None:
                link.write("DELETE FROM @cache")
            else:
                link.write("DELETE FROM @cache WHERE space=ANY(%s::bytea[])", ([_space(ns) for ns in namespaces],))

    def close(self) -> None:
        """Give back the connections; further calls raise StoreError."""
        self._pool.close()


def _space(ns: Namespace) -> bytes:
    return blake2b(json.dumps(list(ns), ensure_ascii=True).encode(), digest_size=16).digest()


def _place(key: FullKey) -> bytes:
    told = json.dumps([*key[0], key[1]], ensure_ascii=True).encode()
    return blake2b(told, digest_size=32).digest()


def _crc(value: bytes) -> int:
    return crc32(value) - (1 << 31)  # as a signed column holds it


def _damaged(value: bytes) -> CorruptRecord:
    error = CorruptRecord(
        "An entry of the cache is damaged: clear_cache() forgets it", component="cache", operation="read"
    )
    error.raw = value
    return error
