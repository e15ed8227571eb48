"""What turns texts into vectors: the port that every embedder implements, and one that needs nothing but this machine."""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Final, Self, TypeAlias

from msgspec import Struct

from lawful.core.errors import EmbeddingError, Failure, ValidationError
from lawful.core.events import Usage
from lawful.core.retry import RetryPolicy, next_delay
from lawful.models.portal import Portal, at_once, no_loop_here, portal_of
from lawful.models.telling import answers_nobody, clock_of, here

Vector: TypeAlias = tuple[float, ...]


class Embeddings(Struct, frozen=True):
    """A vector for each text, in their order."""

    vectors: tuple[Vector, ...]
    model: str = ""
    usage: Usage = Usage()


class Embedder(ABC):
    """Turns texts into vectors of one length.

    Raises, on every call: ValidationError for no texts or an empty one, before anything is sent; EmbeddingError for an
    answer that does not fit; and what `ChatModel` says of its provider.
    """

    provider: str
    name: str
    dimensions: int | None = None
    """The vectors' length, where it is known beforehand."""
    batch: int = 256
    """Texts that are sent at once."""
    retry: RetryPolicy | None = None
    immediate: ClassVar[bool] = False

    _portal: Portal | None = None

    @property
    def component_id(self) -> str:
        return f"{self.provider}:{self.name}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.component_id}>"

    @abstractmethod
    async def vectors(self, texts: Sequence[str]) -> Embeddings:
        """The vectors of at most ``batch`` texts; for adapters. Raises Failures only."""
        ...

    async def aembed(self, texts: Sequence[str]) -> Embeddings:
        """A vector for each text."""
        if isinstance(texts, str) or not texts or not all(isinstance(text, str) and text.strip() for text in texts):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValidationError(
                "an embedder is given a list of texts, none of them empty", component="models", operation="embed"
            )
        if not self.immediate:
            answers_nobody(here(), self.component_id)
        found: list[Vector] = []
        usage, model = Usage(), ""
        for start in range(0, len(texts), self.batch):
            part = texts[start : start + self.batch]
            made = await self._tries(part)
            if len(made.vectors) != len(part) or len({len(vector) for vector in made.vectors}) != 1:
                raise EmbeddingError(
                    f"{self.component_id} gave {len(made.vectors)} vectors for {len(part)} texts",
                    component="models",
                    operation=self.component_id,
                )
            found.extend(made.vectors)
            usage, model = usage + made.usage, made.model
        return Embeddings(tuple(found), model or self.name, usage)

    async def aembed_query(self, text: str) -> Vector:
        """The vector of one text."""
        return (await self.aembed([text])).vectors[0]

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """As `aembed`, in sync code."""
        no_loop_here("embed", "aembed")
        work = self.aembed(texts)
        if self.immediate and self.retry is None:
            return at_once(work)
        return portal_of(self).run(work)

    def embed_query(self, text: str) -> Vector:
        """As `aembed_query`, in sync code."""
        return self.embed([text]).vectors[0]

    async def _tries(self, texts: Sequence[str]) -> Embeddings:
        attempt = 1
        while True:
            try:
                return await self.vectors(texts)
            except Failure as error:
                wait = next_delay(self.retry, error, attempt, clock_of(here()).random())
                if wait is None:
                    raise
                await asyncio.sleep(wait)
                attempt += 1

    async def aclose(self) -> None:  # noqa: B027 - an embedder without connections has nothing to close
        """Close the connections on the running loop."""

    def close(self) -> None:
        """Close what the sync forms hold."""
        portal, self._portal = self._portal, None
        if portal is not None:
            portal.run(self.aclose())
            portal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_WORD: Final = re.compile(r"\w+")


class HashEmbedder(Embedder):
    """Vectors of the words that a text has, by hashing: no meaning, only shared words and beginnings of words.

    For tests and for a first try without a network; two texts are near if they share words. Deterministic everywhere.
    """

    immediate: ClassVar[bool] = True

    def __init__(self, dimensions: int = 256) -> None:
        self.provider, self.name = "local", "hash"
        self.dimensions = dimensions

    async def vectors(self, texts: Sequence[str]) -> Embeddings:
        made = tuple(self._vector(text) for text in texts)
        return Embeddings(made, self.name, Usage(sum(len(_WORD.findall(text)) for text in texts)))

    def _vector(self, text: str) -> Vector:
        size = self.dimensions or 256
        sums = [0.0] * size
        for word in _WORD.findall(text.lower()):
            for feature, weight in ((word, 1.0), (f"{word[:5]}*", 0.5)):
                digest = hashlib.blake2b(feature.encode(), digest_size=8).digest()
                place = int.from_bytes(digest[:4], "big") % size
                sums[place] += weight if digest[4] & 1 else -weight
        length = math.sqrt(sum(one * one for one in sums))
        return tuple(one / length for one in sums) if length else (*sums[:-1], 1.0)
