"""Savers and stores under LangGraph's names are made, set up and used in the order in which its programs do that."""

from __future__ import annotations

from typing import Any, TypedDict

import pytest

from lawful.core.errors import ConfigurationError, StoreError
from lawful.graph import START, Command, StateGraph, interrupt
from support.pg import PgServer, skipped

pytest.importorskip("psycopg")

import psycopg

from lawful.checkpoint.postgres import PostgresSaver
from lawful.checkpoint.postgres.aio import AsyncPostgresSaver
from lawful.store.postgres import PostgresStore
from lawful.store.postgres.aio import AsyncPostgresStore

pytestmark = [pytest.mark.postgres, pytest.mark.integration, skipped]


class State(TypedDict, total=False):
    said: str


def ask(state: State) -> State:
    return {"said": interrupt("which?")}


def asking(saver: Any) -> Any:
    return StateGraph(State).add_node("ask", ask).add_edge(START, "ask").compile(checkpointer=saver)


@pytest.fixture
def empty(pg: PgServer, request: pytest.FixtureRequest) -> str:
    """The URL of a database in which nothing was ever set up."""
    name = f"empty_{abs(hash(request.node.nodeid))}"
    pg.run(f"CREATE DATABASE {name}")
    return pg.url(database=name)


def test_a_saver_is_opened_first_and_set_up_then(empty: str) -> None:
    """Rows: S0-123, S1-K01."""
    with PostgresSaver.from_conn_string(empty, pipeline=True) as saver:
        with pytest.raises(StoreError, match="setup"):
            asking(saver).invoke({}, thread="t")
        saver.setup()
        saver.setup()
        assert asking(saver).invoke({}, thread="t")["__interrupt__"][0].value == "which?"
    with PostgresSaver.from_conn_string(empty) as saver:
        assert asking(saver).invoke(Command(resume="this"), thread="t") == {"said": "this"}


async def test_so_are_the_async_saver_and_the_stores(empty: str) -> None:
    async with AsyncPostgresStore.from_conn_string(empty, pipeline=True) as store:
        await store.setup()
        await store.aput(("a",), "k", {"v": 1})
    with PostgresStore.from_conn_string(empty, pipeline=True) as plain:
        plain.setup()
        assert [item.value for item in plain.search(("a",))] == [{"v": 1}]
    async with AsyncPostgresSaver.from_conn_string(empty, pipeline=True) as saver:
        await saver.setup()
        assert (await asking(saver).ainvoke({}, thread="t"))["__interrupt__"][0].value == "which?"


def test_what_is_wrong_otherwise_is_still_told_when_it_is_opened(
    pg: PgServer, empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lawful.stores import postgres_schema

    with pytest.raises(StoreError, match="not_there"):
        PostgresSaver(pg.url(database="not_there"))
    PostgresSaver(empty).setup()
    steps = (*postgres_schema.MIGRATIONS, ("CREATE TABLE @extra(n integer)",))
    monkeypatch.setattr(postgres_schema, "MIGRATIONS", steps)
    saver = PostgresSaver(empty)  # older than the library: to be set up again
    with pytest.raises(StoreError, match="setup"):
        saver.threads()
    saver.setup()
    assert saver.threads() == []
    saver.close()
    monkeypatch.undo()
    with pytest.raises(StoreError, match="update lawful"):
        PostgresSaver(empty)


class Pool:
    """As psycopg_pool's, of which a program hands its own to the saver."""

    def __init__(self, conninfo: Any, **kwargs: Any) -> None:
        self.conninfo = conninfo
        self.kwargs = kwargs


def test_a_connection_or_a_pool_says_where_the_database_is(pg: PgServer, empty: str) -> None:
    """Rows: S0-123."""
    name = empty.partition("?")[0].rpartition("/")[2]
    with psycopg.connect(empty, autocommit=True) as con:
        of_connection = PostgresSaver(con)
        of_connection.setup()
        asking(of_connection).invoke({}, thread="t")
    pool = Pool(f"host={pg.folder} user=postgres", dbname=name, autocommit=True, prepare_threshold=0)
    of_pool, store = PostgresSaver(pool), PostgresStore(pool)
    assert [info.thread for info in of_pool.threads()] == ["t"]
    store.put(("a",), "k", {"v": 1})
    for one in (of_connection, of_pool, store):
        one.close()
    for wrong in (None, 7, Pool(lambda: empty), object()):
        with pytest.raises(ConfigurationError, match="connection string"):
            PostgresSaver(wrong)


def test_a_connections_password_is_taken_along_and_told_nowhere(pg: PgServer) -> None:
    url = f"host={pg.folder} user=postgres dbname=postgres password=planted-secret"
    with psycopg.connect(url) as con:
        from lawful.stores.postgres_connections import url_of

        assert "planted-secret" in url_of(con)
        saver = PostgresSaver(con, schema="never_set_up")
    assert "planted-secret" not in repr(saver) + saver.place
    with pytest.raises(StoreError) as caught:
        saver.threads()
    assert "planted-secret" not in str(caught.value) + repr(caught.value.details)
    saver.close()
