"""One PostgreSQL server for all tests of a session, started when the first of them asks for it."""

from __future__ import annotations

import pytest

from support.pg import PgServer, missing, shared


@pytest.fixture(scope="session")
def pg() -> PgServer:
    if why := missing():
        pytest.fail(why)
    return shared()


@pytest.fixture
def schema(pg: PgServer) -> str:
    """A new schema, set up."""
    return pg.schema()
