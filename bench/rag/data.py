"""Passages with random vectors, the same for every contestant, made a part at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy

from bench.pg.work import url

SIZE = 384
PART = 1000
_WORDS = [f"word{n}" for n in range(5000)]


def parts(many: int) -> Iterator[tuple[list[str], list[str], Any]]:
    """Ids, texts and unit vectors of ``many`` passages, a thousand at a time."""
    random = numpy.random.default_rng(7)
    for start in range(0, many, PART):
        count = min(PART, many - start)
        vectors = random.standard_normal((count, SIZE), dtype="float32")
        vectors /= numpy.linalg.norm(vectors, axis=1, keepdims=True)
        chosen = random.zipf(1.3, (count, 30)) % len(_WORDS)
        texts = [" ".join(_WORDS[n] for n in row) for row in chosen]
        yield [f"p{n}" for n in range(start, start + count)], texts, vectors


def questions(many: int = 20) -> tuple[list[Any], list[str]]:
    """Vectors and words to ask with."""
    random = numpy.random.default_rng(8)
    vectors = random.standard_normal((many, SIZE), dtype="float32")
    return list(vectors), [f"word{n} word{n * 7 % 500} word{n * 31 % 4000}" for n in range(1, many + 1)]


def dropped(*tables: str) -> None:
    """Drop these tables of the database, which the suite has made."""
    import psycopg

    with psycopg.connect(url(), autocommit=True) as con:
        for table in tables:
            con.execute(f"DROP TABLE IF EXISTS {table}")
