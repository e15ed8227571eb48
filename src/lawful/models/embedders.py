"""Embedders of OpenAI, Gemini and Ollama through the official SDKs, and how a text such as "openai:..." becomes one."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Final

from lawful.core.errors import ConfigurationError, EmbeddingError, Failure, nearest
from lawful.core.events import Usage
from lawful.core.lazy import late
from lawful.core.retry import RetryPolicy
from lawful.models import google, ollama, openai
from lawful.models.adapter import RETRY, Clients, failure_of
from lawful.models.embedding import Embedder, Embeddings, HashEmbedder
from lawful.models.keys import key_for


class _Adapter(Embedder):
    """What the three share: a client for each event loop, and its errors as ours."""

    clients: Clients[Any]
    secrets: tuple[str, ...] = ()
    raised: tuple[type[Exception], ...] = ()

    async def vectors(self, texts: Sequence[str]) -> Embeddings:
        failed: Failure | None = None
        try:
            return await self.asked(list(texts))
        except self.raised as error:
            failed = failure_of(error, self.component_id, False, "", self.secrets)
        except (TypeError, AttributeError, KeyError) as error:
            failed = EmbeddingError(
                f"{self.component_id} gave no vectors: {error}", component="models", operation=self.component_id
            )
        # Raised out here, so that nothing leads back to the SDK's error, which holds the request and its key.
        raise failed

    @abstractmethod
    async def asked(self, texts: list[str]) -> Embeddings: ...

    async def aclose(self) -> None:
        await self.clients.aclose()


class OpenAIEmbedder(_Adapter):
    """Embeddings of OpenAI, or of a server that speaks its wire at ``base_url``; ``dimensions`` may shorten the vectors."""

    def __init__(
        self,
        name: str = "text-embedding-3-small",
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        dimensions: int | None = None,
        retry: RetryPolicy | None = RETRY,
    ) -> None:
        sdk = late("openai", extra="openai")
        self.provider, self.name, self.dimensions, self.retry = "openai", name, dimensions, retry
        key = key_for("openai", api_key, "OPENAI_API_KEY", free=base_url is not None)
        self.secrets = (key,) if key else ()
        self.raised = openai.sdk_errors(sdk)
        self.clients = Clients(
            lambda: sdk.AsyncOpenAI(api_key=key or "none", base_url=base_url, max_retries=0), lambda one: one.close()
        )

    async def asked(self, texts: list[str]) -> Embeddings:
        more: dict[str, Any] = {} if self.dimensions is None else {"dimensions": self.dimensions}
        told = await self.clients.get().embeddings.create(model=self.name, input=texts, encoding_format="float", **more)
        in_order = sorted(told.data, key=lambda one: one.index)
        used = Usage(told.usage.prompt_tokens if told.usage else 0)
        return Embeddings(tuple(tuple(one.embedding) for one in in_order), told.model or "", used)


class GeminiEmbedder(_Adapter):
    """Embeddings of Gemini models."""

    batch = 100

    def __init__(
        self,
        name: str = "gemini-embedding-001",
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        dimensions: int | None = None,
        task_type: str | None = None,
        retry: RetryPolicy | None = RETRY,
    ) -> None:
        late("google.genai", extra="google")
        self.provider, self.name, self.dimensions, self.retry = "google", name, dimensions, retry
        self._task_type = task_type
        key = key_for("google", api_key, "GEMINI_API_KEY", "GOOGLE_API_KEY", free=base_url is not None)
        self.secrets = (key,) if key else ()
        self.raised = google.sdk_errors()
        self.clients = Clients(lambda: google.make_client(key, base_url), lambda one: one.aio.aclose())

    async def asked(self, texts: list[str]) -> Embeddings:
        settings = {"output_dimensionality": self.dimensions, "task_type": self._task_type}
        config = {name: value for name, value in settings.items() if value is not None}
        told = await self.clients.get().aio.models.embed_content(model=self.name, contents=texts, config=config or None)
        counts = [
            one.statistics.token_count for one in told.embeddings if one.statistics and one.statistics.token_count
        ]
        vectors = tuple(tuple(one.values) for one in told.embeddings)
        return Embeddings(vectors, self.name, Usage(int(sum(counts))))


class OllamaEmbedder(_Adapter):
    """Embeddings of a model that Ollama runs."""

    def __init__(
        self,
        name: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        dimensions: int | None = None,
        retry: RetryPolicy | None = RETRY,
    ) -> None:
        sdk = late("ollama", extra="ollama")
        self.provider, self.name, self.dimensions, self.retry = "ollama", name, dimensions, retry
        key = api_key or os.environ.get("OLLAMA_API_KEY", "")
        self.secrets = (key,) if key else ()
        self.raised = ollama.sdk_errors()
        headers = {"Authorization": f"Bearer {key}"} if key else None
        self.clients = Clients(lambda: sdk.AsyncClient(host=base_url, headers=headers), lambda one: one.close())

    async def asked(self, texts: list[str]) -> Embeddings:
        told = await self.clients.get().embed(model=self.name, input=texts, dimensions=self.dimensions)
        vectors = tuple(tuple(vector) for vector in told.embeddings)
        return Embeddings(vectors, told.model or self.name, Usage(told.prompt_eval_count or 0))


EMBEDDERS: Final[Mapping[str, type[Embedder]]] = {
    "openai": OpenAIEmbedder,
    "google": GeminiEmbedder,
    "ollama": OllamaEmbedder,
}


def embedder(name: str | Embedder, /, **settings: Any) -> Embedder:
    """The embedder of that name: ``embedder("openai:text-embedding-3-small")``, or ``embedder("hash")``, which needs no key.

    Raises: ConfigurationError for an unknown provider, a missing package or key, or a setting that it does not have.
    """
    if isinstance(name, Embedder):
        return name
    if name == "hash":
        return HashEmbedder(**settings)
    provider, colon, own = name.partition(":")
    provider = {"gemini": "google"}.get(provider, provider)
    kind = EMBEDDERS.get(provider)
    if kind is None or not colon or not own:
        hint = nearest(provider, [*EMBEDDERS, "hash"])
        raise ConfigurationError(
            f"{name!r} is no embedder; write provider:model.{hint}", component="models", operation="embedder"
        )
    try:
        return kind(own, **settings)  # pyright: ignore[reportCallIssue]
    except TypeError as error:
        raise ConfigurationError(f"{name}: {error}", component="models", operation="embedder") from error
