"""Retrieval by words: BM25 as its formula says, filters and scopes as everywhere, and queries that are only words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from lawful.core.errors import ConfigurationError
from lawful.rag import SparseIndex, field
from lawful.testing.conformance_vectors import passage

pytestmark = pytest.mark.unit

TEXTS = {
    "a": "the cat sat on the mat",
    "b": "the dog sat on the log with the cat and another cat",
    "c": "rain over lyon",
    "d": "a mat for the rain",
    "e": "nothing of that kind here at all",
}


@pytest.fixture
def store() -> Iterator[SparseIndex]:
    with SparseIndex(words="plain") as made:
        yield made


def bm25(query: list[str], id: str, k1: float = 1.2, b: float = 0.75) -> float:
    """Robertson and Zaragoza's formula, by hand."""
    docs = {name: text.split() for name, text in TEXTS.items()}
    average = sum(map(len, docs.values())) / len(docs)
    total = 0.0
    for word in query:
        having = sum(word in words for words in docs.values())
        idf = max(1e-6, math.log((len(docs) - having + 0.5) / (having + 0.5)))
        often = docs[id].count(word)
        total += idf * often * (k1 + 1) / (often + k1 * (1 - b + b * len(docs[id]) / average))
    return total


def test_scores_are_those_of_the_formula(store: SparseIndex) -> None:
    """Rows: S0-152."""
    store.upsert([passage(id, text) for id, text in TEXTS.items()])
    hits = store.search("cat mat lyon", 10)
    expected = {id: bm25(["cat", "mat", "lyon"], id) for id in "abcd"}
    assert [hit.id for hit in hits] == sorted(expected, key=lambda id: -expected[id])
    for hit in hits:
        assert hit.score == pytest.approx(expected[hit.id], rel=1e-6)


def test_replacing_and_deleting_leave_no_words_behind(tmp_path: Path) -> None:
    """Rows: S0-152."""
    with SparseIndex(tmp_path / "s.db") as store:
        store.upsert([passage("p", "alpha beta", n=1), passage("q", "alpha")])
        store.upsert([passage("p", "gamma")])
        assert [hit.id for hit in store.search("beta")] == []
        assert [hit.id for hit in store.search("gamma")] == ["p"]
        assert store.search("gamma", where=field("n") == 1) == []
        assert store.delete(["p", "none"]) == 1
        assert store.search("gamma") == []
        assert store.present(["p", "q"]).keys() == {"q"}
    with SparseIndex(tmp_path / "s.db") as again:
        assert [hit.id for hit in again.search("alpha")] == ["q"]
    with pytest.raises(ConfigurationError, match="made with words='english'"):
        SparseIndex(tmp_path / "s.db", words="plain")


def test_kinds_of_words() -> None:
    """Rows: S0-152."""
    with SparseIndex() as english, SparseIndex(words="trigram") as trigram:
        for store in (english, trigram):
            store.upsert(
                [passage("p", "The splitters were running"), passage("q", "東京都に住む"), passage("r", "Été à Lyon")]
            )
        assert [hit.id for hit in english.search("run splitter")] == ["p"]
        assert [hit.id for hit in english.search("ete")] == ["r"]
        assert [hit.id for hit in trigram.search("京都に")] == ["q"]
    with pytest.raises(ConfigurationError, match="english"):
        SparseIndex(words="englisch")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
