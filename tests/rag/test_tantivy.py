"""TantivyIndex keeps the promises of the port of words, in memory and in a folder, beside other processes and in an index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tantivy")

from lawful.core.errors import ConfigurationError, VectorStoreError
from lawful.rag import Index, SparseIndex, TantivyIndex, document
from lawful.rag.documents import Passage
from lawful.rag.ports import SparseStore
from lawful.rag.sqlite_file import packed
from lawful.rag.tantivy_index import MARK
from lawful.testing.conformance_sparse import TEXTS, SparseConformance
from lawful.testing.conformance_vectors import passage

pytestmark = pytest.mark.integration


class TestInMemory(SparseConformance):
    """Rows: S0-152."""

    def make_store(self) -> SparseStore:
        return TantivyIndex()


class TestInAFolder(SparseConformance):
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        self.path = tmp_path / "words"

    def make_store(self) -> SparseStore:
        return TantivyIndex(self.path, words="plain")


def test_scores_are_nearly_those_of_the_file(tmp_path: Path) -> None:
    """The same formula, but for the smoothing of rare words and lengths kept in a byte. Rows: S0-152."""
    with TantivyIndex(words="plain") as one, SparseIndex(words="plain") as other:
        for store in (one, other):
            store.upsert([passage(id, text) for id, text in TEXTS.items()])
        for question in ("cat mat lyon", "rain", "dog log", "kind mat", "things"):
            assert [hit.id for hit in one.search(question, 10)] == [hit.id for hit in other.search(question, 10)]


def test_a_folder_is_kept_and_seen_by_others(tmp_path: Path) -> None:
    with TantivyIndex(tmp_path / "w") as store:
        store.upsert([passage("p", "running"), passage("q", "other")])
        store.scoped("else").upsert([passage("r", "running")])
    with TantivyIndex(tmp_path / "w") as first, TantivyIndex(tmp_path / "w") as second:
        assert [hit.id for hit in first.search("run")] == ["p"]
        second.upsert([passage("s", "runs")])
        assert [hit.id for hit in first.search("run")] == ["p", "s"]
        assert [hit.id for hit in first.scoped("else").search("run")] == ["r"]
        assert first.delete(["p"]) == 1
        assert [hit.id for hit in second.search("run")] == ["s"]


def test_another_writer_is_told_to_come_again(tmp_path: Path) -> None:
    with TantivyIndex(tmp_path / "w") as store:
        store.upsert([passage("p", "word")])
        [scope] = [one for one in (tmp_path / "w").iterdir() if one.is_dir()]
        tantivy: Any = pytest.importorskip("tantivy")
        writer = tantivy.Index.open(str(scope)).writer(15_000_000, 1)
        with pytest.raises(VectorStoreError, match="LockBusy") as caught:
            store.upsert([passage("q", "word")])
        assert caught.value.retryable
        assert [hit.id for hit in store.search("word")] == ["p"]
        writer.wait_merging_threads()
        store.upsert([passage("q", "word")])
        assert store.count() == 2


def broken(one: Passage) -> bytes:
    if one.id == "q":
        raise RuntimeError("the disk is full")
    return packed(one)


def test_nothing_is_stored_of_an_update_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with TantivyIndex(tmp_path / "w") as store:
        store.upsert([passage("p", "old")])
        monkeypatch.setattr("lawful.rag.tantivy_index.packed", broken)
        with pytest.raises(VectorStoreError, match="disk is full"):
            store.upsert([passage("p", "new"), passage("q", "new")])
        monkeypatch.undo()
        assert [hit.id for hit in store.search("old new")] == ["p"]
        assert store.ids() == ["p"]
        store.upsert([passage("q", "new")])
        assert store.count() == 2


def test_folders_that_do_not_fit(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("mine")
    with pytest.raises(VectorStoreError, match="something else"):
        TantivyIndex(tmp_path / "full")
    assert [one.name for one in (tmp_path / "full").iterdir()] == ["letter.txt"]
    TantivyIndex(tmp_path / "w", words="plain").close()
    with pytest.raises(ConfigurationError, match="made with words='plain', not 'english'"):
        TantivyIndex(tmp_path / "w")
    with pytest.raises(ConfigurationError, match="english"):
        TantivyIndex(words="englisch")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    (tmp_path / "w" / MARK).write_text("{")
    with pytest.raises(VectorStoreError):
        TantivyIndex(tmp_path / "w", words="plain")
    (tmp_path / "file").write_text("")
    with pytest.raises(VectorStoreError):
        TantivyIndex(tmp_path / "file")


def test_a_damaged_scope_is_a_typed_error(tmp_path: Path) -> None:
    with TantivyIndex(tmp_path / "w") as store:
        store.upsert([passage("p", "word")])
        [meta] = (tmp_path / "w").glob("*/meta.json")
        meta.write_text("{bad")
        with pytest.raises(VectorStoreError):
            store.search("word")


def test_a_closed_one_says_so() -> None:
    store = TantivyIndex()
    other = store.scoped("other")
    store.close()
    assert other.count() == 0
    other.close()
    with pytest.raises(VectorStoreError, match="closed"):
        other.count()


def test_parts_of_words() -> None:
    with TantivyIndex(words="trigram") as store:
        store.upsert([passage("q", "東京都に住む"), passage("r", "Splitter")])
        assert [hit.id for hit in store.search("京都に")] == ["q"]
        assert [hit.id for hit in store.search("plitte")] == ["r"]
        assert store.search("plitten") == []
        store.upsert([passage("s", "abcd and bcde")])
        assert store.search("abcde") == []
        assert store.search("ab") == []


def test_an_index_with_it_heals_what_was_lost(tmp_path: Path) -> None:
    """Cases: A20."""
    pages = [document(f"This is page {number} of the book.", id=f"page-{number}") for number in range(10)]
    with Index.open(tmp_path / "i.db", sparse=TantivyIndex(tmp_path / "w")) as index:
        assert len(index.update(pages).added) == 10
        assert index.words.delete([f"page-{number}#1" for number in range(7)]) == 7
        assert (len(index.check().missing), index.count()) == (7, 3)
        assert len(index.update(pages).healed) == 7
        assert (index.check().ok, index.count()) == (True, 10)
        assert len(index.words.search("page", 20)) == 10
