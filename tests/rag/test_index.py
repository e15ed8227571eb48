"""The index stores what is new, embeds nothing in vain, and heals what was lost, whoever lost it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from lawful.core.errors import ConfigurationError, ValidationError, VectorStoreError
from lawful.models.embedding import Embeddings, HashEmbedder
from lawful.pipeline import run_sync
from lawful.rag import CharacterSplitter, FileVectors, Hit, Index, MemoryVectors, Progress, SparseIndex, document, field
from lawful.rag.documents import Document, Passage
from lawful.rag.ports import VectorStore

pytestmark = pytest.mark.unit


class Counting(HashEmbedder):
    def __init__(self) -> None:
        super().__init__(32)
        self.texts: list[str] = []

    async def vectors(self, texts: Sequence[str]) -> Embeddings:
        self.texts += texts
        return await super().vectors(texts)


def ten(word: str = "cats") -> list[Document]:
    return [document(f"Document {i} is about {word} number {i}.", id=f"d{i}", metadata={"n": i}) for i in range(10)]


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_documents_deleted_in_the_store_come_back(kind: str) -> None:
    """Cases: A20."""
    vectors: VectorStore = MemoryVectors() if kind == "memory" else FileVectors()
    embedder = Counting()
    with Index.open(vectors=vectors, embedder=embedder) as index:
        assert index.update(ten()).added == tuple(f"d{i}" for i in range(10))
        assert vectors.delete([f"d{i}#1" for i in range(7)]) == 7
        told = index.check()
        assert (told.ok, dict(told.missing)) == (False, {f"d{i}": 1 for i in range(7)})
        assert index.count() == 3
        embedder.texts.clear()
        again = index.update(ten())
        assert again.healed == tuple(f"d{i}" for i in range(7))
        assert (again.unchanged, again.added, again.updated, again.passages) == (("d7", "d8", "d9"), (), (), 7)
        assert len(embedder.texts) == 7
        assert (index.count(), vectors.count(), index.words.count(), index.check().ok) == (10, 10, 10, True)


def test_words_deleted_in_the_store_come_back() -> None:
    """Cases: A20."""
    with Index.open() as index:
        index.update(ten())
        index.words.delete(["d3#1"])
        assert index.update(ten()).healed == ("d3",)
        assert index.words.search("cats number 3", 1)[0].id == "d3#1"


@pytest.mark.parametrize("broken", ["vectors.upsert", "words.upsert", "vectors.delete", "book.put"])
@pytest.mark.parametrize("changed", [False, True])
def test_a_crash_between_two_steps_heals(monkeypatch: pytest.MonkeyPatch, broken: str, changed: bool) -> None:
    """Cases: A20."""

    class Crash(BaseException):
        pass

    with Index.open(splitter=CharacterSplitter(20)) as index:
        if changed:
            index.update(ten("a very long word indeed, so that there are more pieces"))
        place, name = broken.split(".")
        target = index._book if place == "book" else getattr(index, place)  # pyright: ignore[reportPrivateUsage]
        real = getattr(target, name)
        calls: list[int] = []

        def crash(*args: object) -> object:
            calls.append(1)
            if place != "book" or len(calls) == 2:
                raise Crash
            return real(*args)

        monkeypatch.setattr(target, name, crash)
        with pytest.raises(Crash):
            index.update(ten())
        monkeypatch.undo()
        assert set(index.check().unfinished) == {f"d{i}" for i in range(10)}
        assert index.documents() == []
        assert index.update(ten()).healed == tuple(f"d{i}" for i in range(10))
        assert index.check().ok
        assert index.count() == index.vectors.count() == sum(-(-len(one.text) // 20) for one in ten())


def test_a_broken_removal_is_seen_and_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cases: A20."""
    with Index.open() as index:
        index.update(ten())

        def fail(*_: object) -> int:
            raise VectorStoreError("gone")

        monkeypatch.setattr(index.words, "delete", fail)
        with pytest.raises(VectorStoreError):
            index.remove(["d1"])
        monkeypatch.undo()
        assert index.check().unfinished == ("d1",)
        keep = [one for one in ten() if one.id != "d1"]
        assert index.update(keep, remove=True).removed == ("d1",)
        assert (index.check().ok, index.count()) == (True, 9)


def test_only_what_changed_is_embedded(tmp_path: Path) -> None:
    """Rows: S0-150."""
    embedder = Counting()
    with Index.open(tmp_path / "i.db", embedder=embedder) as index:
        index.update(ten())
    embedder.texts.clear()
    with Index.open(tmp_path / "i.db", embedder=embedder) as index:
        docs = ten()
        docs[2] = document("Entirely new.", id="d2")
        docs[3] = document(docs[3].text, id="d3", metadata={"n": 33})
        told = index.update([*docs, document("Eleventh", id="e")])
        assert (told.updated, told.added, len(told.unchanged)) == (("d2", "d3"), ("e",), 8)
        assert sorted(embedder.texts) == sorted(["Entirely new.", docs[3].text, "Eleventh"])
        assert [hit.id for hit in index.search("number", where=field("n") == 33)] == ["d3#1"]
        assert index.update(docs[:1], remove=True).removed == tuple(sorted([f"d{i}" for i in range(1, 10)] + ["e"]))
        assert (index.documents(), index.count()) == (["d0"], 1)
        assert index.remove(["d0", "none"]) == 1
        assert index.check().ok


