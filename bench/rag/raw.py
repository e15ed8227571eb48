"""The same by hand with the bare libraries: no checks, no scopes, ids and texts only."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy

from bench.pg.work import url
from bench.rag.data import SIZE, dropped, parts, questions

NAME = "raw library"


def version() -> str:
    return f"numpy {numpy.__version__}, SQLite {sqlite3.sqlite_version}"


def store(kind: str, many: int, path: Path) -> tuple[Callable[[], None], Callable[[], int], Callable[[], None]] | None:
    """As `bench.rag.ours.store`; None where there is no such library by itself."""
    made = {
        "memory": _memory,
        "sqlite-vec": _vec,
        "pgvector": _pg,
        "pgvector-hnsw": _pg_hnsw,
        "qdrant": _qdrant,
        "fts5": _fts,
        "tantivy": _tantivy,
    }.get(kind)
    return None if made is None else made(many, path)


def _nothing() -> None:
    pass


def _memory(many: int, path: Path) -> Any:
    rows: list[Any] = []
    kept: list[tuple[str, str]] = []

    def build() -> None:
        for ids, texts, vectors in parts(many):
            rows.append(vectors)
            kept.extend(zip(ids, texts, strict=True))
        rows[:] = [numpy.concatenate(rows)]

    def ask() -> int:
        found = 0
        for one in questions()[0]:
            scores = rows[0] @ one
            found += len([kept[n] for n in numpy.argpartition(-scores, 10)[:10]])
        return found

    return build, ask, _nothing


def _fts(many: int, path: Path) -> Any:
    con = sqlite3.connect(path, isolation_level=None)
    con.execute("PRAGMA journal_mode = WAL")
    con.execute("PRAGMA synchronous = NORMAL")
    con.execute("CREATE VIRTUAL TABLE t USING fts5(id UNINDEXED, told)")

    def build() -> None:
        for ids, texts, _ in parts(many):
            con.execute("BEGIN")
            con.executemany("INSERT INTO t VALUES (?, ?)", zip(ids, texts, strict=True))
            con.execute("COMMIT")

    def ask() -> int:
        found = 0
        for words in questions()[1]:
            query = " OR ".join(words.split())
            found += len(
                con.execute("SELECT id, told FROM t WHERE t MATCH ? ORDER BY rank LIMIT 10", (query,)).fetchall()
            )
        return found

    return build, ask, con.close


def _vec(many: int, path: Path) -> Any:
    import apsw
    import sqlite_vec

    con = apsw.Connection(str(path))
    con.enable_load_extension(True)
    con.load_extension(sqlite_vec.loadable_path())
    con.execute("PRAGMA journal_mode = WAL")
    con.execute("PRAGMA synchronous = NORMAL")
    con.execute(f"CREATE VIRTUAL TABLE v USING vec0(embedding float[{SIZE}] distance_metric=cosine, +told text)")
    count = [0]

    def build() -> None:
        for _, texts, vectors in parts(many):
            con.execute("BEGIN")
            for text, vector in zip(texts, vectors, strict=True):
                count[0] += 1
                con.execute(
                    "INSERT INTO v (rowid, embedding, told) VALUES (?, ?, ?)", (count[0], vector.tobytes(), text)
                )
            con.execute("COMMIT")

    def ask() -> int:
        query = "SELECT rowid, told, distance FROM v WHERE embedding MATCH ? AND k = 10"
        return sum(len(con.execute(query, (one.tobytes(),)).fetchall()) for one in questions()[0])

    return build, ask, con.close


def _qdrant(many: int, path: Path) -> Any:
    from qdrant_client import QdrantClient, models

    client = QdrantClient(":memory:")
    size = models.VectorParams(size=SIZE, distance=models.Distance.COSINE)
    client.create_collection("c", vectors_config=size)

    def build() -> None:
        start = 0
        for ids, texts, vectors in parts(many):
            payloads = [{"id": id, "body": json.dumps(text)} for id, text in zip(ids, texts, strict=True)]
            numbers = list(range(start, start + len(ids)))
            client.upsert("c", models.Batch(ids=numbers, vectors=vectors.tolist(), payloads=payloads))
            start += len(ids)

    def ask() -> int:
        return sum(len(client.query_points("c", query=one.tolist(), limit=10).points) for one in questions()[0])

    return build, ask, client.close


def _pg(many: int, path: Path, index: str = "") -> Any:
    import psycopg

    con, table = psycopg.connect(url(), autocommit=True), f"raw{path.stem}"
    con.execute("CREATE EXTENSION IF NOT EXISTS vector")
    con.execute(f"CREATE TABLE {table} (id text PRIMARY KEY, told text NOT NULL, near vector({SIZE}) NOT NULL)")
    if index:  # made first, as ours is, which cannot know that all of it comes at once
        con.execute(f"CREATE INDEX ON {table} USING {index} (near vector_cosine_ops)")

    def build() -> None:
        for ids, texts, vectors in parts(many):
            with con.cursor().copy(f"COPY {table} FROM STDIN") as copy:
                for id, text, vector in zip(ids, texts, vectors.tolist(), strict=True):
                    copy.write_row((id, text, str(vector)))

    def ask() -> int:
        query = f"SELECT id, told FROM {table} ORDER BY near <=> %s::vector LIMIT 10"
        return sum(len(con.execute(query, (str(one.tolist()),)).fetchall()) for one in questions()[0])

    def close() -> None:
        con.close()
        dropped(table)

    return build, ask, close


def _pg_hnsw(many: int, path: Path) -> Any:
    return _pg(many, path, "hnsw")


def _tantivy(many: int, path: Path) -> Any:
    import tantivy

    path.mkdir()
    schema = tantivy.SchemaBuilder().add_text_field("id", stored=True).add_text_field("told", stored=True).build()
    index = tantivy.Index(schema, path=str(path))

    def build() -> None:
        writer = index.writer(50_000_000, 1)
        for ids, texts, _ in parts(many):
            for id, text in zip(ids, texts, strict=True):
                writer.add_document(tantivy.Document(id=id, told=text))
            writer.commit()
        writer.wait_merging_threads()
        index.reload()

    def ask() -> int:
        found, searcher = 0, index.searcher()
        for words in questions()[1]:
            hits = searcher.search(index.parse_query(words, ["told"]), 10, count=False).hits
            found += len([searcher.doc(at).to_dict() for _, at in hits])
        return found

    return build, ask, _nothing
