"""`MemoryVectors`: vectors in this process, for tests and small collections; what every other store is held against."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from lawful.rag.documents import Hit, checked_id
from lawful.rag.filters import Filter
from lawful.rag.ports import Entry, VectorStore
from lawful.rag.rows import Rows


class _Shared:
    def __init__(self, dimensions: int | None) -> None:
        self.dimensions = dimensions
        self.scopes: dict[str, Rows] = {}
        self.gate = threading.RLock()


class MemoryVectors(VectorStore):
    """Vectors in memory, searched whole: exact, 100,000 passages in some tens of milliseconds with numpy (extra ``dense``)."""

    def __init__(self, *, dimensions: int | None = None, scope: str = "local") -> None:
        self.scope = checked_id(scope)
        self._shared = _Shared(dimensions)

    @property
    def dimensions(self) -> int | None:
        return self._shared.dimensions

    def scoped(self, scope: str) -> MemoryVectors:
        made = MemoryVectors(scope=scope)
        made._shared = self._shared
        return made

    def ids(self) -> list[str]:
        with self._shared.gate:
            rows = self._rows()
            return rows.ids() if rows is not None else []

    def count(self) -> int:
        with self._shared.gate:
            return len(self._rows() or ())

    def _rows(self) -> Rows | None:
        return self._shared.scopes.get(self.scope)

    def _upsert(self, entries: Sequence[Entry]) -> None:
        with self._shared.gate:
            if self._shared.dimensions is None:
                self._shared.dimensions = len(entries[0].vector)
            rows = self._shared.scopes.setdefault(self.scope, Rows(self._shared.dimensions))
            self._fit({len(entry.vector) for entry in entries})
            for entry in entries:
                rows.put(entry.passage, entry.vector)

    def _delete(self, ids: Sequence[str]) -> int:
        with self._shared.gate:
            rows = self._rows()
            return sum(rows.drop(id) for id in ids) if rows is not None else 0

    def _present(self, ids: Sequence[str]) -> dict[str, str]:
        with self._shared.gate:
            rows = self._rows()
            known = {id: rows.digest(id) for id in ids} if rows is not None else {}
        return {id: digest for id, digest in known.items() if digest is not None}

    def _search(self, vector: tuple[float, ...], k: int, filter: Filter | None) -> list[Hit]:
        with self._shared.gate:
            rows = self._rows()
            return rows.nearest(vector, k, filter) if rows is not None else []