def test_another_splitter_makes_the_passages_anew() -> None:
    with Index.open() as index:
        index.update(ten())
        index.splitter = CharacterSplitter(10)
        assert len(index.update(ten()).updated) == 10
        assert index.check().ok
        assert index.count() == 40


def test_a_file_keeps_to_its_embedder(tmp_path: Path) -> None:
    with Index.open(tmp_path / "i.db", embedder=Counting()) as index:
        assert index.embedder.component_id == "local:hash"
    with Index.open(tmp_path / "i.db") as index:
        assert index.embedder.component_id == "local:hash"

    class Other(Counting):
        def __init__(self) -> None:
            super().__init__()
            self.name = "other"

    with pytest.raises(ConfigurationError, match="made with embedder local:hash, not local:other"):
        Index.open(tmp_path / "i.db", embedder=Other())


def test_scopes_of_one_file_are_apart(tmp_path: Path) -> None:
    with Index.open(tmp_path / "i.db", scope="one") as one, Index.open(tmp_path / "i.db", scope="two") as two:
        one.update(ten())
        two.update([document("Only mine: cats", id="d1")])
        assert (one.count(), two.count()) == (10, 1)
        assert [hit.text for hit in two.search("cats")] == ["Only mine: cats"]
        two.update([], remove=True)
        assert (one.count(), two.count(), one.check().ok) == (10, 0, True)
        with pytest.raises(ValidationError):
            Index.open(tmp_path / "i.db", scope="")


def test_given_stores_are_used_in_the_scope_of_the_index() -> None:
    shared = MemoryVectors()
    words = SparseIndex()
    with Index.open(vectors=shared, sparse=words, scope="mine") as index:
        index.update(ten())
        assert (shared.count(), shared.scoped("mine").count()) == (0, 10)
        assert (words.count(), words.scoped("mine").count()) == (0, 10)


def test_two_documents_with_one_id_are_refused_before_anything_is_stored() -> None:
    with Index.open() as index:
        with pytest.raises(ValidationError, match="'d1'"):
            index.update([*ten(), document("again", id="d1")])
        assert index.documents() == []


def test_progress_is_told_and_empty_documents_are_recorded() -> None:
    seen: list[Progress] = []
    many = [document(f"text {i}", id=f"m{i:03}") for i in range(600)]
    with Index.open(embedder=Counting()) as index:
        told = index.update([*many, document("  \n", id="empty")], progress=seen.append)
        assert told.passages == 600
        assert [one.done for one in seen] == [256, 512, 601]
        assert {one.total for one in seen} == {601}
        assert index.update([*many, document("  \n", id="empty")]).passages == 0
        assert index.check().ok


async def test_the_async_form_does_the_same() -> None:
    """Cases: A20."""
    with Index.open(embedder=Counting()) as index:
        assert len((await index.aupdate(ten())).added) == 10
        index.vectors.delete(["d1#1"])
        assert (await index.aupdate(ten())).healed == ("d1",)
        assert len((await index.aupdate(ten())).unchanged) == 10


def test_a_stray_passage_is_told() -> None:
    with Index.open() as index:
        index.update(ten())
        other = index.vectors.search(index.embedder.embed_query("cats"), 1)[0].passage
        index.words.upsert([type(other)("stray", "gone", "text", 0, 4)])
        assert index.check().stray == ("stray",)


def test_a_hybrid_search_looks_twice_as_deep_as_is_wanted() -> None:
    """What is second for both is better than what is first for one of them."""
    with Index.open() as index:
        index.update([document(f"text {name}", id=name) for name in "abc"])
        by = {id: Hit(Passage(f"{id}#1", id, f"text {id}", 0, 6), 1.0) for id in "abc"}
        depths: list[int] = []

        def near(vector: object, k: int, where: object = None) -> list[Hit]:
            depths.append(k)
            return [by["a"], by["b"]][:k]

        def worded(text: str, k: int, where: object = None) -> list[Hit]:
            depths.append(k)
            return [by["c"], by["b"]][:k]

        index.vectors.search = near  # type: ignore[method-assign]
        index.words.search = worded  # type: ignore[method-assign]
        assert [hit.passage.document for hit in run_sync(index.hybrid(1), "text").unwrap()] == ["b"]
        assert [hit.passage.document for hit in index.search("text", 1)] == ["b"]
        assert depths == [2, 2, 2, 2]
        assert [hit.passage.document for hit in run_sync(index.hybrid(1, deep=1), "text").unwrap()] == ["a"]
