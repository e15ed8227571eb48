"""One PostgreSQL server for all tests of a session, started when the first of them asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.pg import PgServer, missing


@pytest.fixture(scope="session")
def pg() -> Iterator[PgServer]:
    if why := missing():
        pytest.fail(why)
    server = PgServer()
    yield server
    server.remove()


@pytest.fixture
def schema(pg: PgServer) -> str:
    """A new schema, set up."""
    return pg.schema()
