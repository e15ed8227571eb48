"""Deaths of a client inside a transaction of PostgreSQL: while a statement runs, while it waits, or in the COMMIT itself."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Literal, TypeAlias

from lawful.stores.postgres import PostgresJournal
from lawful.stores.postgres_schema import lock_key
from lawful.testing.crash import Write, watch_writes
from support.crash_programs import note
from support.pg import PgServer

Where: TypeAlias = Literal["statement", "lock", "commit", "ended"]
"""In a statement of the transaction; while it waits for its thread's lock, which another session has; in the COMMIT, which
the server then finishes; or there, and the server ends the session."""

_TABLES = ("checkpoint", "writes", "answer", "event")


def make_tearable(pg: PgServer, schema: str) -> None:
    """Let a transaction that inserts into ``schema`` sleep, in the statement or in its COMMIT, while ``slow`` says so."""
    statements = [
        f"CREATE TABLE {schema}.slow(place text)",
        f"""CREATE FUNCTION {schema}.rest() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF EXISTS (SELECT 1 FROM {schema}.slow WHERE place = TG_ARGV[0]) THEN PERFORM pg_sleep(0.4); END IF;
  RETURN NEW; END $$""",
    ]
    for table in _TABLES:
        call = f"ON {schema}.{table}%s FOR EACH ROW EXECUTE FUNCTION {schema}.rest"
        statements += [
            f"CREATE TRIGGER in_statement BEFORE INSERT {call % ''}('statement')",
            f"CREATE CONSTRAINT TRIGGER in_commit AFTER INSERT {call % ' DEFERRABLE INITIALLY DEFERRED'}('commit')",
        ]
    pg.run(*statements)


def die_inside(journal: PostgresJournal, folder: Path, url: str, schema: str, write: int, where: Where) -> None:
    """Kill this process inside the transaction of its write number ``write``, or of the next that inserts something.

    The number of the transaction is left in the file ``torn``, so that a test can ask what became of it.
    """
    begun = threading.Event()

    def hook(seen: Write) -> None:
        if seen.place == "before" and seen.number >= write and not begun.is_set() and seen.batch is not None:
            begun.set()
            thread = seen.batch.thread
            ready = threading.Event()
            threading.Thread(target=_watch, args=(folder, url, schema, where, thread, ready), daemon=True).start()
            assert ready.wait(10)

    watch_writes(journal, hook)


def _watch(folder: Path, url: str, schema: str, where: Where, thread: str, ready: threading.Event) -> None:
    import psycopg

    place = "statement" if where == "statement" else "commit"
    sign = "wait_event = 'advisory'" if where == "lock" else "wait_event = 'PgSleep'"
    with psycopg.connect(url, autocommit=True) as con:
        if where == "lock":
            con.execute("SELECT pg_advisory_lock(%s)", (lock_key("thread", schema, "local", thread),))
        else:
            con.execute(f"INSERT INTO {schema}.slow VALUES (%s)".encode(), (place,))
        ready.set()
        until = time.monotonic() + 10
        while time.monotonic() < until:
            found = con.execute(f"SELECT pid, backend_xid::text FROM pg_stat_activity WHERE {sign}".encode()).fetchone()
            if found is not None:
                note(folder, "torn", transaction=found[1])
                con.execute(f"DELETE FROM {schema}.slow".encode())
                if where == "ended":
                    con.execute("SELECT pg_terminate_backend(%s)", (found[0],))
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(0.005)


def settled(pg: PgServer) -> None:
    """Wait until no transaction sleeps any more."""
    until = time.monotonic() + 20
    while pg.run("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"):
        assert time.monotonic() < until
        time.sleep(0.02)


def fate(pg: PgServer, transaction: str) -> str:
    """What became of a transaction: ``committed`` or ``aborted``, once the server is through with it."""
    until = time.monotonic() + 20
    while True:
        [(told,)] = pg.run(f"SELECT pg_xact_status('{int(transaction)}'::xid8)")
        if told != "in progress":
            return told
        assert time.monotonic() < until
        time.sleep(0.02)
