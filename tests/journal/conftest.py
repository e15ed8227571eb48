"""A SQLite journal in a file of its own, for the tests of that store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lawful.stores.sqlite import SQLiteJournal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "j.db"


@pytest.fixture
def journal(path: Path) -> Iterator[SQLiteJournal]:
    made = SQLiteJournal(path)
    yield made
    made.close()
