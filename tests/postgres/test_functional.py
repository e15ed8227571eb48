"""The functional form on PostgreSQL: calls replayed in another process, previous, and the names of LangGraph's savers."""

from __future__ import annotations

from typing import Any

import pytest

from lawful.graph import Command, interrupt
from lawful.graph.functional import entrypoint, task
from support.pg import PgServer, skipped

pytest.importorskip("psycopg")

from lawful.checkpoint.postgres import PostgresSaver
from lawful.checkpoint.postgres.aio import AsyncPostgresSaver
from lawful.store.postgres import AsyncPostgresStore, PostgresStore
from lawful.stores.store_records import IndexConfig
from lawful.testing.conformance_store_index import letters_later

pytestmark = [pytest.mark.postgres, pytest.mark.integration, skipped]


def flow(saver: Any, ran: list[int]) -> Any:
    @task
    def double(number: int) -> int:
        ran.append(number)
        return number * 2

    @entrypoint(checkpointer=saver)
    def doubled(numbers: list[int], *, previous: list[int] | None = None) -> list[int]:
        results = [f.result() for f in [double(n) for n in numbers]]
        return [*(previous or []), *results, interrupt("more?")]

    return doubled


def test_calls_are_replayed_in_another_process(pg: PgServer, schema: str) -> None:
    """Rules: 200, 202. Rows: S1-P14."""
    ran: list[int] = []
    with PostgresSaver.from_conn_string(pg.url(), schema=schema) as saver:
        saver.setup()
        assert flow(saver, ran).invoke([1, 2], thread="t")["__interrupt__"][0].value == "more?"
    with PostgresSaver.from_conn_string(pg.url(), schema=schema) as saver:
        assert flow(saver, ran).invoke(Command(resume=9), thread="t") == [2, 4, 9]
        flow(saver, ran).invoke([5], thread="t")
        assert flow(saver, ran).invoke(Command(resume=0), thread="t") == [2, 4, 9, 10, 0]
    assert sorted(ran) == [1, 2, 5]


async def test_async_calls_are_stored_before_they_are_told(pg: PgServer, schema: str) -> None:
    """Rules: 200."""

    @task
    async def double(number: int) -> int:
        return number * 2

    async with AsyncPostgresSaver.from_conn_string(pg.url(), schema=schema) as saver:
        await saver.setup()
        seen: list[int] = []

        @entrypoint(checkpointer=saver)
        async def doubled(number: int) -> int:
            result = await double(number)
            chain = saver.chain("t")
            assert chain is not None
            seen.append(len([w for w in chain.writes if w.kind == "done"]))
            return result

        assert await doubled.ainvoke(4, thread="t") == 8
        assert seen == [1]


async def test_the_async_store_by_langgraphs_name(pg: PgServer, schema: str) -> None:
    index: IndexConfig = {"dims": 4, "embed": letters_later}
    async with AsyncPostgresStore.from_conn_string(pg.url(), schema=schema, index=index) as store:
        await store.setup()
        await store.aput(("a",), "k", {"v": "ab"})
        assert [item.key for item in await store.asearch(("a",), query="a")] == ["k"]


def test_the_store_by_langgraphs_name(pg: PgServer, schema: str) -> None:
    with PostgresStore.from_conn_string(pg.url(), schema=schema, ttl={"default_ttl": 5}) as store:
        store.setup()
        store.put(("a",), "k", {"v": 1})
        found = store.get(("a",), "k")
        assert found is not None
        assert found.value == {"v": 1}
