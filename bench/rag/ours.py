"""The stores of `lawful.rag`, with their checks, scopes and filters' tables; upserts of a thousand passages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.peers._names import OURS
from bench.pg.work import url
from bench.rag.data import dropped, parts, questions
from lawful import __version__
from lawful.rag import (
    Entry,
    FileVectors,
    MemoryVectors,
    Passage,
    PgVectors,
    QdrantVectors,
    SparseIndex,
    SQLiteVecVectors,
    TantivyIndex,
)

NAME = OURS


def version() -> str:
    return __version__


WORDS = ("fts5", "tantivy")


def store(kind: str, many: int, path: Path) -> tuple[Callable[[], None], Callable[[], int], Callable[[], None]]:
    """How to build it, to ask all questions (giving the number of hits), and to close it.

    Raises: ImportError for pgvector without a database.
    """
    makers: dict[str, Callable[[], Any]] = {
        "memory": MemoryVectors,
        "file": lambda: FileVectors(path),
        "sqlite-vec": lambda: SQLiteVecVectors(path),
        "pgvector": lambda: PgVectors(url(), table=f"ours{path.stem}"),
        "pgvector-hnsw": lambda: PgVectors(url(), table=f"ours{path.stem}", index="hnsw"),
        "qdrant": QdrantVectors,
        "fts5": lambda: SparseIndex(path, words="plain"),
        "tantivy": lambda: TantivyIndex(path, words="plain"),
    }
    made = makers[kind]()

    def build() -> None:
        for ids, texts, vectors in parts(many):
            passages = [Passage(id, "d", text, 0, len(text)) for id, text in zip(ids, texts, strict=True)]
            if kind in WORDS:
                made.upsert(passages)
            else:
                made.upsert(Entry(one, tuple(row)) for one, row in zip(passages, vectors.tolist(), strict=True))

    def ask() -> int:
        near, words = questions()
        return sum(len(made.search(one, 10)) for one in (words if kind in WORDS else near))

    def close() -> None:
        made.close()
        if kind.startswith("pgvector"):
            dropped(f"ours{path.stem}_field", f"ours{path.stem}")

    return build, ask, close
