"""`QdrantVectors`: vectors in Qdrant (extra ``qdrant``), a server or its local mode in this process."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar, assert_never

from lawful.core.errors import ValidationError, VectorStoreError
from lawful.core.lazy import late
from lawful.rag.documents import Hit, checked_id, checked_name
from lawful.rag.filters import All, Compare, Either, Filter, Has, Not, OneOf, kind
from lawful.rag.ports import Entry, VectorStore, settled
from lawful.rag.sqlite_file import packed, unpacked

T = TypeVar("T")
_BATCH: Final = 256
_POINTS: Final = uuid.UUID("c8d1f6b4-6f0e-4c37-9d56-0f5a1b8a2e11")
"""Where the ids of our points come from: Qdrant's own are UUIDs."""
_BOUNDS: Final = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}


class QdrantVectors(VectorStore):
    """Vectors in a collection of Qdrant, made when the first are stored.

    ``client`` is a ``qdrant_client.QdrantClient``; without one ``url`` names a server, and ":memory:" or ``path`` the
    local mode, which has one process at a time. Large upserts go in parts of 256: after an error the first may be there.
    Raises: ConfigurationError, if qdrant-client is missing.
    """

    orders_text = False

    def __init__(
        self,
        url: str = ":memory:",
        *,
        path: str | None = None,
        api_key: str | None = None,
        client: Any = None,
        collection: str = "passages",
        scope: str = "local",
    ) -> None:
        package = late("qdrant_client", extra="qdrant")
        self._models: Any = package.models
        self._errors: tuple[type[Exception], ...] = (
            late("qdrant_client.http.exceptions").ApiException,
            late("qdrant_client.common.client_exceptions").QdrantException,
            late("httpx").HTTPError,
            RuntimeError,
            ValueError,
        )
        self.scope = checked_id(scope)
        self._collection = checked_name(collection)
        if client is None:
            place = {"path": path} if path is not None else {"location": url}
            client = self._told(lambda: package.QdrantClient(**place, api_key=api_key))
        self._client = client
        self._size: int | None = None

    @property
    def dimensions(self) -> int | None:
        if self._size is None and self._told(lambda: self._client.collection_exists(self._collection)):
            found = self._told(lambda: self._client.get_collection(self._collection))
            self._size = int(found.config.params.vectors.size)
        return self._size

    def scoped(self, scope: str) -> QdrantVectors:
        return QdrantVectors(client=self._client, collection=self._collection, scope=scope)

    def close(self) -> None:
        """Close the client, which all scopes of this store share."""
        self._client.close()

    def ids(self) -> list[str]:
        if self.dimensions is None:
            return []
        found: list[str] = []
        after: Any = None
        while True:
            points, after = self._told(self._page(after))
            found += [point.payload["id"] for point in points]
            if after is None:
                return sorted(found)

    def _page(self, after: Any) -> Callable[[], tuple[Any, Any]]:
        return lambda: self._client.scroll(
            self._collection,
            scroll_filter=self._mine(None),
            limit=1000,
            offset=after,
            with_payload=["id"],
        )

    def count(self) -> int:
        if self.dimensions is None:
            return 0
        told = self._told(lambda: self._client.count(self._collection, count_filter=self._mine(None), exact=True))
        return int(told.count)

    def _upsert(self, entries: Sequence[Entry]) -> None:
        models = self._models
        if self.dimensions is None:
            size = models.VectorParams(size=len(entries[0].vector), distance=models.Distance.COSINE)
            self._told(lambda: self._client.create_collection(self._collection, vectors_config=size))
        points = [
            models.PointStruct(id=self._point(one.passage.id), vector=list(one.vector), payload=self._payload(one))
            for one in entries
        ]
        for start in range(0, len(points), _BATCH):
            self._put(points[start : start + _BATCH])

    def _put(self, points: list[Any]) -> None:
        self._told(lambda: self._client.upsert(self._collection, points=points, wait=True))

    def _payload(self, entry: Entry) -> dict[str, Any]:
        one = entry.passage
        fields = {
            f"{kind(value)}_{name}": float(value) if kind(value) == "n" else value
            for name, value in one.metadata.items()
        }
        own = {"scope": self.scope, "id": one.id, "digest": one.digest, "body": packed(one).decode()}
        return {**own, **fields}

    def _delete(self, ids: Sequence[str]) -> int:
        known = self._present(ids)
        points = [self._point(id) for id in known]
        if points:
            self._told(
                lambda: self._client.delete(
                    self._collection, points_selector=self._models.PointIdsList(points=points), wait=True
                )
            )
        return len(points)

    def _present(self, ids: Sequence[str]) -> dict[str, str]:
        if self.dimensions is None:
            return {}
        points = [self._point(id) for id in ids]
        found = self._told(lambda: self._client.retrieve(self._collection, ids=points, with_payload=["id", "digest"]))
        return {point.payload["id"]: point.payload["digest"] for point in found}

    def _search(self, vector: tuple[float, ...], k: int, filter: Filter | None) -> list[Hit]:
        wanted, near = self._mine(filter), list(vector)

        def fetch(many: int) -> list[Hit]:
            found = self._told(
                lambda: self._client.query_points(
                    self._collection, query=near, query_filter=wanted, limit=many, with_payload=["body"]
                )
            )
            return [
                Hit(unpacked(point.payload["body"], self._collection), float(point.score)) for point in found.points
            ]

        return settled(fetch, k)

    def _point(self, id: str) -> str:
        # The scope's length is part of the name, so that no two pairs of scope and id give one name.
        return str(uuid.uuid5(_POINTS, f"{len(self.scope)}:{self.scope}:{id}"))

    def _told(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except self._errors as error:
            raise VectorStoreError(
                f"Qdrant: {str(error).partition(chr(10))[0]}",
                component="rag",
                operation="qdrant",
                retryable=not isinstance(error, RuntimeError | ValueError),
                cause=error,
            ) from error

    def _mine(self, filter: Filter | None) -> Any:
        models = self._models
        own = models.FieldCondition(key="scope", match=models.MatchValue(value=self.scope))
        return models.Filter(must=[own] if filter is None else [own, self._condition(filter)])

    def _condition(self, filter: Filter) -> Any:
        models = self._models
        match filter:
            case Compare():
                return self._compared(filter)
            case OneOf(name, values):
                return self._condition(Either(tuple(Compare(name, "==", value) for value in values)))
            case Has(name):
                keys = [models.IsEmptyCondition(is_empty=models.PayloadField(key=f"{one}_{name}")) for one in "bns"]
                return models.Filter(must_not=[models.Filter(must=keys)])
            case All(parts) if parts:
                return models.Filter(must=[self._condition(part) for part in parts])
            case Either(parts) if parts:
                return models.Filter(should=[self._condition(part) for part in parts])
            case All():
                return models.Filter(must_not=[models.HasIdCondition(has_id=[])])
            case Either():
                return models.HasIdCondition(has_id=[])
            case Not(part):
                return models.Filter(must_not=[self._condition(part)])
            case _:
                assert_never(filter)

    def _compared(self, filter: Compare) -> Any:
        models = self._models
        key = f"{kind(filter.value)}_{filter.field}"
        if kind(filter.value) == "n":
            value = float(filter.value)
            bounds = {"gte": value, "lte": value} if filter.order == "==" else {_BOUNDS[filter.order]: value}
            return models.FieldCondition(key=key, range=models.Range(**bounds))
        if filter.order != "==":
            raise ValidationError(
                f"Qdrant cannot tell which text comes first: store {filter.field!r} as a number to order by it",
                component="rag",
                operation="filter",
            )
        return models.FieldCondition(key=key, match=models.MatchValue(value=filter.value))
