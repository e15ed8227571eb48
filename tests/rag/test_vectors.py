"""Every vector store keeps the promises of the port; memory and file with nothing but the standard library."""

from __future__ import annotations

from pathlib import Path

import pytest

from lawful.core.errors import VectorStoreError
from lawful.rag.file_vectors import FileVectors
from lawful.rag.memory_vectors import MemoryVectors
from lawful.rag.ports import Entry, VectorStore
from lawful.rag.rows import Rows
from lawful.testing.conformance_vectors import VectorConformance, passage

pytestmark = pytest.mark.unit


class TestMemory(VectorConformance):
    """Rows: S0-158."""

    def make_store(self) -> VectorStore:
        return MemoryVectors()


class TestMemoryWithoutNumpy(VectorConformance):
    """Rows: S0-158."""

    @pytest.fixture(autouse=True)
    def without(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(__import__("sys").modules, "numpy", None)

    def make_store(self) -> VectorStore:
        return MemoryVectors()

    def test_numpy_is_really_hidden(self) -> None:
        assert type(Rows(2)._matrix).__name__ == "_Plain"  # pyright: ignore[reportPrivateUsage]


class TestFile(VectorConformance):
    """Rows: S0-158."""

    def make_store(self) -> VectorStore:
        return FileVectors()


def test_a_file_keeps_its_passages_and_tells_other_handles(tmp_path: Path) -> None:
    """Rows: S0-158."""
    path = tmp_path / "v.db"
    with FileVectors(path) as one, FileVectors(path) as two:
        one.upsert([Entry(passage("a"), (1, 0))])
        assert [hit.id for hit in two.search((1, 0))] == ["a"]
        one.upsert([Entry(passage("b"), (1, 0))])
        one.delete(["a"])
        assert [hit.id for hit in two.search((1, 0))] == ["b"]
    with FileVectors(path) as again:
        assert (again.ids(), again.dimensions) == (["b"], 2)


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "other.db"
    con = sqlite3.connect(path)
    con.execute("CREATE TABLE theirs (x)")
    con.commit()
    con.close()
    before = path.read_bytes()
    with pytest.raises(VectorStoreError, match="something else"):
        FileVectors(path)
    assert path.read_bytes() == before
    (tmp_path / "text").write_text("no database, but long enough to be read as one" * 40)
    with pytest.raises(VectorStoreError):
        FileVectors(tmp_path / "text")


async def test_the_forms_for_asyncio_do_the_same() -> None:
    """Rows: S0-158."""
    store = MemoryVectors()
    await store.aupsert([Entry(passage("a"), (1.0, 0.0)), Entry(passage("b"), (0.0, 1.0))])
    found = await store.asearch((1.0, 0.1), 1)
    assert found == store.search((1.0, 0.1), 1)
    assert [hit.passage.id for hit in found] == ["a"]
