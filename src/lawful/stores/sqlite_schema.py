"""The tables of a journal file, how an older file is brought up to date, and how a file is told to be ours."""

from __future__ import annotations

import sqlite3
import time

from lawful.core.errors import NewerSchema, StoreError

APPLICATION = 0x4C415746
"""SQLite's application id of our files: the letters LAWF."""

_FIRST = """
CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE thread(
  id INTEGER PRIMARY KEY, scope TEXT NOT NULL, name TEXT NOT NULL, lineage TEXT NOT NULL, created REAL NOT NULL);
CREATE UNIQUE INDEX thread_key ON thread(scope, name);
CREATE TABLE space(id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, ns TEXT NOT NULL);
CREATE UNIQUE INDEX space_key ON space(thread, ns);
CREATE TABLE checkpoint(
  row INTEGER PRIMARY KEY, space INTEGER NOT NULL, id BLOB NOT NULL, parent BLOB, step INTEGER NOT NULL,
  source INTEGER NOT NULL, at REAL NOT NULL, weight INTEGER NOT NULL, branch INTEGER NOT NULL, hidden INTEGER NOT NULL,
  crc INTEGER NOT NULL, metadata BLOB NOT NULL, head BLOB NOT NULL, delta BLOB NOT NULL, snapshot BLOB, refs BLOB NOT NULL);
CREATE UNIQUE INDEX checkpoint_key ON checkpoint(space, id);
CREATE INDEX checkpoint_branch ON checkpoint(space, parent) WHERE branch = 1;
CREATE TABLE writes(
  row INTEGER PRIMARY KEY, space INTEGER NOT NULL, checkpoint NOT NULL, task NOT NULL, kind INTEGER NOT NULL,
  crc INTEGER NOT NULL, blob BLOB NOT NULL, refs BLOB NOT NULL);
CREATE UNIQUE INDEX writes_key ON writes(space, checkpoint, task);
CREATE TABLE answer(
  row INTEGER PRIMARY KEY, space INTEGER NOT NULL, checkpoint NOT NULL, question NOT NULL, principal TEXT NOT NULL,
  at REAL NOT NULL, crc INTEGER NOT NULL, blob BLOB NOT NULL);
CREATE UNIQUE INDEX answer_key ON answer(space, checkpoint, question);
CREATE TABLE chunk(
  row INTEGER PRIMARY KEY, thread INTEGER NOT NULL, digest BLOB NOT NULL, crc INTEGER NOT NULL, body BLOB NOT NULL);
CREATE UNIQUE INDEX chunk_key ON chunk(thread, digest);
CREATE TABLE lease(
  row INTEGER PRIMARY KEY, scope TEXT NOT NULL, thread TEXT NOT NULL, owner TEXT, fence INTEGER NOT NULL,
  expires REAL NOT NULL, asked INTEGER NOT NULL, guarded INTEGER NOT NULL);
CREATE UNIQUE INDEX lease_key ON lease(scope, thread);
CREATE TABLE operation(
  row INTEGER PRIMARY KEY, scope TEXT NOT NULL, op_id TEXT NOT NULL, tool TEXT NOT NULL, state TEXT NOT NULL,
  version INTEGER NOT NULL, lineage TEXT NOT NULL, thread TEXT NOT NULL, key TEXT NOT NULL, args_hash TEXT NOT NULL,
  claimed_at REAL, lease_until REAL, labels BLOB NOT NULL, updated REAL NOT NULL, crc INTEGER NOT NULL);
CREATE UNIQUE INDEX operation_key ON operation(scope, op_id);
CREATE INDEX operation_state ON operation(scope, state);
CREATE INDEX operation_claimed ON operation(scope, tool, claimed_at);
CREATE TABLE event(
  row INTEGER PRIMARY KEY, operation INTEGER NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, at REAL NOT NULL,
  crc INTEGER NOT NULL, blob BLOB NOT NULL, digest BLOB NOT NULL);
CREATE UNIQUE INDEX event_key ON event(operation, seq);
CREATE TRIGGER event_stays BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
CREATE TRIGGER event_lasts BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END;
CREATE TABLE mark(row INTEGER PRIMARY KEY, scope TEXT NOT NULL, name TEXT NOT NULL, crc INTEGER NOT NULL, value BLOB NOT NULL);
CREATE UNIQUE INDEX mark_key ON mark(scope, name);
"""

