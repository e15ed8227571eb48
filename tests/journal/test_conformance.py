"""Both journals keep every promise of the port."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lawful.core.clock import Clock
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from lawful.stores.sqlite import SQLiteJournal
from lawful.testing.conformance import JournalConformance

pytestmark = pytest.mark.unit


class TestMemoryJournal(JournalConformance):
    """In memory. Rows: S0-120, S0-121, S1-K03, S1-K04, S1-K05, S1-K07, S1-041. Rules: 74, 84."""

    def make_journal(self, clock: Clock) -> Journal:
        return MemoryJournal(clock=clock)


class TestSQLiteInMemory(JournalConformance):
    def make_journal(self, clock: Clock) -> Journal:
        return SQLiteJournal(":memory:", clock=clock)


class TestSQLiteFile(JournalConformance):
    """In a file. Rows: S0-120, S0-122, S1-K03, S1-K04, S1-K05, S1-K07, S1-041. Rules: 74, 84."""

    @pytest.fixture(autouse=True)
    def _folder(self) -> Iterator[None]:
        with tempfile.TemporaryDirectory() as folder:
            TestSQLiteFile.folder = Path(folder)
            TestSQLiteFile.names = itertools.count()
            yield

    folder: Path
    names: Iterator[int]

    def make_journal(self, clock: Clock) -> Journal:
        return SQLiteJournal(self.folder / f"{next(self.names)}.db", clock=clock)
