"""The stores of `lawful.rag`, with their checks, scopes and filters' tables; upserts of a thousand passages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.peers._names import OURS
from bench.rag.data import parts, questions
from lawful import __version__
from lawful.rag import Entry, FileVectors, MemoryVectors, Passage, QdrantVectors, SparseIndex, SQLiteVecVectors

NAME = OURS


def version() -> str:
    return __version__


def store(kind: str, many: int, path: Path) -> tuple[Callable[[], None], Callable[[], int], Callable[[], None]]:
    """How to build it, to ask all questions (giving the number of hits), and to close it."""
    makers: dict[str, Callable[[], Any]] = {
        "memory": MemoryVectors,
        "file": lambda: FileVectors(path),
        "sqlite-vec": lambda: SQLiteVecVectors(path),
        "qdrant": QdrantVectors,
        "fts5": lambda: SparseIndex(path, words="plain"),
    }
    made = makers[kind]()

    def build() -> None:
        for ids, texts, vectors in parts(many):
            passages = [Passage(id, "d", text, 0, len(text)) for id, text in zip(ids, texts, strict=True)]
            if kind == "fts5":
                made.upsert(passages)
            else:
                made.upsert(Entry(one, tuple(row)) for one, row in zip(passages, vectors.tolist(), strict=True))

    def ask() -> int:
        near, words = questions()
        return sum(len(made.search(one, 10)) for one in (words if kind == "fts5" else near))

    return build, ask, made.close
