"""Models that Ollama runs, through its official client (extra ``ollama``)."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

from lawful.core.lazy import late
from lawful.core.retry import RetryPolicy
from lawful.models.adapter import RETRY, Adapter, Clients, Reader
from lawful.models.ollama_wire import OllamaConfig as OllamaConfig
from lawful.models.ollama_wire import Reader as OllamaReader
from lawful.models.ollama_wire import request_json
from lawful.models.values import Profile, Request


def sdk_errors() -> tuple[type[Exception], ...]:
    """What the client and the HTTP library beneath it raise."""
    sdk, http = late("ollama"), late("httpx")
    own = (sdk.ResponseError, sdk.RequestError, ConnectionError)
    return (*own, http.HTTPError, late("json").JSONDecodeError, UnicodeDecodeError, late("pydantic").ValidationError)


class OllamaModel(Adapter[OllamaConfig]):
    """A model that Ollama runs at ``base_url``, or at ``OLLAMA_HOST``, or on this machine; it needs no key.

    Raises: ConfigurationError, if the package is missing.
    """

    config_class = OllamaConfig

    def __init__(
        self,
        name: str,
        *,
        config: OllamaConfig | None = None,
        api_key: str | None = None,
        base_url: str | None = None,
        retry: RetryPolicy | None = RETRY,
        profile: Profile | None = None,
        client: Any = None,
    ) -> None:
        sdk = late("ollama", extra="ollama")
        self.provider = self.tag = "ollama"
        self.name = name
        self.config = config or OllamaConfig()
        self.retry = retry
        self.profile = profile or Profile()
        key = api_key or os.environ.get("OLLAMA_API_KEY", "")
        self.secrets = (key,) if key else ()
        self.raised = sdk_errors()
        headers = {"Authorization": f"Bearer {key}"} if key else None

        self.clients: Clients[Any] = Clients(
            lambda: sdk.AsyncClient(host=base_url, headers=headers), lambda one: one.close(), client
        )

    @asynccontextmanager
    async def opened(self, request: Request, config: OllamaConfig) -> AsyncGenerator[AsyncIterable[dict[str, Any]]]:
        stream = await self.clients.get().chat(**request_json(request, self.name, config, self.tag))
        async with aclosing(stream):
            yield _as_json(stream)

    def reader(self) -> Reader:
        return OllamaReader(self.tag)

    async def aclose(self) -> None:
        await self.clients.aclose()


async def _as_json(stream: Any) -> AsyncIterator[dict[str, Any]]:
    async for chunk in stream:
        yield chunk.model_dump(mode="json", exclude_none=True)
