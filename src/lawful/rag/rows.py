"""Vectors in memory and their nearest: with numpy where it is installed, else with nothing but the standard library."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from operator import mul
from typing import Any, Protocol

from lawful.core.lazy import late
from lawful.rag.documents import Hit, Passage
from lawful.rag.filters import Filter, matches
from lawful.rag.ports import ranked


class _Matrix(Protocol):
    def put(self, row: int, vector: Sequence[float]) -> None: ...
    def move(self, source: int, target: int) -> None: ...
    def scores(self, vector: Sequence[float], rows: int) -> Any: ...
    def falling(self, scores: Any, most: int | None) -> Iterable[int]: ...


class Rows:
    """Passages and their unit vectors, one row each."""

    def __init__(self, size: int) -> None:
        self._matrix: _Matrix = _matrix(size)
        self._passages: list[Passage] = []
        self._digests: list[str] = []
        self._at: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._passages)

    def put(self, passage: Passage, vector: Sequence[float], digest: str = "") -> None:
        """Keep it, in the place of the one with the same id if there is one."""
        row = self._at.get(passage.id)
        if row is None:
            row = self._at[passage.id] = len(self._passages)
            self._passages.append(passage)
            self._digests.append("")
        self._passages[row] = passage
        self._digests[row] = digest or passage.digest
        self._matrix.put(row, vector)

    def drop(self, id: str) -> bool:
        """Forget it; the last row takes its place."""
        row = self._at.pop(id, None)
        if row is None:
            return False
        last, digest = self._passages.pop(), self._digests.pop()
        if row < len(self._passages):
            self._passages[row], self._digests[row] = last, digest
            self._at[last.id] = row
            self._matrix.move(len(self._passages), row)
        return True

    def digest(self, id: str) -> str | None:
        """The digest of that passage, or None."""
        row = self._at.get(id)
        return None if row is None else self._digests[row]

    def ids(self) -> list[str]:
        return sorted(self._at)

    def nearest(self, vector: Sequence[float], k: int, filter: Filter | None) -> list[Hit]:
        """The best ``k`` that pass the filter; ties at the end are settled by id, too."""
        if not self._passages:
            return []
        scores = self._matrix.scores(vector, len(self._passages))
        found: list[Hit] = []
        for row in self._matrix.falling(scores, k if filter is None else None):
            score = float(scores[row])
            if len(found) >= k and score < found[k - 1].score:
                break
            if matches(filter, self._passages[row].metadata):
                found.append(Hit(self._passages[row], max(-1.0, min(1.0, score))))
        return ranked(found, k)


class _Plain:
    def __init__(self) -> None:
        self._rows: list[array[float]] = []

    def put(self, row: int, vector: Sequence[float]) -> None:
        length = math.hypot(*vector)
        made = array("f", [one / length for one in vector])
        if row == len(self._rows):
            self._rows.append(made)
        else:
            self._rows[row] = made

    def move(self, source: int, target: int) -> None:
        self._rows[target] = self._rows[source]
        del self._rows[source:]

    def scores(self, vector: Sequence[float], rows: int) -> list[float]:
        del self._rows[rows:]
        length = math.hypot(*vector)
        wanted = [one / length for one in vector]
        return [sum(map(mul, row, wanted)) for row in self._rows]

    def falling(self, scores: list[float], most: int | None) -> Iterable[int]:
        return sorted(range(len(scores)), key=scores.__getitem__, reverse=True)


class _Numpy:
    def __init__(self, numpy: Any, size: int) -> None:
        self._np = numpy
        self._rows = numpy.empty((64, size), dtype="float32")

    def put(self, row: int, vector: Sequence[float]) -> None:
        if row >= len(self._rows):
            grown = self._np.empty((2 * len(self._rows), self._rows.shape[1]), dtype="float32")
            grown[: len(self._rows)] = self._rows
            self._rows = grown
        self._rows[row] = self._unit(vector)

    def move(self, source: int, target: int) -> None:
        self._rows[target] = self._rows[source]

    def scores(self, vector: Sequence[float], rows: int) -> Any:
        return self._rows[:rows] @ self._unit(vector)

    def falling(self, scores: Any, most: int | None) -> Iterable[int]:
        if most is None or most >= len(scores):
            return self._np.argsort(-scores, kind="stable").tolist()
        edge = self._np.partition(scores, len(scores) - most)[len(scores) - most]
        rows = self._np.nonzero(scores >= edge)[0]
        return rows[self._np.argsort(-scores[rows], kind="stable")].tolist()

    def _unit(self, vector: Sequence[float]) -> Any:
        made = self._np.asarray(vector, dtype="float64")
        return (made / self._np.linalg.norm(made)).astype("float32")


def _matrix(size: int) -> _Matrix:
    try:
        return _Numpy(late("numpy"), size)
    except ModuleNotFoundError:
        return _Plain()
