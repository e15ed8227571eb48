"""OpenAI's chat completions, and any server that speaks them, through the official SDK (extra ``openai``)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from lawful.core.lazy import late
from lawful.core.retry import RetryPolicy
from lawful.models.adapter import RETRY, Adapter, Clients, Reader
from lawful.models.keys import key_for
from lawful.models.openai_wire import OpenAIConfig as OpenAIConfig
from lawful.models.openai_wire import Reader as ChatReader
from lawful.models.openai_wire import request_json
from lawful.models.profiles import profile_of
from lawful.models.values import Profile, Request


def sdk_errors(sdk: Any) -> tuple[type[Exception], ...]:
    """What an SDK made by OpenAI's or Anthropic's generator, and its HTTP library, raise."""
    http = late("httpx2")
    base = getattr(sdk, "OpenAIError", None) or sdk.AnthropicError
    return (base, http.HTTPError, late("json").JSONDecodeError, UnicodeDecodeError, late("pydantic").ValidationError)


class OpenAIModel(Adapter[OpenAIConfig]):
    """A model by chat completions.

    ``base_url`` may be any server that speaks this wire (vLLM, llama.cpp, LM Studio, DeepSeek, OpenRouter...); without a
    key a server of one's own is sent none. The key is ``api_key``, or ``OPENAI_API_KEY``.

    Raises: ConfigurationError, if the package or the key is missing.
    """

    config_class = OpenAIConfig

    def __init__(
        self,
        name: str,
        *,
        config: OpenAIConfig | None = None,
        api_key: str | None = None,
        base_url: str | None = None,
        provider: str = "openai",
        key_name: str = "OPENAI_API_KEY",
        retry: RetryPolicy | None = RETRY,
        profile: Profile | None = None,
        client: Any = None,
    ) -> None:
        sdk = late("openai", extra="openai")
        self.provider = provider
        self.name = name
        self.config = config or OpenAIConfig()
        self.retry = retry
        self.official = base_url is None
        self.tag = provider if base_url is None or provider != "openai" else f"{provider}@{urlsplit(base_url).netloc}"
        self.profile = profile or profile_of(provider, name)
        key = "" if client is not None else key_for(provider, api_key, key_name, free=base_url is not None)
        self.secrets = (key,) if key else ()
        self.raised = sdk_errors(sdk)

        self.clients: Clients[Any] = Clients(
            lambda: sdk.AsyncOpenAI(api_key=key or "none", base_url=base_url, max_retries=0),
            lambda one: one.close(),
            client,
        )

    @asynccontextmanager
    async def opened(self, request: Request, config: OpenAIConfig) -> AsyncGenerator[AsyncIterable[dict[str, Any]]]:
        asked = request_json(request, self.name, config, self.tag, official=self.official)
        stream = await self.clients.get().chat.completions.create(**asked)
        async with stream:
            yield as_json(stream)

    def reader(self) -> Reader:
        return ChatReader(self.tag)

    async def aclose(self) -> None:
        await self.clients.aclose()


async def as_json(stream: Any) -> AsyncIterator[dict[str, Any]]:
    """The SDK's objects as the JSON that they were read from, unknown fields included."""
    async for chunk in stream:
        yield chunk.to_dict(mode="json", exclude_unset=True)
