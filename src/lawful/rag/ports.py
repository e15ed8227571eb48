"""The ports of passage stores, by vectors and by words: the checks before any store, and the calls that all of them have."""

from __future__ import annotations

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Self, TypeAlias

from msgspec import Struct

from lawful.core.errors import ValidationError
from lawful.rag.documents import Hit, Passage, checked_id, checked_metadata, checked_text
from lawful.rag.filters import Filter, where

Vector: TypeAlias = Sequence[float]
Where: TypeAlias = "Filter | Mapping[str, Any] | None"

MOST: Final = 4096
"""Hits that one search gives at most."""


class Entry(Struct, frozen=True):
    """A passage with its vector, as it is put into a store."""

    passage: Passage
    vector: tuple[float, ...]


class PassageStore(ABC):
    """What stores of vectors and of words share: passages by id, in one scope.

    ``scoped`` gives a handle to another scope, whose passages no other handle sees, counts or deletes. Raises, on every
    call: ValidationError for ids, scopes, filters or values that do not fit, before anything is done; VectorStoreError,
    where the store itself fails. For adapters: methods with a leading underscore get checked values only.
    """

    scope: str

    def delete(self, ids: Iterable[str]) -> int:
        """Forget these passages; says how many there were."""
        wanted = _ids(ids)
        return self._delete(wanted) if wanted else 0

    def present(self, ids: Iterable[str]) -> dict[str, str]:
        """Which of these passages are stored: their digests by id."""
        wanted = _ids(ids)
        return self._present(wanted) if wanted else {}

    @abstractmethod
    def ids(self) -> list[str]:
        """The ids of all passages of the scope, in order."""
        ...

    @abstractmethod
    def count(self) -> int:
        """How many passages the scope has."""
        ...

    @abstractmethod
    def scoped(self, scope: str) -> Self:
        """The same store, looking at another scope."""
        ...

    def close(self) -> None:  # noqa: B027 - a store without a file or connection has nothing to close
        """Give back files and connections."""

    async def adelete(self, ids: Iterable[str]) -> int:
        """As `delete`, in a thread."""
        return await asyncio.to_thread(self.delete, ids)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def _delete(self, ids: Sequence[str]) -> int: ...

    @abstractmethod
    def _present(self, ids: Sequence[str]) -> dict[str, str]: ...


class VectorStore(PassageStore):
    """Passages by their vectors; near is a large cosine.

    A store has a fixed number of dimensions: given, or the first vector's.
    """

    orders_text: bool = True
    """Whether filters may ask which of two texts comes first; where not, such a filter is a ValidationError."""

    @property
    @abstractmethod
    def dimensions(self) -> int | None:
        """The length of every vector; None while nothing was stored."""
        ...

    def upsert(self, entries: Iterable[Entry]) -> None:
        """Store them, all or none; an entry whose passage's id is known replaces that one."""
        known: dict[str, Entry] = {}
        for entry in entries:
            checked_passage(entry.passage)
            vector = checked_vector(entry.vector)
            known[entry.passage.id] = Entry(entry.passage, vector)
        if known:
            self._fit({len(entry.vector) for entry in known.values()})
            self._upsert(list(known.values()))

    def search(self, vector: Vector, k: int = 10, where: Where = None) -> list[Hit]:
        """The ``k`` nearest passages that pass the filter, best first, equal ones by id; the score is the cosine, -1 to 1."""
        found = checked_vector(vector)
        checked_k(k)
        filter = checked_where(where)
        if self.dimensions is None:
            return []
        self._fit({len(found)})
        return self._search(found, k, filter)

    async def aupsert(self, entries: Iterable[Entry]) -> None:
        """As `upsert`, in a thread."""
        await asyncio.to_thread(self.upsert, entries)

    async def asearch(self, vector: Vector, k: int = 10, where: Where = None) -> list[Hit]:
        """As `search`, in a thread."""
        return await asyncio.to_thread(self.search, vector, k, where)

    @abstractmethod
    def _upsert(self, entries: Sequence[Entry]) -> None: ...

    @abstractmethod
    def _search(self, vector: tuple[float, ...], k: int, filter: Filter | None) -> list[Hit]: ...

    def _fit(self, sizes: set[int]) -> None:
        expected = self.dimensions or min(sizes)
        wrong = sizes - {expected}
        if wrong:
            raise ValidationError(
                f"this store's vectors have {expected} dimensions, not {min(wrong)}: were they made by another embedder?",
                component="rag",
                operation="vectors",
                details={"dimensions": str(expected), "given": str(min(wrong))},
            )


