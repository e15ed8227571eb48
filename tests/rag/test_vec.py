"""SQLiteVecVectors keeps the promises of the port."""

from __future__ import annotations

import pytest

pytest.importorskip("apsw")
pytest.importorskip("sqlite_vec")

from lawful.rag.ports import VectorStore
from lawful.rag.vec_vectors import SQLiteVecVectors
from lawful.testing.conformance_vectors import VectorConformance

pytestmark = pytest.mark.integration


class TestConformance(VectorConformance):
    """Rows: S0-158."""

    def make_store(self) -> VectorStore:
        return SQLiteVecVectors()
