"""Opening a file while another process makes it: what is read of it is of one moment."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from lawful.stores.sqlite import SQLiteJournal
from lawful.stores.sqlite_schema import facts

pytestmark = pytest.mark.integration


def test_facts_are_of_one_moment_while_the_file_is_made(tmp_path: Path) -> None:
    """The other process commits just after the first fact was read. Rows: S1-K11."""
    path = str(tmp_path / "journal.db")
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("PRAGMA journal_mode=WAL").fetchone()
    made: list[SQLiteJournal] = []

    def watch(statement: str) -> None:
        if statement.startswith("PRAGMA user_version") and not made:
            made.append(SQLiteJournal(path))

    reader.set_trace_callback(watch)
    try:
        assert facts(reader) == (0, 0, 0)
        reader.set_trace_callback(None)
        version, application, tables = facts(reader)
        assert version >= 1
        assert application != 0
        assert tables > 0
    finally:
        reader.close()
        made[0].close()
