"""Fixtures of the graph tests and the cases: both drivers, both journals, both modes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lawful.journal.port import Journal
from support.graphs import DRIVES, JOURNALS, Drive, JournalBox, boxed, driving


@pytest.fixture(params=DRIVES)
def drive(request: pytest.FixtureRequest) -> Iterator[Drive]:
    """The sync driver, then the async one."""
    with driving(request.param) as drive:
        yield drive


@pytest.fixture(params=JOURNALS)
def box(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[JournalBox]:
    """A place for a journal's rows: memory, then SQLite; ``box.open()`` twice is two processes on one store."""
    with boxed(request.param, tmp_path) as box:
        yield box


@pytest.fixture
def journal(box: JournalBox) -> Journal:
    """An empty journal: in memory, then in SQLite."""
    return box.open()


@pytest.fixture(params=[True, False], ids=["strict", "lenient"])
def strict(request: pytest.FixtureRequest) -> bool:
    """Both modes of `StateGraph`, for rules that hold in both."""
    return request.param


__all__ = ["box", "drive", "journal", "strict"]
