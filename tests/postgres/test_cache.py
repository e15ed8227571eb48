"""`PostgresCache` keeps every promise of the port, and the rules of cached nodes hold over it."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("psycopg")

from tests.graph import test_cache_refusals, test_node_cache
from tests.store import test_cache as promises

from lawful.core.clock import FixedClock
from lawful.core.errors import ConfigurationError, CorruptRecord, NewerSchema, StoreError
from lawful.graph import START, CachePolicy, StateGraph
from lawful.journal.cache_port import Cache
from lawful.stores import EncryptedCache, PostgresCache
from support.ciphers import TestCipher
from support.forks import ended, fork
from support.graph_fixtures import drive, strict
from support.pausing import Calls, Log
from support.pg import PgServer, Pooler, pooled, skipped

pytestmark = [pytest.mark.integration, pytest.mark.postgres, skipped]

__all__ = ["drive", "strict"]
NS = ("acme", "graph", "node")


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def cache(request: pytest.FixtureRequest, pg: PgServer, schema: str) -> Iterator[Cache]:
    timed = "clock" in request.fixturenames
    made = PostgresCache(pg.url(), schema=schema, clock=request.getfixturevalue("clock") if timed else None)
    yield made
    made.close()


def _taken() -> dict[str, Any]:
    """The tests of the port and of cached nodes that are given a cache."""
    held: list[dict[str, Any]] = [vars(module) for module in (promises, test_node_cache, test_cache_refusals)]
    found = {name: one for names in held for name, one in names.items() if name.startswith("test_")}
    return {name: one for name, one in found.items() if "cache" in inspect.signature(one).parameters}


TAKEN = _taken()
globals().update(TAKEN)


def test_the_rules_are_here() -> None:
    """Rules: 187."""
    assert {"test_threads_share_it", "test_a_hit_skips_the_node_and_says_so"} <= set(TAKEN)
    assert len(TAKEN) > 12


def test_machines_share_it_and_a_forked_child_too(pg: PgServer, schema: str) -> None:
    """Rules: 187. Rows: S0-123."""
    one, other = (PostgresCache(pg.url(), schema=schema) for _ in range(2))
    one.set({(NS, "a"): (b"a", None)})
    assert other.get([(NS, "a")]) == {(NS, "a"): b"a"}
    assert ended(fork(lambda: one.set({(NS, "b"): (one.get([(NS, "a")])[NS, "a"] + b"b", None)}))) == 0
    assert other.get([(NS, "b")]) == {(NS, "b"): b"ab"}
    one.close()
    other.close()


def test_many_at_once_neither_lose_nor_lock_each_other_out(pg: PgServer, schema: str) -> None:
    """The same keys in opposite orders, while both sweep."""
    caches = [PostgresCache(pg.url(), schema=schema, max_entries=20, connections=6, busy_timeout=30) for _ in range(2)]
    before = pg.run("SELECT sum(deadlocks) FROM pg_stat_database")[0][0]
    failed: list[BaseException] = []

    def work(n: int) -> None:
        keys = [(NS, str(k)) for k in range(30)][:: 1 if n % 2 else -1]
        try:
            for _ in range(40):
                caches[n % 2].set({key: (key[1].encode(), 60) for key in keys})
        except BaseException as error:
            failed.append(error)
            raise

    workers = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failed == []
    found = caches[0].get([(NS, str(k)) for k in range(30)])
    assert found == {key: key[1].encode() for key in found}
    assert pg.run("SELECT sum(deadlocks) FROM pg_stat_database")[0][0] == before
    for one in caches:
        one.close()


def test_it_is_bounded_and_sweeps_what_has_expired(pg: PgServer, schema: str) -> None:
    clock = FixedClock()
    cache = PostgresCache(pg.url(), schema=schema, max_entries=3, clock=clock)
    cache.set({(NS, "short"): (b"s", 10)})
    clock.advance(11)
    for n in range(65):
        cache.set({(NS, str(n)): (b"x", None)})
    assert pg.run(f"SELECT count(*) FROM {schema}.cache")[0][0] <= 3 + 32
    assert (NS, "64") in cache.get([(NS, "64")])
    cache.close()
    with pytest.raises(ConfigurationError, match="max_entries"):
        PostgresCache(pg.url(), schema=schema, max_entries=0)
    with pytest.raises(ConfigurationError, match="connections"):
        PostgresCache(pg.url(), schema=schema, connections=0)


def test_a_damaged_entry_is_told_and_clear_helps(pg: PgServer, schema: str) -> None:
    cache = PostgresCache(pg.url(), schema=schema)
    cache.set({(NS, "a"): (b"value", None)})
    pg.run(f"UPDATE {schema}.cache SET value='\\x00'")
    with pytest.raises(CorruptRecord) as caught:
        cache.get([(NS, "a")])
    assert caught.value.raw == b"\x00"
    cache.clear([NS])
    assert cache.get([(NS, "a")]) == {}
    cache.close()
    for use in (lambda: cache.get([(NS, "a")]), lambda: cache.set({(NS, "a"): (b"", None)}), cache.clear):
        with pytest.raises(StoreError, match="closed"):
            use()


def test_a_newer_cache_is_left_alone_and_a_missing_one_told_what_to_run(pg: PgServer, schema: str) -> None:
    pg.run(f"UPDATE {schema}.meta SET value='9' WHERE name='cache'")
    with pytest.raises(NewerSchema, match="9"):
        PostgresCache(pg.url(), schema=schema)
    pg.run(f"DELETE FROM {schema}.meta WHERE name='cache'")
    with pytest.raises(StoreError, match="setup"):
        PostgresCache(pg.url(), schema=schema)


def test_it_leaves_nothing_in_the_write_ahead_log_and_the_running_role_may_use_it(pg: PgServer, schema: str) -> None:
    """Rows: S0-123."""
    from lawful.stores.postgres import grants

    assert pg.run(f"SELECT relpersistence::text FROM pg_class WHERE oid='{schema}.cache'::regclass")[0][0] == "u"
    pg.run("DROP ROLE IF EXISTS caches", "CREATE ROLE caches LOGIN", grants("caches", schema=schema))
    try:
        cache = PostgresCache(pg.url("caches"), schema=schema)
        cache.set({(NS, "a"): (b"a", 5)})
        cache.set({(NS, "a"): (b"b", 5)})
        assert cache.get([(NS, "a")]) == {(NS, "a"): b"b"}
        cache.clear()
        cache.close()
    finally:
        pg.run("DROP OWNED BY caches", "DROP ROLE caches")


def test_encrypted_results_on_a_journal_of_the_same_schema(pg: PgServer, schema: str) -> None:
    """A node's result is found by another process's graph; no byte of it is in the table. Rules: 187. Rows: S1-K08."""
    calls = Calls()

    def work(state: Log) -> Log:
        calls("work")
        return {"log": ["a result that nobody should read"]}

    cipher = TestCipher({"k1": b"a" * 32}, "k1")
    for thread in ("t", "u"):
        cache = PostgresCache(pg.url(), schema=schema)
        graph: Any = StateGraph(Log).add_node("work", work, cache_policy=CachePolicy(scope="shared"))
        with_journal = graph.add_edge(START, "work").compile(
            checkpointer=pg.journal(schema), cache=EncryptedCache(cache, cipher)
        )
        assert with_journal.invoke({"log": []}, thread=thread)["log"] == ["a result that nobody should read"]
        with_journal.checkpointer.close()
        cache.close()
    assert calls.of("work") == 1
    [(value,)] = pg.run(f"SELECT value FROM {schema}.cache")
    assert b"nobody" not in bytes(value)


@pytest.mark.full
@pooled
def test_behind_a_pooler(pg: PgServer, schema: str) -> None:
    pooler = Pooler(pg)
    try:
        cache = PostgresCache(pooler.url, schema=schema, connections=4, busy_timeout=30)
        for n in range(40):
            cache.set({(NS, str(n)): (b"x", None)})
        assert len(cache.get([(NS, str(n)) for n in range(40)])) == 40
        cache.close()
    finally:
        pooler.remove()