class SparseStore(PassageStore):
    """Passages by the words in them; what a query says is words, never operators. Scores are BM25's, larger is better."""

    def upsert(self, passages: Iterable[Passage]) -> None:
        """Store them, all or none; a passage whose id is known replaces that one."""
        known = {checked_passage(passage).id: passage for passage in passages}
        if known:
            self._upsert(list(known.values()))

    def search(self, text: str, k: int = 10, where: Where = None) -> list[Hit]:
        """The ``k`` best passages that pass the filter and have any of the words, best first, equal ones by id."""
        checked_text(text, "query")
        checked_k(k)
        return self._search(text, k, checked_where(where))

    async def asearch(self, text: str, k: int = 10, where: Where = None) -> list[Hit]:
        """As `search`, in a thread."""
        return await asyncio.to_thread(self.search, text, k, where)

    @abstractmethod
    def _upsert(self, passages: Sequence[Passage]) -> None: ...

    @abstractmethod
    def _search(self, text: str, k: int, filter: Filter | None) -> list[Hit]: ...


def checked_vector(vector: Vector) -> tuple[float, ...]:
    """A vector that has a direction: finite numbers, not all of them zero.

    Raises: ValidationError.
    """
    try:
        found = tuple(map(float, vector))
    except (TypeError, ValueError) as error:
        raise ValidationError("a vector is a list of numbers", component="rag", operation="vectors") from error
    # Stores keep 32-bit numbers: a length out of their range would be infinite or zero there.
    if not 1e-15 < math.hypot(*found) < 1e18:
        raise ValidationError("a vector has finite numbers, not all of them zero", component="rag", operation="vectors")
    return found


def checked_passage(passage: Passage) -> Passage:
    """``passage``, if every store can keep it as it is.

    Raises: ValidationError.
    """
    checked_id(passage.id)
    checked_id(passage.document)
    for text in (passage.text, passage.source, *passage.headers):
        checked_text(text, "text")
    checked_metadata(passage.metadata)
    return passage


def checked_k(k: int) -> int:
    """``k``, if so many hits may be asked for. Raises: ValidationError."""
    if not isinstance(k, int) or isinstance(k, bool) or not 1 <= k <= MOST:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValidationError(f"k is a number from 1 to {MOST}, not {k!r}", component="rag", operation="search")
    return k


def checked_where(given: Where) -> Filter | None:
    """The filter that a caller gave, checked. Raises: ValidationError."""
    return where(given)


def ranked(hits: Iterable[Hit], k: int) -> list[Hit]:
    """The best ``k``, equal scores by id."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))[:k]


def settled(fetch: Callable[[int], list[Hit]], k: int) -> list[Hit]:
    """The best ``k`` of a store that gives equal scores in any order: it is asked for more while a tie runs over the end.

    ``fetch`` gives as many of the best as it is told, where there are so many.
    """
    wanted = min(k + 1, MOST)
    while True:
        found = ranked(fetch(wanted), wanted)
        if len(found) < wanted or wanted == MOST or found[-1].score < found[k - 1].score:
            return found[:k]
        wanted = min(4 * wanted, MOST)


def _ids(given: Iterable[str]) -> list[str]:
    if isinstance(given, str):
        raise ValidationError("ids are a list of texts, not one text", component="rag", operation="id")
    return list(dict.fromkeys(checked_id(id) for id in given))
