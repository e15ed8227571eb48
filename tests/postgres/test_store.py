"""`PostgresStore` keeps every promise of the port, answers as memory does, and takes writes of many at once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.store import test_agreement as agreement

from lawful.core.clock import Clock, FixedClock
from lawful.core.errors import ConfigurationError, CorruptRecord, NewerSchema, StoreError
from lawful.stores.memory_store import MemoryStore
from lawful.stores.store_port import Store
from lawful.stores.store_records import IndexConfig, PutOp, TTLConfig
from lawful.testing.conformance_kit import START, at_once
from lawful.testing.conformance_store import StoreConformance
from support.forks import ended, fork
from support.pg import PgServer, Pooler, pooled, skipped

pytestmark = [pytest.mark.integration, pytest.mark.postgres, skipped]

CALLS: Any = vars(agreement)["_CALLS"]
told: Any = vars(agreement)["_told"]


class TestPostgresStore(StoreConformance):
    """Rows: S1-K12, S0-123. Rules: 209."""

    @pytest.fixture(autouse=True)
    def _server(self, pg: PgServer) -> None:
        TestPostgresStore.server = pg

    server: PgServer

    def make_store(self, clock: Clock, ttl: TTLConfig | None) -> Store:
        return self.server.store(clock=clock, ttl=ttl)

    def make_indexed(self, clock: Clock, ttl: TTLConfig | None, index: IndexConfig) -> Store:
        return self.server.store(clock=clock, ttl=ttl, index=index)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(CALLS, max_size=14))
def test_it_says_the_same(pg: PgServer, calls: list[Any]) -> None:
    """Labels with ``. _ % \\ * :`` mean the same here (CVE-2026-71433). Rows: S1-K12."""
    clocks = FixedClock(START), FixedClock(START)
    memory = told(MemoryStore(clock=clocks[0]), clocks[0], calls)
    assert told(pg.store(clock=clocks[1]), clocks[1], calls) == memory


def test_it_goes_by_the_databases_clock(pg: PgServer, schema: str) -> None:
    with pg.store(schema) as store:
        store.put(("a",), "k", {})
        found = store.get(("a",), "k")
        assert found is not None
        assert abs(pg.run("SELECT extract(epoch FROM now())::float8")[0][0] - found.created_at.timestamp()) < 60


def test_long_namespaces_and_keys_are_kept_apart(pg: PgServer, schema: str) -> None:
    """An index holds only short names; these differ far behind what it holds."""
    long = "x" * 5_000
    places = [((long, "a"), "k"), ((long, "b"), "k"), ((long,), long), ((long, "a"), long + "y")]
    with pg.store(schema) as store:
        for n, (ns, key) in enumerate(places):
            store.put(ns, key, {"n": n})
        assert [item.value["n"] for item in store.search((long, "a"))] == [3, 0]
        assert [item.value["n"] for item in store.search((long,))] == [3, 2, 1, 0]
        assert [store.get(ns, key).value["n"] for ns, key in places] == [0, 1, 2, 3]  # pyright: ignore[reportOptionalMemberAccess]


def test_batches_of_many_at_once_neither_tear_nor_lock_each_other_out(pg: PgServer, schema: str) -> None:
    """In opposite orders, over two connections pools. Rows: S0-123."""
    before = pg.run("SELECT sum(deadlocks) FROM pg_stat_database")[0][0]
    stores = [pg.store(schema, connections=8, busy_timeout=30), pg.store(schema, connections=8, busy_timeout=30)]
    keys = [f"k{n}" for n in range(6)]

    def work(n: int) -> None:
        for round in range(4):
            order = keys if n % 2 else keys[::-1]
            stores[n % 2].batch([PutOp(("a",), key, {"by": n, "round": round}) for key in order])

    assert [error for error in at_once(12, work) if error is not None] == []
    found = stores[0].search(("a",))
    assert len({(item.value["by"], item.value["round"]) for item in found}) == 1
    assert len(found) == 6
    assert pg.run("SELECT sum(deadlocks) FROM pg_stat_database")[0][0] == before
    for store in stores:
        store.close()


def test_a_forked_child_writes_beside_its_parent(pg: PgServer, schema: str) -> None:
    with pg.store(schema) as store:
        store.put(("a",), "parent", {})
        child = fork(lambda: store.put(("a",), "child", {}))
        store.put(("a",), "later", {})
        assert ended(child) == 0
        assert {item.key for item in store.search(("a",))} == {"parent", "child", "later"}


def test_a_damaged_row_is_told_with_its_place(pg: PgServer, schema: str) -> None:
    with pg.store(schema) as store:
        store.put(("a", "b"), "k", {"n": 1})
        pg.run(f"UPDATE {schema}.item SET value='\\x80'")
        with pytest.raises(CorruptRecord, match="'k'") as caught:
            store.get(("a", "b"), "k")
        assert caught.value.raw == b"\x80"


def test_a_newer_store_is_left_alone_and_an_older_one_told_what_to_run(pg: PgServer, schema: str) -> None:
    pg.run(f"UPDATE {schema}.meta SET value='9' WHERE name='store'")
    with pytest.raises(NewerSchema, match="9"):
        pg.store(schema)
    pg.run(f"DELETE FROM {schema}.meta WHERE name='store'")
    with pytest.raises(StoreError, match="setup"):
        pg.store(schema)


def test_a_journal_set_up_before_there_were_stores_gets_the_table(pg: PgServer, schema: str) -> None:
    from lawful.stores.postgres import setup

    pg.run(f"DELETE FROM {schema}.meta WHERE name='store'", f"DROP TABLE {schema}.vector, {schema}.item")
    setup(pg.url(), schema=schema)
    with pg.store(schema) as store:
        store.put(("a",), "k", {})
        assert store.get(("a",), "k") is not None


def test_the_running_role_may_use_it(pg: PgServer, schema: str) -> None:
    from lawful.stores.postgres import grants

    pg.run("DROP ROLE IF EXISTS keeps", "CREATE ROLE keeps LOGIN", grants("keeps", schema=schema))
    try:
        with pg.store(schema, url=pg.url("keeps")) as store:
            store.put(("a",), "k", {"n": 1}, ttl=5)
            store.put(("a",), "k", {"n": 2}, ttl=5)
            assert store.get(("a",), "k") is not None
            store.delete(("a",), "k")
            assert store.sweep_ttl() == 0
    finally:
        pg.run("DROP OWNED BY keeps", "DROP ROLE keeps")


def test_wrong_options_are_refused(pg: PgServer) -> None:
    with pytest.raises(ConfigurationError, match="connections"):
        pg.store("lawful", connections=0)
    with pytest.raises(ConfigurationError, match="PostgreSQL URL"):
        pg.store("lawful", url="postgresql://[broken")


@pytest.mark.full
@pooled
def test_behind_a_pooler(pg: PgServer, schema: str) -> None:
    pooler = Pooler(pg)
    try:
        with pg.store(schema, url=pooler.url, connections=8, busy_timeout=30) as store:
            at_once(8, lambda n: [store.put(("a",), f"{n}-{k}", {"n": n}) for k in range(5)])
            assert len(store.search(("a",), limit=100)) == 40
    finally:
        pooler.remove()
