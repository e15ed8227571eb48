"""The table of a store's file, its version, and how a namespace is written so that its order and its prefixes are kept."""

from __future__ import annotations

import sqlite3
import time

from lawful.core.errors import NewerSchema, StoreError
from lawful.stores.sqlite_schema import facts, statements, write_ahead
from lawful.stores.store_records import Namespace

APPLICATION = 0x4C415753
"""SQLite's application id of our store files: the letters LAWS. A journal's file has another."""

_FIRST = """
CREATE TABLE item(
  row INTEGER PRIMARY KEY, scope TEXT NOT NULL, ns BLOB NOT NULL, key TEXT NOT NULL, written INTEGER NOT NULL,
  created REAL NOT NULL, updated REAL NOT NULL, ttl REAL, expires REAL, crc INTEGER NOT NULL, value BLOB NOT NULL);
CREATE UNIQUE INDEX item_key ON item(scope, ns, key);
CREATE UNIQUE INDEX item_written ON item(scope, written);
CREATE INDEX item_expires ON item(expires) WHERE expires IS NOT NULL;
"""

_SECOND = """
CREATE TABLE vector(item INTEGER PRIMARY KEY, crc INTEGER NOT NULL, body BLOB NOT NULL);
CREATE TRIGGER item_written AFTER UPDATE OF written ON item BEGIN DELETE FROM vector WHERE item=old.row; END;
CREATE TRIGGER item_gone AFTER DELETE ON item BEGIN DELETE FROM vector WHERE item=old.row; END;
"""

MIGRATIONS: tuple[str, ...] = (_FIRST, _SECOND)
"""Statement n brings a file from version n to n + 1; a file is at version ``len(MIGRATIONS)``."""


def stored_version(con: sqlite3.Connection, path: str) -> int:
    """The file's version, 0 for an empty one. Raises: NewerSchema; StoreError for somebody else's database."""
    known = len(MIGRATIONS)
    found, application, made = facts(con)
    if application != APPLICATION:
        if found or made:
            raise StoreError(
                f"{path} is a SQLite database, but not a store of this library: nothing was written to it",
                component="store",
                operation="open",
                details={"path": path},
            )
        return 0
    if found > known:
        raise NewerSchema(
            f"{path} has schema version {found}, this library knows up to {known}: update lawful to use it",
            component="store",
            operation="open",
            details={"path": path, "found": str(found), "known": str(known)},
        )
    return found


def prepare(con: sqlite3.Connection, path: str, patience: float) -> None:
    """Make ``con``'s file a store of the current version in WAL mode; waits ``patience`` seconds for other processes.

    SQLite does not wait by itself for others that open the same new file at that moment, so the whole is tried again.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            _prepare(con, path, patience)
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise
            if time.monotonic() > deadline:
                raise
        time.sleep(0.01)


def _prepare(con: sqlite3.Connection, path: str, patience: float) -> None:
    stored_version(con, path)
    write_ahead(con, patience)
    con.execute("PRAGMA synchronous=NORMAL")
    con.execute("PRAGMA trusted_schema=OFF")
    if stored_version(con, path) == len(MIGRATIONS):
        return
    con.execute("BEGIN IMMEDIATE")
    try:
        for step in MIGRATIONS[stored_version(con, path) :]:
            for statement in statements(step):
                con.execute(statement)
        con.execute(f"PRAGMA application_id={APPLICATION}")
        con.execute(f"PRAGMA user_version={len(MIGRATIONS)}")
        con.execute("COMMIT")
    except BaseException:
        if con.in_transaction:
            con.execute("ROLLBACK")
        raise


def packed(namespace: Namespace) -> bytes:
    """The labels in UTF-8, each ended by NUL, which no label holds.

    So a namespace begins with another's labels exactly if its bytes begin with the other's, and bytes sort as tuples do.
    """
    return b"".join(label.encode() + b"\x00" for label in namespace)


def unpacked(data: bytes) -> Namespace:
    """The namespace that `packed` wrote. Raises: ValueError."""
    if not data.endswith(b"\x00"):
        raise ValueError("no namespace ends so")
    return tuple(label.decode() for label in data[:-1].split(b"\x00"))


def after(prefix: bytes) -> bytes:
    """The least bytes above all that begin with ``prefix``, which `packed` has made of at least one label."""
    return prefix[:-1] + b"\x01"
