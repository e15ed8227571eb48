"""QdrantVectors keeps the promises of the port."""

from __future__ import annotations

import pytest

pytest.importorskip("qdrant_client")

from lawful.rag.ports import VectorStore
from lawful.rag.qdrant_vectors import QdrantVectors
from lawful.testing.conformance_vectors import VectorConformance

pytestmark = pytest.mark.integration


class TestConformance(VectorConformance):
    """Rows: S0-158."""

    def make_store(self) -> VectorStore:
        return QdrantVectors()
