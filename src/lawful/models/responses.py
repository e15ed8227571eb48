"""OpenAI's responses API through the official SDK (extra ``openai``)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from lawful.models.adapter import Reader
from lawful.models.failures import refused
from lawful.models.openai import OpenAIModel, as_json
from lawful.models.openai_wire import OpenAIConfig
from lawful.models.responses_wire import Reader as ResponsesReader
from lawful.models.responses_wire import failure_in, request_json
from lawful.models.values import Request


class ResponsesModel(OpenAIModel):
    """A model by the responses API: what `OpenAIModel` is by chat completions, with reasoning kept between turns."""

    @asynccontextmanager
    async def opened(self, request: Request, config: OpenAIConfig) -> AsyncGenerator[AsyncIterable[dict[str, Any]]]:
        stream = await self.clients.get().responses.create(**request_json(request, self.name, config, self.tag))
        async with stream:
            yield self._checked(as_json(stream))

    async def _checked(self, events: AsyncIterator[dict[str, Any]]) -> AsyncIterator[dict[str, Any]]:
        async for event in events:
            failed = failure_in(event)
            if failed is not None:
                code, said = failed
                raise refused(self.component_id, 500, said, code=code, secrets=self.secrets)
            yield event

    def reader(self) -> Reader:
        return ResponsesReader(self.tag)
