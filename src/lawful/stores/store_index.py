"""A store's vector index: which texts of a value are embedded and by what, how vectors are kept, how near two of them are."""

from __future__ import annotations

import asyncio
import inspect
import math
import struct
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from operator import mul
from typing import Any, Final, TypeAlias, cast

from msgspec import Struct

from lawful.core.errors import ConfigurationError, EmbeddingError, ValidationError, nearest
from lawful.stores.store_checks import corrupt
from lawful.stores.store_paths import WHOLE, Path, path_of, texts_at
from lawful.stores.store_records import IndexConfig, Namespace, Op, PutOp, SearchOp

Vector: TypeAlias = tuple[float, ...]
"""Of length 1, so that the nearness of two is their product."""
_KEYS: Final = ("dims", "embed", "fields")
_LARGEST: Final = 1 << 16
_HEAD: Final = struct.Struct("<I")


class Vectors:
    """The vectors of the texts that one call needs."""

    __slots__ = ("documents", "queries")

    def __init__(self, queries: Mapping[str, Vector], documents: Mapping[str, Vector]) -> None:
        self.queries = queries
        self.documents = documents


class Index:
    """An `IndexConfig` that was checked. Raises: ConfigurationError, for what it must not have."""

    __slots__ = ("_paths", "_way", "dims")

    def __init__(self, config: IndexConfig) -> None:
        for key in config:
            if key not in _KEYS:
                raise _wrong(f"an index has no {key!a}.{nearest(str(key), _KEYS)}")
        dims: Any = config.get("dims")
        if not isinstance(dims, int) or isinstance(dims, bool) or not 1 <= dims <= _LARGEST:
            raise _wrong(f"index['dims'] is how many numbers a vector has, 1 to {_LARGEST}, not {dims!a}")
        self.dims: int = dims
        fields: Any = config.get("fields")
        if fields is None:
            fields = [WHOLE]
        self._paths = paths_of(fields)
        self._way = _way(config.get("embed"))

    def needed(self, ops: Iterable[Op]) -> tuple[list[str], list[str]]:
        """The queries, and the texts of what is put, each once."""
        queries: dict[str, None] = {}
        documents: dict[str, None] = {}
        for op in ops:
            if isinstance(op, SearchOp) and asked(op.query):
                queries[cast("str", op.query)] = None
            elif isinstance(op, PutOp):
                documents.update(dict.fromkeys(self.texts(op)))
        return list(queries), list(documents)

    def texts(self, op: PutOp) -> tuple[str, ...]:
        """What of the value is embedded: as the put says, or else as the index does."""
        if op.value is None or op.index is False:
            return ()
        paths = self._paths if op.index is None else paths_of(op.index)
        return tuple(dict.fromkeys(text for path in paths for text in texts_at(op.value, path)))

    def embed(self, queries: Sequence[str], documents: Sequence[str]) -> Vectors:
        """Raises: ConfigurationError, if the texts are embedded asynchronously; EmbeddingError; what the embedder raises."""
        way = self._way
        if way.documents is None or way.query is None:
            raise _wrong("this index embeds asynchronously: use aput, asearch and abatch")
        asked_for = [way.query(text) for text in queries]
        return self._made(queries, asked_for, documents, way.documents(list(documents)) if documents else ())

    async def aembed(self, queries: Sequence[str], documents: Sequence[str]) -> Vectors:
        """As `embed`, without holding up the event loop."""
        way = self._way
        asked_for = [await way.aquery(text) for text in queries]
        return self._made(queries, asked_for, documents, await way.adocuments(list(documents)) if documents else ())

    def _made(self, queries: Sequence[str], asked_for: Sequence[Any], documents: Sequence[str], found: Any) -> Vectors:
        vectors = list(found)
        if len(vectors) != len(documents):
            raise _failed(f"gave {len(vectors)} vectors for {len(documents)} texts")
        kept = {text: self._one(v) for text, v in zip(documents, vectors, strict=True)}
        return Vectors({text: self._one(v) for text, v in zip(queries, asked_for, strict=True)}, kept)

    def _one(self, found: Any) -> Vector:
        try:
            numbers = [float(one) for one in found]
        except (TypeError, ValueError) as error:
            raise _failed(f"gave a {type(found).__name__} that is no vector") from error
        if len(numbers) != self.dims:
            raise _failed(f"gave a vector of {len(numbers)} numbers, and the index says dims={self.dims}")
        if not all(map(math.isfinite, numbers)):
            raise _failed("gave a vector with a number that is not finite")
        return unit(numbers)


