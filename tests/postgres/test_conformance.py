"""`PostgresJournal` keeps every promise of the port: straight, and behind a pooler that changes connections."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lawful.core.clock import Clock
from lawful.journal.port import Journal
from lawful.testing.conformance import JournalConformance
from support.pg import PgServer, Pooler, pooled, skipped

pytestmark = [pytest.mark.integration, pytest.mark.postgres, skipped]


class TestPostgresJournal(JournalConformance):
    """Rows: S0-120, S0-121, S0-123, S1-K03, S1-K04, S1-K05, S1-K07. Rules: 74, 84."""

    @pytest.fixture(autouse=True)
    def _server(self, pg: PgServer) -> None:
        TestPostgresJournal.server = pg

    server: PgServer

    def make_journal(self, clock: Clock) -> Journal:
        return self.server.journal(clock=clock)


@pytest.mark.full
@pooled
class TestPostgresBehindAPooler(JournalConformance):
    """Two connections for all, each transaction on whichever is free."""

    @pytest.fixture(autouse=True)
    def _pooler(self, pg: PgServer) -> Iterator[None]:
        TestPostgresBehindAPooler.server = pg
        TestPostgresBehindAPooler.pooler = pooler = Pooler(pg)
        yield
        pooler.remove()

    server: PgServer
    pooler: Pooler

    def make_journal(self, clock: Clock) -> Journal:
        return self.server.journal(url=self.pooler.url, clock=clock)
