"""A model whose answers inside a run are written to the run's journal, so that code which runs again is not billed again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, TypeVar

import msgspec

from lawful.graph.functional import task
from lawful.models.cassette import asked
from lawful.models.pieces import Piece
from lawful.models.port import ChatModel, Prompt
from lawful.models.prompt import request_of
from lawful.models.settings import ModelConfig
from lawful.models.telling import here
from lawful.models.values import OutputSpec, Reply, Request, ToolChoice, ToolSpec, Usage

ConfigT = TypeVar("ConfigT", bound=ModelConfig)


class Recorded(ChatModel[ConfigT]):
    """``inner``, whose ``invoke`` and ``ainvoke`` in a node are tasks of the run: repeatable, and answered once.

    A node that runs again, after a question, a crash or a failure later in it, gets the recorded answers in the order of
    its calls. If it asks something else in a call's place, that is TaskChanged. Outside a run, and for ``stream``, it is
    ``inner`` itself.
    """

    def __init__(self, inner: ChatModel[ConfigT]) -> None:
        self.inner = inner
        self.provider, self.name, self.tags = inner.provider, inner.name, inner.tags
        self.config, self.config_class, self.profile = inner.config, inner.config_class, inner.profile
        self._task = f"model {inner.component_id}".replace(":", " ").replace("|", " ")

    async def ainvoke(
        self,
        prompt: Prompt,
        *,
        tools: Sequence[ToolSpec] = (),
        tool_choice: ToolChoice = "auto",
        output: OutputSpec | None = None,
        config: ConfigT | None = None,
    ) -> Reply:
        """As `ChatModel.ainvoke`."""
        request = request_of(prompt, tools, tool_choice, output)
        if here() is None:
            return await self.inner.ainvoke(request, config=config)

        async def ask(request_digest: str) -> Any:
            return stored(await self.inner.ainvoke(request, config=config))

        return reply_of(await task(name=self._task)(ask)(asked(request)))

    def invoke(
        self,
        prompt: Prompt,
        *,
        tools: Sequence[ToolSpec] = (),
        tool_choice: ToolChoice = "auto",
        output: OutputSpec | None = None,
        config: ConfigT | None = None,
    ) -> Reply:
        """As `ChatModel.invoke`."""
        request = request_of(prompt, tools, tool_choice, output)
        if here() is None:
            return self.inner.invoke(request, config=config)

        def ask(request_digest: str) -> Any:
            return stored(self.inner.invoke(request, config=config))

        return reply_of(task(name=self._task)(ask)(asked(request)).result())

    def pieces(self, request: Request, config: ConfigT) -> AsyncIterator[Piece]:
        return self.inner.pieces(request, config)

    async def aclose(self) -> None:
        await self.inner.aclose()


def stored(reply: Reply) -> dict[str, Any]:
    """A reply as a journal keeps it."""
    told: dict[str, Any] = {name: getattr(reply, name) for name in ("provider", "model", "finish", "response_id")}
    return {"message": reply.message, "usage": list(msgspec.structs.astuple(reply.usage)), **told}


def reply_of(kept: dict[str, Any]) -> Reply:
    """The reply that was kept."""
    given: dict[str, Any] = {**kept, "usage": Usage(*kept["usage"])}
    return Reply(**given)


def recorded(model: ChatModel[ConfigT]) -> Recorded[ConfigT]:
    """The model, with its answers inside a run kept in the run's journal."""
    return model if isinstance(model, Recorded) else Recorded(model)