class _Way(Struct, frozen=True):
    """How texts, and how a query, become vectors; without the first two, only in asyncio."""

    documents: Callable[[list[str]], Any] | None
    query: Callable[[str], Any] | None
    adocuments: Callable[[list[str]], Awaitable[Any]]
    aquery: Callable[[str], Awaitable[Any]]


def _way(embed: Any) -> _Way:
    if hasattr(embed, "embed_documents") and hasattr(embed, "aembed_documents"):  # langchain's Embeddings
        return _Way(embed.embed_documents, embed.embed_query, embed.aembed_documents, embed.aembed_query)
    if hasattr(embed, "aembed") and hasattr(embed, "aembed_query"):  # lawful.models.Embedder

        async def ours(texts: list[str]) -> Any:
            return (await embed.aembed(texts)).vectors

        return _Way(lambda texts: embed.embed(texts).vectors, embed.embed_query, ours, embed.aembed_query)
    if isinstance(embed, str):
        raise _wrong(f"index['embed'] is no name: give the embedder itself, lawful.models.embedder({embed!r})")
    if not callable(embed):
        raise _wrong(f"index['embed'] is an embedder or a function of a list of texts, not {embed!a:.80}")
    call: Callable[[list[str]], Any] = embed
    if inspect.iscoroutinefunction(embed) or inspect.iscoroutinefunction(type(embed).__call__):

        async def first(text: str) -> Any:
            return _only(await call([text]))

        return _Way(None, None, call, first)

    async def away(texts: list[str]) -> Any:
        return await asyncio.to_thread(call, texts)

    async def away_first(text: str) -> Any:
        return _only(await asyncio.to_thread(call, [text]))

    return _Way(call, lambda text: _only(call([text])), away, away_first)


def _only(found: Any) -> Any:
    vectors = list(found)
    if len(vectors) != 1:
        raise _failed(f"gave {len(vectors)} vectors for 1 text")
    return vectors[0]


def paths_of(fields: Any) -> tuple[Path, ...]:
    """Raises: ValidationError, for what is no list of paths."""
    if isinstance(fields, str) or not isinstance(fields, Sequence):
        raise ValidationError(
            f"the fields of an index are a list of paths, not {fields!a:.80}", component="store", operation="index"
        )
    return tuple(path_of(field) for field in cast("Sequence[Any]", fields))


def asked(query: str | None) -> bool:
    """Whether there is something to be near to; a blank query asks for nothing."""
    return query is not None and bool(query.strip())


def unit(numbers: Sequence[float]) -> Vector:
    """The same direction with length 1; zeros stay zeros."""
    largest = max(map(abs, numbers), default=0.0)
    if not largest:
        return tuple(numbers)
    scaled = [one / largest for one in numbers]
    length = math.sqrt(sum(map(mul, scaled, scaled)))
    return tuple(one / length for one in scaled)


def packed_vectors(vectors: Sequence[Vector]) -> bytes:
    """How many numbers a vector has, and all of them as 32-bit floats; little-endian."""
    size = len(vectors[0])
    return _HEAD.pack(size) + b"".join(struct.pack(f"<{size}f", *vector) for vector in vectors)


def nearness(query: Vector, namespace: Namespace, key: str, data: bytes) -> float:
    """The cosine of the query and the nearest of a record's vectors, -1 to 1.

    Raises: CorruptRecord; ConfigurationError, for vectors of another length.
    """
    size = len(query)
    if len(data) < _HEAD.size or (found := _HEAD.unpack_from(data)[0]) == 0 or (len(data) - _HEAD.size) % (4 * found):
        raise corrupt(namespace, key, data)
    if found != size:
        raise _wrong(
            f"the item {key!a} of namespace {namespace!a} was indexed with vectors of {found} numbers, and the index says"
            f" dims={size}: put it again"
        )
    numbers = struct.unpack_from(f"<{(len(data) - _HEAD.size) // 4}f", data, _HEAD.size)
    best = max(sum(map(mul, query, numbers[at : at + size])) for at in range(0, len(numbers), size))
    return min(1.0, max(-1.0, best))


def _wrong(message: str) -> ConfigurationError:
    return ConfigurationError(message, component="store", operation="index")


def _failed(what: str) -> EmbeddingError:
    return EmbeddingError(f"the index's embedder {what}", component="store", operation="index")
