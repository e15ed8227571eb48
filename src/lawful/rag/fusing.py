"""How ranked lists become one (reciprocal rank fusion), and how a list is put into a better order (the rerank port)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, cast

from lawful.core.errors import ConfigurationError, Error, Failure, VectorStoreError
from lawful.core.result import Err, Ok, Result
from lawful.pipeline.build import prim, pure
from lawful.pipeline.nodes import Pipeline
from lawful.rag.documents import Hit, Passage

K: Final = 60
"""The constant of Cormack, Clarke and Büttcher, SIGIR 2009, which introduced the method."""


def rrf(lists: Sequence[Sequence[Hit]], *, k: float = K, weights: Sequence[float] | None = None) -> list[Hit]:
    """One list of several: each passage gets ``sum(weight / (k + rank))`` over the lists it is in, ranks from 1.

    Passages are told apart by id; the best first, equal scores in the order in which they were first met. Within one list
    a passage counts once, by its best rank. The scores that came in play no part, since different searches' cannot be
    compared.

    Raises: ConfigurationError, if ``k`` is negative, or ``weights`` are not one number from 0 up for each list.
    """
    shares = [1.0] * len(lists) if weights is None else list(weights)
    if len(shares) != len(lists) or not all(0 <= one < math.inf for one in shares) or not 0 <= k < math.inf:
        raise ConfigurationError(
            "rrf takes a k from 0 up and one weight from 0 up for each list", component="rag", operation="fuse"
        )
    scores: dict[str, list[float]] = {}
    passages: dict[str, Passage] = {}
    for hits, share in zip(lists, shares, strict=True):
        seen: set[str] = set()
        for hit in hits:
            if hit.id not in seen:
                seen.add(hit.id)
                passages.setdefault(hit.id, hit.passage)
                scores.setdefault(hit.id, []).append(share / (k + len(seen)))
    # Summed exactly, so that the same ranks in other lists give the same score and ties stay ties.
    told = {id: math.fsum(parts) for id, parts in scores.items()}
    return [Hit(passages[id], told[id]) for id in sorted(told, key=lambda id: -told[id])]


def fuse(lists: Iterable[Sequence[Hit]]) -> list[Hit]:
    """`rrf` with its usual constant, as a step: ``(index.dense() & index.sparse()) >> pure(fuse)``."""
    return rrf(list(lists))


def best(k: int) -> Pipeline[list[Hit], list[Hit]]:
    """The first ``k`` hits."""
    if k < 1:
        raise ConfigurationError(f"k must be at least 1, not {k}", component="rag", operation="best")

    def first(hits: list[Hit]) -> list[Hit]:
        return hits[:k]

    return pure(first, f"best {k}")


class Reranker(ABC):
    """What judges passages anew, each beside the question: a cross-encoder, a service, a model."""

    name: str = "reranker"

    @abstractmethod
    async def scores(self, question: str, passages: Sequence[Passage]) -> Sequence[float]:
        """A score for each passage, in their order; larger is better. Raises: Failures only."""
        ...


@dataclass(frozen=True)
class Found:
    """A question and what was found for it."""

    question: str
    hits: list[Hit]


class _Reranked:
    kind = "retriever"

    def __init__(self, reranker: Reranker, k: int) -> None:
        self._reranker, self._k = reranker, k
        self.component_id = f"rerank:{reranker.name}:{k}"

    async def __call__(self, found: Found, /) -> Result[list[Hit], Error]:
        if not found.hits:
            return Ok([])
        try:
            scores = list(await self._reranker.scores(found.question, [hit.passage for hit in found.hits]))
        except Failure as error:
            return Err(cast("Error", error))
        if len(scores) != len(found.hits) or not all(math.isfinite(score) for score in scores):
            return Err(
                VectorStoreError(
                    f"{self._reranker.name} gave {len(scores)} scores for {len(found.hits)} passages, or one that is none",
                    component="rag",
                    operation="rerank",
                    retryable=False,
                )
            )
        again = [Hit(hit.passage, float(score)) for hit, score in zip(found.hits, scores, strict=True)]
        return Ok(sorted(again, key=lambda hit: -hit.score)[: self._k])


def asked(pair: tuple[str, list[Hit]]) -> Found:
    """A question and its hits as one value."""
    return Found(*pair)


def rerank(retriever: Pipeline[str, list[Hit]], reranker: Reranker, k: int = 5) -> Pipeline[str, list[Hit]]:
    """``retriever``, whose hits ``reranker`` scores anew; the best ``k``, equal scores in the order found.

    An answer of the reranker that does not fit is a VectorStoreError.
    """
    if k < 1:
        raise ConfigurationError(f"k must be at least 1, not {k}", component="rag", operation="rerank")
    return (_same & retriever) >> pure(asked) >> prim(_Reranked(reranker, k))


_same: Pipeline[str, str] = pure(str)
