"""One connection and what it remembers: small numbers for names, newest checkpoints, until another process writes."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from lawful.core.errors import StoreError
from lawful.journal.checks import check_text, corrupt
from lawful.stores.sqlite_schema import check_version, prepare

_MANY = 20_000
"""So many remembered names, and they are forgotten: a long-lived server must not grow by every thread it ever saw."""


class Link:
    """A connection to the journal's file; used by one thread at a time."""

    def __init__(self, path: str, busy_timeout: float) -> None:
        self.con = sqlite3.connect(
            path, timeout=busy_timeout, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        self._path = path
        self._spaces: dict[tuple[int, str], int] = {}
        self._threads: dict[tuple[str, str], int] = {}
        self.heads: dict[int, bytes | None] = {}
        """The newest checkpoint of a space."""
        self.fences: dict[tuple[str, str], int] = {}
        """The fence of a thread's holder."""
        self.committed = False
        """Whether the last write transaction was committed, as an interrupt right after it needs to know."""
        self._version = -1
        self._full = False
        try:
            prepare(self.con, path, busy_timeout)
        except BaseException:
            self.con.close()
            raise
        self._file = _identity(path)

    def forget(self) -> None:
        """Drop what was remembered: it may not be so (any more)."""
        self._spaces.clear()
        self._threads.clear()
        self.heads.clear()
        self.fences.clear()

    def look(self) -> None:
        """Within a transaction: forget everything if another connection has written since."""
        (version,) = self.con.execute("PRAGMA data_version").fetchone()
        if version != self._version or len(self._spaces) > _MANY or len(self._threads) > _MANY:
            self.forget()
            check_version(self.con, self._path)
            self._version = version

    def power_safe(self, full: bool) -> None:
        """Between transactions: whether the next commit waits until it is on the disk."""
        if full != self._full:
            self.con.execute("PRAGMA synchronous=FULL" if full else "PRAGMA synchronous=NORMAL")
            self._full = full

    @contextmanager
    def writing(self) -> Generator[None]:
        """A write transaction; whatever is raised within rolls it back."""
        self.committed = ending = False
        try:
            self._still_there()
            self.con.execute("BEGIN IMMEDIATE")
            self.look()
            yield
            ending = True
            self.con.execute("COMMIT")
            self.committed = True
        except BaseException as error:
            self.committed = ending and not self.con.in_transaction and not isinstance(error, sqlite3.Error)
            self.undo()
            raise

    def _still_there(self) -> None:
        """Refuse to write to a file that its path no longer names: SQLite would, and nobody could read it ever after.

        Raises: StoreError.
        """
        if self._file is None or _identity(self._path) == self._file:
            return
        raise StoreError(
            f"{self._path} was removed, emptied or replaced while this journal had it open",
            component="journal",
            operation="write",
            details={"path": self._path},
        )

    @contextmanager
    def reading(self) -> Generator[None]:
        """A consistent view."""
        try:
            self.con.execute("BEGIN")
            self.look()
            yield
        finally:
            if self.con.in_transaction:
                self.con.execute("COMMIT")

    def undo(self) -> None:
        """Roll back what is open."""
        self.forget()
        if self.con.in_transaction:
            self.con.execute("ROLLBACK")

    def close(self, *, truncate: bool) -> None:
        """Let go of the file; with ``truncate`` the write-ahead log is emptied into it where nobody reads."""
        try:
            if truncate:
                self.con.execute("PRAGMA busy_timeout=100")
                self.con.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.Error:  # the log stays beside the file; the next to open it reads it
            pass
        finally:
            self.con.close()

    # Names.

    def thread(self, scope: str, name: str) -> int | None:
        """The number of a thread, or None."""
        key = (scope, name)
        found = self._threads.get(key)
        if found is None:
            check_text(name, "thread id")
            row = self.con.execute("SELECT id FROM thread WHERE scope=? AND name=?", key).fetchone()
            if row is None:
                return None
            found = self._threads[key] = _number(row[0], name)
        return found

    def made_thread(self, scope: str, name: str, now: float) -> int:
        """The number of a thread, which is entered if it is new."""
        found = self.thread(scope, name)
        if found is None:
            made = self.con.execute(
                "INSERT INTO thread(scope, name, lineage, created) VALUES (?,?,?,?)", (scope, name, name, now)
            ).lastrowid
            found = self._threads[scope, name] = _number(made, name)
        return found

    def space(self, thread: int, ns: str) -> int | None:
        """The number of a thread's namespace, or None."""
        key = (thread, ns)
        found = self._spaces.get(key)
        if found is None:
            check_text(ns, "namespace")
            row = self.con.execute("SELECT id FROM space WHERE thread=? AND ns=?", key).fetchone()
            if row is None:
                return None
            found = self._spaces[key] = _number(row[0], ns)
        return found

    def made_space(self, thread: int, ns: str) -> int:
        """The number of a thread's namespace, which is entered if it is new."""
        found = self.space(thread, ns)
        if found is None:
            made = self.con.execute("INSERT INTO space(thread, ns) VALUES (?,?)", (thread, ns)).lastrowid
            found = self._spaces[thread, ns] = _number(made, ns)
        return found

    def newest(self, space: int) -> bytes | None:
        """The id of the newest checkpoint of a space."""
        if space in self.heads:
            return self.heads[space]
        row = self.con.execute("SELECT id FROM checkpoint WHERE space=? ORDER BY id DESC LIMIT 1", (space,)).fetchone()
        found = None if row is None else row[0]
        if found is not None and (not isinstance(found, bytes) or len(found) != 16):
            raise corrupt("checkpoint id", space=str(space), id=repr(found))
        self.heads[space] = found
        return found


def _identity(path: str) -> tuple[int, int] | None:
    """What tells the file at ``path`` from any other; None for a database without a file, and for one that is not there."""
    try:
        told = os.stat(path) if path not in ("", ":memory:") else None
    except OSError:
        return None
    return (told.st_dev, told.st_ino) if told is not None and told.st_size else None


def _number(found: Any, name: str) -> int:
    if not isinstance(found, int):
        raise corrupt("name", name=name)
    return found