MIGRATIONS: tuple[str, ...] = (_FIRST,)
"""Statement n brings a file from version n to n + 1; a file is at version ``len(MIGRATIONS)``."""


_SETTINGS = (
    "fullfsync=ON",  # what FULL means on macOS; elsewhere it changes nothing
    "recursive_triggers=ON",  # so that REPLACE meets the triggers that guard events
    "trusted_schema=OFF",
    "temp_store=MEMORY",
    "journal_size_limit=16777216",
)


def version() -> int:
    """The schema version that this library writes."""
    return len(MIGRATIONS)


def _number(con: sqlite3.Connection, pragma: str) -> int:
    return int(con.execute(pragma).fetchone()[0])


def check_version(con: sqlite3.Connection, path: str) -> int:
    """The file's version. Raises: NewerSchema, also where another process has brought an open file up to one."""
    found = _number(con, "PRAGMA user_version")
    if found > version():
        raise NewerSchema(
            f"{path} has schema version {found}, this library knows up to {version()}: update lawful to use it",
            component="journal",
            operation="open",
            details={"path": path, "found": str(found), "known": str(version())},
        )
    return found


def facts(con: sqlite3.Connection) -> tuple[int, int, int]:
    """The file's version, its application id and how many tables and indexes it has: all of one moment.

    Read one by one they could tell of two moments, while another process makes the file.
    """
    alone = not con.in_transaction
    if alone:
        con.execute("BEGIN")
    try:
        made = _number(con, "SELECT count(*) FROM sqlite_master")  # first: this is what takes the snapshot
        return _number(con, "PRAGMA user_version"), _number(con, "PRAGMA application_id"), made
    finally:
        if alone:
            con.execute("COMMIT")


def _stored(con: sqlite3.Connection, path: str) -> int:
    """The file's version, 0 for an empty one. Raises: NewerSchema; StoreError for somebody else's database."""
    found, application, made = facts(con)
    if application != APPLICATION:
        if found or made:
            raise StoreError(
                f"{path} is a SQLite database, but not a journal of this library: nothing was written to it",
                component="journal",
                operation="open",
                details={"path": path},
            )
        return 0
    return check_version(con, path)


def prepare(con: sqlite3.Connection, path: str, patience: float) -> None:
    """Make ``con``'s file a journal of the current version in WAL mode; waits ``patience`` seconds for other processes."""
    con.execute("PRAGMA synchronous=NORMAL")
    if _stored(con, path) == 0:
        con.execute("PRAGMA auto_vacuum=INCREMENTAL")
    write_ahead(con, patience)
    for pragma in _SETTINGS:
        con.execute(f"PRAGMA {pragma}")
    if _stored(con, path) == version():
        return
    con.execute("BEGIN IMMEDIATE")
    try:
        migrate(con, _stored(con, path))
        con.execute("COMMIT")
    except BaseException:
        if con.in_transaction:
            con.execute("ROLLBACK")
        raise


def migrate(con: sqlite3.Connection, since: int) -> None:
    """Bring an open transaction's file from version ``since`` to the current one."""
    for step in MIGRATIONS[since:]:
        for statement in statements(step):
            con.execute(statement)
    con.execute("INSERT OR REPLACE INTO meta(name, value) VALUES ('schema', ?)", (str(version()),))
    con.execute(f"PRAGMA application_id={APPLICATION}")
    con.execute(f"PRAGMA user_version={version()}")


def statements(script: str) -> list[str]:
    """The single statements; ``executescript`` would commit the transaction that they belong to."""
    found: list[str] = []
    text = ""
    for line in script.splitlines():
        text += line + "\n"
        if sqlite3.complete_statement(text):
            found.append(text)
            text = ""
    return found


def write_ahead(con: sqlite3.Connection, patience: float) -> None:
    """Switch to WAL; SQLite does not wait here for others that switch the same new file, so we do."""
    deadline = time.monotonic() + patience
    while True:
        try:
            con.execute("PRAGMA journal_mode=WAL").fetchone()
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (5, 6) or time.monotonic() > deadline:
                raise
        time.sleep(0.01)
