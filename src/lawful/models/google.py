"""Gemini through Google's official SDK (extra ``google``)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

from lawful.core.lazy import late
from lawful.core.retry import RetryPolicy
from lawful.models.adapter import RETRY, Adapter, Clients, Reader
from lawful.models.google_wire import GeminiConfig as GeminiConfig
from lawful.models.google_wire import Reader as GeminiReader
from lawful.models.google_wire import request_json
from lawful.models.keys import key_for
from lawful.models.profiles import profile_of
from lawful.models.values import Profile, Request

_HTTP = ("httpx2", "httpx")


def sdk_errors() -> tuple[type[Exception], ...]:
    """What the SDK and whichever HTTP library it was built on raise."""
    found: list[type[Exception]] = [
        late("google.genai.errors").APIError,
        late("google.genai.errors").UnknownApiResponseError,
        late("json").JSONDecodeError,
        UnicodeDecodeError,
        late("pydantic").ValidationError,
    ]
    for name in _HTTP:
        try:
            found.append(late(name).HTTPError)
        except ModuleNotFoundError:
            continue
    return tuple(found)


def make_client(key: str, base_url: str | None) -> Any:
    """A client whose own retries are off."""
    options: dict[str, Any] = {"retry_options": {"attempts": 1}}
    if base_url is not None:
        options |= {"base_url": base_url, "api_version": "v1beta"}
    return late("google.genai", extra="google").Client(api_key=key or "none", http_options=options, vertexai=False)


class GeminiModel(Adapter[GeminiConfig]):
    """A Gemini model. The key is ``api_key``, ``GEMINI_API_KEY`` or ``GOOGLE_API_KEY``.

    Raises: ConfigurationError, if the package or the key is missing.
    """

    config_class = GeminiConfig

    def __init__(
        self,
        name: str,
        *,
        config: GeminiConfig | None = None,
        api_key: str | None = None,
        base_url: str | None = None,
        retry: RetryPolicy | None = RETRY,
        profile: Profile | None = None,
        client: Any = None,
    ) -> None:
        late("google.genai", extra="google")
        self.provider = self.tag = "google"
        self.name = name
        self.config = config or GeminiConfig()
        self.retry = retry
        self.profile = profile or profile_of("google", name)
        free = base_url is not None
        key = "" if client is not None else key_for("google", api_key, "GEMINI_API_KEY", "GOOGLE_API_KEY", free=free)
        self.secrets = (key,) if key else ()
        self.raised = sdk_errors()
        self.clients: Clients[Any] = Clients(lambda: make_client(key, base_url), lambda one: one.aio.aclose(), client)

    @asynccontextmanager
    async def opened(self, request: Request, config: GeminiConfig) -> AsyncGenerator[AsyncIterable[dict[str, Any]]]:
        contents, settings = request_json(request, config, self.tag)
        stream = await self.clients.get().aio.models.generate_content_stream(
            model=self.name, contents=contents, config=settings
        )
        async with aclosing(stream):
            yield _as_data(stream)

    def reader(self) -> Reader:
        return GeminiReader(self.tag)

    async def aclose(self) -> None:
        await self.clients.aclose()


async def _as_data(stream: Any) -> AsyncIterator[dict[str, Any]]:
    async for chunk in stream:
        yield chunk.model_dump(mode="python", exclude_none=True, exclude={"sdk_http_response", "parsed"})
