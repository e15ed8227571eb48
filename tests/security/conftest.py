"""Fixtures of the security tests: those of the graph tests, and PostgreSQL where there is a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lawful.journal.port import Journal
from lawful.stores.store_port import Store
from support.graph_fixtures import drive
from support.pg import shared, skipped
from support.places import Place, placed

__all__ = ["drive", "journal", "place", "store"]

KINDS = ["memory", "sqlite", pytest.param("postgres", marks=[pytest.mark.postgres, skipped])]


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Where a journal and a store keep what they are given: memory, then SQLite, then PostgreSQL."""
    with placed(request.param, tmp_path, shared() if request.param == "postgres" else None) as found:
        yield found


@pytest.fixture
def journal(place: Place) -> Journal:
    return place.journal()


@pytest.fixture
def store(place: Place) -> Store:
    return place.store()
