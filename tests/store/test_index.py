"""The long-term store's vector index: paths, embedders, files of before, damage, encryption, and LangGraph's own answers."""

from __future__ import annotations

import sqlite3
import struct
from pathlib import Path
from typing import Any, TypedDict

import pytest

from lawful.core.errors import CannotDecrypt, ConfigurationError, CorruptRecord, ValidationError
from lawful.graph import START, StateGraph
from lawful.models.embedding import HashEmbedder
from lawful.stores.encrypted_store import EncryptedStore
from lawful.stores.memory_store import MemoryStore
from lawful.stores.sqlite_store import SQLiteStore
from lawful.stores.sqlite_store_schema import MIGRATIONS
from lawful.stores.store_paths import path_of, texts_at
from lawful.stores.store_port import Store
from lawful.stores.store_records import IndexConfig
from lawful.testing.conformance_store_index import INDEX, letters, letters_later
from support.ciphers import TestCipher

pytestmark = pytest.mark.unit

VALUE: dict[str, Any] = {
    "title": "on foot",
    "n": 7,
    "no": None,
    "blank": " ",
    "meta": {"b": "deep", "a": True},
    "parts": [{"text": "one", "x": "1"}, {"text": "two"}, "bare"],
}


@pytest.mark.parametrize(
    ("path", "texts"),
    [
        ("title", ["on foot"]),
        ("n", ["7"]),
        ("meta", ['{"a": true, "b": "deep"}']),
        ("meta.b", ["deep"]),
        ("meta.*", ["deep", "True"]),
        ("parts[*].text", ["one", "two"]),
        ("parts[0].text", ["one"]),
        ("parts[-1]", ["bare"]),
        ("parts[9].text", []),
        ("parts[*].{text, x}", ["one", "1", "two"]),
        ("{title,meta.b}", ["on foot", "deep"]),
        ("no", []),
        ("blank", []),
        ("missing.deeper", []),
        ("title.deeper", []),
    ],
)
def test_where_paths_lead(path: str, texts: list[str]) -> None:
    assert list(texts_at(VALUE, path_of(path))) == texts


def test_the_whole_value_is_one_text() -> None:
    assert list(texts_at({"b": "é", "a": 1}, path_of("$"))) == ['{"a": 1, "b": "é"}']


@pytest.mark.parametrize("wrong", ["", "a..b", ".a", "a.", "a[x]", "a[", "a{b}", "{a", "{}", "a[1]b", 7, None])
def test_what_is_no_path_is_refused_when_the_store_is_made(wrong: Any) -> None:
    with pytest.raises(ValidationError, match="path"):
        MemoryStore(index={"dims": 4, "embed": letters, "fields": [wrong]})


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"dims": 4}, "an embedder or a function"),
        ({"dims": 4, "embed": "openai:text-embedding-3-small"}, r"lawful\.models\.embedder\('openai"),
        ({"dims": 0, "embed": letters}, "dims"),
        ({"dims": True, "embed": letters}, "dims"),
        ({"embed": letters}, "dims"),
        ({"dims": 4, "embed": letters, "field": ["a"]}, "Did you mean 'fields'"),
    ],
)
def test_what_is_no_index_is_refused(config: Any, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        MemoryStore(index=config)


def test_a_store_that_takes_no_index_says_so_when_it_is_made() -> None:
    class Bare(MemoryStore):
        supports_index = False

    with pytest.raises(ConfigurationError, match="vector index"):
        Bare(index=INDEX)


def test_an_embedder_of_ours_embeds() -> None:
    with HashEmbedder(64) as embedder, MemoryStore(index={"dims": 64, "embed": embedder}) as store:
        store.put(("n",), "tea", {"text": "green tea in the morning"})
        store.put(("n",), "train", {"text": "a window seat in the train"})
        assert store.search(("n",), query="a seat at the window")[0].key == "train"


async def test_an_embedder_of_ours_embeds_on_the_event_loop() -> None:
    with HashEmbedder(64) as embedder, MemoryStore(index={"dims": 64, "embed": embedder, "fields": ["text"]}) as store:
        await store.aput(("n",), "tea", {"text": "green tea"})
        assert [item.score for item in await store.asearch((), query="green tea")] == pytest.approx([1.0])


def test_in_a_graph(tmp_path: Path) -> None:
    """Rows: S1-K12."""

    class Said(TypedDict, total=False):
        said: str
        known: list[str]

    def recall(state: Said, store: Store) -> Said:
        known = [item.value["text"] for item in store.search(("notes",), query=state.get("said", ""), limit=1)]
        store.put(("notes",), state.get("said", ""), {"text": state.get("said", "")})
        return {"known": known}

    with SQLiteStore(tmp_path / "s.db", index=INDEX) as store:
        graph = StateGraph(Said).add_node(recall).add_edge(START, "recall").compile(store=store)
        for said in ("aab", "ccd"):
            graph.invoke({"said": said})
        assert graph.invoke({"said": "a"})["known"] == ["aab"]


def test_a_file_of_before_there_was_an_index_takes_one(tmp_path: Path) -> None:
    """What is in it is found by search and get, and by a query once it is put again."""
    path = tmp_path / "s.db"
    with SQLiteStore(path) as store:
        store.put(("n",), "k", {"text": "a"})
    con = sqlite3.connect(path)
    con.executescript("DROP TABLE vector; DROP TRIGGER item_written; DROP TRIGGER item_gone; PRAGMA user_version=1;")
    con.close()
    with SQLiteStore(path, index=INDEX) as store:
        assert (len(store.search(())), store.search((), query="a")) == (1, [])
        store.put(("n",), "k", {"text": "a"})
        assert [item.key for item in store.search((), query="a")] == ["k"]
    assert sqlite3.connect(path).execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)


