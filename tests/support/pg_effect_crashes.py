"""The ledger's crash points over PostgreSQL: the same program as on SQLite, its journal on a server."""

from __future__ import annotations

from typing import Any

from lawful.stores.postgres import PostgresJournal
from lawful.testing.crash_server import Life
from support.effect_crashes import pay
from support.pg_programs import Later


def on_postgres(life: Life) -> Any:
    """One life of a case; ``life.told`` is the server's address, the schema, the kind of provider and the point of death."""
    url, schema, kind, point = life.told
    # Each later life is a minute on: the leases of whoever died before are over.
    journal = PostgresJournal(url, schema=schema, clock=Later(life.number))
    told = pay(journal, life.folder, kind, point, life.number)
    journal.close()
    return told
