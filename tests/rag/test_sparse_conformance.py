"""SparseIndex keeps the promises of the port of words."""

from __future__ import annotations

import pytest

from lawful.rag import SparseIndex
from lawful.rag.ports import SparseStore
from lawful.testing.conformance_sparse import SparseConformance

pytestmark = pytest.mark.unit


class TestEnglish(SparseConformance):
    """Rows: S0-152."""

    def make_store(self) -> SparseStore:
        return SparseIndex()


class TestPlain(SparseConformance):
    def make_store(self) -> SparseStore:
        return SparseIndex(words="plain")
