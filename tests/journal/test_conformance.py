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
    def make_journal(self, clock: Clock) -> Journal:
        return MemoryJournal(clock=clock)


class TestSQLiteInMemory(JournalConformance):
    def make_journal(self, clock: Clock) -> Journal:
        return SQLiteJournal(":memory:", clock=clock)


class TestSQLiteFile(JournalConformance):
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
