"""`PgVectors` keeps the promises of the port, on a real server with pgvector, by whole search and by an index."""

from __future__ import annotations

import itertools
import os

import pytest

pytest.importorskip("psycopg")

from lawful.rag.pg_vectors import PgVectors
from lawful.rag.ports import Entry, VectorStore
from lawful.testing.conformance_vectors import VectorConformance, passage
from support.pg import PgServer

pytestmark = pytest.mark.postgres

_NAMES = itertools.count()


def _table() -> str:
    return f"v{os.getpid()}_{next(_NAMES)}"


@pytest.fixture(scope="module", autouse=True)
def has_pgvector(pg: PgServer) -> None:
    if not pg.run("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"):
        pytest.skip("this server has no pgvector")


class TestExact(VectorConformance):
    """Rows: S0-158."""

    @pytest.fixture(autouse=True)
    def server(self, pg: PgServer) -> None:
        self.url = pg.url()

    def make_store(self) -> VectorStore:
        return PgVectors(self.url, table=_table())


class TestIndexed(TestExact):
    """Rows: S0-158."""

    def make_store(self) -> VectorStore:
        return PgVectors(self.url, table=_table(), index="hnsw")


def test_a_lost_connection_is_made_anew(pg: PgServer) -> None:
    """Rows: S0-158."""
    table = _table()
    with PgVectors(pg.url(), table=table) as store, PgVectors(pg.url(), table=table) as other:
        store.upsert([Entry(passage("a"), (1, 0))])
        assert other.dimensions == 2
        store.close()
        assert store.ids() == ["a"]