def test_whoever_writes_without_the_index_leaves_no_old_vectors(tmp_path: Path) -> None:
    """Rows: S1-K12."""

    path = tmp_path / "s.db"
    with SQLiteStore(path, index=INDEX) as store, SQLiteStore(path) as bare:
        for key in ("changed", "gone"):
            store.put(("n",), key, {"text": "a"})
        bare.put(("n",), "changed", {"text": "b"})
        bare.delete(("n",), "gone")
        assert store.search((), query="a") == []


def test_another_length_of_vectors_is_told_with_the_item(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with SQLiteStore(path, index=INDEX) as store:
        store.put(("n",), "k", {"text": "a"})
    other: IndexConfig = {"dims": 2, "embed": lambda texts: [[1.0, 0.0]] * len(texts), "fields": ["text"]}  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    with SQLiteStore(path, index=other) as store:
        with pytest.raises(ConfigurationError, match=r"'k'.*vectors of 4 numbers.*dims=2: put it again"):
            store.search((), query="a")
        store.put(("n",), "k", {"text": "a"})
        assert len(store.search((), query="a")) == 1


@pytest.mark.parametrize("body", [b"", b"\0" * 4, struct.pack("<I", 4) + b"x", 7])
def test_damaged_vectors_are_told_with_their_place(tmp_path: Path, body: Any) -> None:
    path = tmp_path / "s.db"
    with SQLiteStore(path, index=INDEX) as store:
        store.put(("n",), "k", {"text": "a"})
        con = sqlite3.connect(path)
        con.execute("UPDATE vector SET body=?", (body,))
        con.commit()
        with pytest.raises(CorruptRecord, match="'k'"):
            store.search((), query="a")
        assert store.get(("n",), "k") is not None


def test_encrypted_vectors_are_bound_to_their_item(tmp_path: Path) -> None:
    """They tell nothing, and do not count for another item."""
    path = tmp_path / "s.db"
    cipher = TestCipher({"k1": b"a" * 32}, "k1")
    with EncryptedStore(SQLiteStore(path, index=INDEX), cipher) as store:
        store.put(("n",), "k", {"text": "aaaabbbbcccc"})
        store.put(("n",), "l", {"text": "d"})
        con = sqlite3.connect(path)
        bodies = [body for (body,) in con.execute("SELECT body FROM vector")]
        assert not any(struct.pack("<f", 1.0) in body for body in bodies)
        assert [item.key for item in store.search((), query="a")] == ["k", "l"]
        con.execute("UPDATE vector SET (body, crc)=(SELECT body, crc FROM vector ORDER BY item DESC LIMIT 1)")
        con.commit()
        with pytest.raises(CannotDecrypt, match="'k'"):
            store.search((), query="a")


def test_langgraphs_store_in_memory_gives_the_same_scores() -> None:
    """And the same order, for items that both have vectors of. Rows: S1-K12."""
    memory = pytest.importorskip("langgraph.store.memory")
    fields = ["text", "parts[*].t", "meta.{a,b}"]
    theirs = memory.InMemoryStore(index={"dims": 4, "embed": letters, "fields": fields})
    values: list[dict[str, Any]] = [
        {"text": "aab"},
        {"text": "c", "parts": [{"t": "ab"}, {"t": "bbbb"}]},
        {"parts": [{"t": "dd"}, {"t": None}, {"t": "dda"}]},
        {"meta": {"a": "abc", "b": "bd"}},
        {"text": "abcd", "meta": {"a": "d"}},
    ]
    with MemoryStore(index={"dims": 4, "embed": letters, "fields": fields}) as ours:
        for n, value in enumerate(values):
            theirs.put(("n",), f"k{n}", value)
            ours.put(("n",), f"k{n}", value)
        for query in ("a", "ab", "dda", "bcd"):
            told = [(item.key, item.score) for item in ours.search(("n",), query=query)]
            expected = {item.key: item.score for item in theirs.search(("n",), query=query)}
            assert dict(told) == pytest.approx(expected, abs=1e-6)
            assert [round(score or 0, 5) for _, score in told] == sorted(
                (round(score, 5) for score in expected.values()), reverse=True
            )


async def test_the_async_store_by_langgraphs_name(tmp_path: Path) -> None:
    from lawful.store.sqlite.aio import AsyncSqliteStore

    index: IndexConfig = {"dims": 4, "embed": letters_later}
    async with AsyncSqliteStore.from_conn_string(str(tmp_path / "s.db"), index=index, ttl={"default_ttl": 5}) as store:
        await store.setup()
        await store.aput(("a",), "k", {"v": "ab"})
        assert [item.key for item in await store.asearch(("a",), query="a")] == ["k"]


def test_langchains_embeddings_embed() -> None:
    core = pytest.importorskip("langchain_core.embeddings")

    class Letters(core.Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return letters(texts)

        def embed_query(self, text: str) -> list[float]:
            return letters([text])[0]

    with MemoryStore(index={"dims": 4, "embed": Letters()}) as store:
        store.put(("n",), "k", {"text": "a"})
        assert store.search((), query="a")[0].score is not None
