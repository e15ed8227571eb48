"""Anthropic's messages API through the official SDK (extra ``anthropic``)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import asynccontextmanager
from typing import Any

from lawful.core.errors import ConfigurationError
from lawful.core.lazy import late
from lawful.core.retry import RetryPolicy
from lawful.models.adapter import RETRY, Adapter, Clients, Reader
from lawful.models.anthropic_wire import MAX_TOKENS, request_json
from lawful.models.anthropic_wire import AnthropicConfig as AnthropicConfig
from lawful.models.anthropic_wire import Reader as AnthropicReader
from lawful.models.keys import key_for
from lawful.models.openai import as_json, sdk_errors
from lawful.models.profiles import profile_of
from lawful.models.values import Profile, Request


class AnthropicModel(Adapter[AnthropicConfig]):
    """A model of Anthropic's. The key is ``api_key``, or ``ANTHROPIC_API_KEY``.

    Raises: ConfigurationError, if the package or the key is missing.
    """

    config_class = AnthropicConfig

    def __init__(
        self,
        name: str,
        *,
        config: AnthropicConfig | None = None,
        api_key: str | None = None,
        base_url: str | None = None,
        retry: RetryPolicy | None = RETRY,
        profile: Profile | None = None,
        client: Any = None,
    ) -> None:
        sdk = late("anthropic", extra="anthropic")
        self.provider = self.tag = "anthropic"
        self.name = name
        self.config = config or AnthropicConfig()
        self.retry = retry
        self.profile = profile or profile_of("anthropic", name)
        key = (
            "" if client is not None else key_for("anthropic", api_key, "ANTHROPIC_API_KEY", free=base_url is not None)
        )
        self.secrets = (key,) if key else ()
        self.raised = sdk_errors(sdk)

        self.clients: Clients[Any] = Clients(
            lambda: sdk.AsyncAnthropic(api_key=key or "none", base_url=base_url, max_retries=0),
            lambda one: one.close(),
            client,
        )

    @asynccontextmanager
    async def opened(self, request: Request, config: AnthropicConfig) -> AsyncGenerator[AsyncIterable[dict[str, Any]]]:
        if config.seed is not None:
            raise ConfigurationError("anthropic has no setting 'seed'", component="models", operation=self.component_id)
        most = min(self.profile.output or MAX_TOKENS, 32_000)
        stream = await self.clients.get().messages.create(**request_json(request, self.name, config, self.tag, most))
        async with stream:
            yield as_json(stream)

    def reader(self) -> Reader:
        return AnthropicReader(self.tag)

    async def aclose(self) -> None:
        await self.clients.aclose()
