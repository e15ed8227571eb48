"""What every chat model and every embedder is to the rest: the two abstract classes that an adapter implements."""

from __future__ import annotations

import asyncio
import copy
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, ClassVar, Generic, Literal, TypeAlias, TypeVar, cast, overload

from lawful.core.errors import ConfigurationError, Error, Failure
from lawful.core.messages import Message
from lawful.core.result import Err, Ok, Result
from lawful.core.retry import RetryPolicy
from lawful.models.driving import Put, drive
from lawful.models.pieces import Piece
from lawful.models.portal import Portal, at_once, no_loop_here, portal_of
from lawful.models.prompt import request_of
from lawful.models.settings import ModelConfig, held_to
from lawful.models.streaming import Stream, SyncStream
from lawful.models.values import OutputSpec, Profile, Reply, Request, ToolChoice, ToolSpec

ConfigT = TypeVar("ConfigT", bound=ModelConfig)
T = TypeVar("T")
Selfish = TypeVar("Selfish", bound="ChatModel[Any]")

MessageLike: TypeAlias = str | Message | tuple[str, str] | Mapping[str, Any]
"""A message in any of the forms that `lawful.core.messages.coerce` reads."""
Prompt: TypeAlias = str | Message | Request | Sequence[MessageLike]
"""What a model may be asked: a text, a conversation, or a whole `Request`."""


class ChatModel(ABC, Generic[ConfigT]):
    """A chat model of one provider, under one name, with its settings; a value that may be shared by any number of runs.

    Each call has four forms: ``invoke`` and ``stream``, and with an ``a`` before the name for asyncio. What ``invoke``
    gives is the fold of what ``stream`` gives: there is one way through, and an adapter writes only that one.

    Raises, on every call: ValidationError before anything is sent, if the conversation has an open tool call or two tools
    of one name; LLMError (RateLimited, ProviderFailed, RequestRefused...), NetworkError (ModelTimeout, StreamBroken) or
    KeyRefused from the provider, each with ``retryable``.
    """

    provider: str
    """The name before the colon: "openai"."""
    name: str
    """The name after it: "gpt-5"."""
    config: ConfigT
    config_class: type[ConfigT]
    """The one class of settings that this adapter takes."""
    profile: Profile = Profile()
    retry: RetryPolicy | None = None
    """What is tried again, as long as nothing of an answer was handed on; None: nothing."""
    tags: tuple[str, ...] = ()
    """What a graph's stream knows its calls by; "nostream" keeps them out of the ``messages`` mode."""
    kind: ClassVar[str] = "model"
    """What it is as a component of a pipeline."""
    immediate: ClassVar[bool] = False
    """Whether it answers without ever waiting, so that sync callers need no event loop."""

    _portal: Portal | None = None

    @property
    def component_id(self) -> str:
        """``provider:name``: what a pipeline, a script and a trace call it."""
        return f"{self.provider}:{self.name}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.component_id}>"

    def tagged(self: Selfish, *tags: str) -> Selfish:
        """The same model under these tags."""
        other = copy.copy(self)
        other.tags = tags
        other._portal = None
        return other

    @abstractmethod
    def pieces(self, request: Request, config: ConfigT) -> AsyncIterator[Piece]:
        """Ask the provider and give what it sends, chunk by chunk: an async generator that closes its connection.

        For adapters; callers use the four forms. Raises Failures only, for whatever the provider does.
        """
        ...

    async def ainvoke(
        self,
        prompt: Prompt,
        *,
        tools: Sequence[ToolSpec] = (),
        tool_choice: ToolChoice = "auto",
        output: OutputSpec | None = None,
        config: ConfigT | None = None,
    ) -> Reply:
        """The model's whole answer; for the arguments see `Request`, for the errors the class."""
        return await drive(self, request_of(prompt, tools, tool_choice, output), self._settings(config))

    def invoke(
        self,
        prompt: Prompt,
        *,
        tools: Sequence[ToolSpec] = (),
        tool_choice: ToolChoice = "auto",
        output: OutputSpec | None = None,
        config: ConfigT | None = None,
    ) -> Reply:
        """As `ainvoke`, in sync code.

        Raises also: ConfigurationError, if an event loop runs in this thread and would be blocked.
        """
        no_loop_here("invoke", "ainvoke")
        settings = self._settings(config)
        return self.run_sync(drive(self, request_of(prompt, tools, tool_choice, output), settings), settings)

    def astream(
        self,
        prompt: Prompt,
        *,
        tools: Sequence[ToolSpec] = (),
        tool_choice: ToolChoice = "auto",
        output: OutputSpec | None = None,
        config: ConfigT | None = None,
    ) -> Stream:
        """The answer while it comes: ``async with model.astream(...) as stream: async for delta in stream: ...``.

        At most 64 deltas wait for a reader; then the provider is read no further. Leaving the block closes the
        provider's connection. Without ``async with`` it is closed at the end, or when the stream is collected.
        """
        return Stream(self._starter(request_of(prompt, tools, tool_choice, output), self._settings(config)))

    def stream(
        self,
        prompt: Prompt,
        *,
        tools: Sequence[ToolSpec] = (),
        tool_choice: ToolChoice = "auto",
        output: OutputSpec | None = None,
        config: ConfigT | None = None,
    ) -> SyncStream:
        """As `astream`, in sync code: ``with model.stream(...) as stream: for delta in stream: ...``."""
        no_loop_here("stream", "astream")
        start = self._starter(request_of(prompt, tools, tool_choice, output), self._settings(config))
        return SyncStream(self._bridge(), start)

    @overload
    async def abatch(
        self, prompts: Sequence[Prompt], *, max_concurrency: int = ..., return_exceptions: Literal[False] = ...
    ) -> list[Reply]: ...
    @overload
    async def abatch(
        self, prompts: Sequence[Prompt], *, max_concurrency: int = ..., return_exceptions: Literal[True]
    ) -> list[Reply | Failure]: ...
    async def abatch(
        self, prompts: Sequence[Prompt], *, max_concurrency: int = 1, return_exceptions: bool = False
    ) -> Any:
        """An answer for each prompt, in their order; one after the other unless ``max_concurrency`` says otherwise.

        The first error ends the batch, those that are under way included; with ``return_exceptions`` each Failure takes
        its answer's place.
        """
        if max_concurrency < 1:
            raise ConfigurationError(
                f"max_concurrency must be at least 1, not {max_concurrency}", component="models", operation="batch"
            )
        gate = asyncio.Semaphore(max_concurrency)

        async def one(prompt: Prompt) -> Reply | Failure:
            async with gate:
                try:
                    return await self.ainvoke(prompt)
                except Failure as error:
                    if return_exceptions:
                        return error
                    raise

        return await _all([lambda prompt=prompt: one(prompt) for prompt in prompts])

    def batch(
        self, prompts: Sequence[Prompt], *, max_concurrency: int = 1, return_exceptions: bool = False
    ) -> list[Reply | Failure]:
        """As `abatch`, in sync code."""
        no_loop_here("batch", "abatch")
        work: Any = self.abatch(
            prompts, max_concurrency=max_concurrency, return_exceptions=cast("Literal[True]", return_exceptions)
        )
        return self._bridge().run(work)

    async def __call__(self, prompt: Prompt, /) -> Result[Reply, Error]:
        """The answer or the error as a value: what makes a model a part of a pipeline, by ``prim(model)``."""
        try:
            return Ok(await self.ainvoke(prompt))
        except Failure as error:
            return Err(cast("Error", error))

    async def aclose(self) -> None:
        """Close the connections that this model holds on the running loop; it may be used again."""

    def close(self) -> None:
        """Close what the sync forms hold: connections and their thread."""
        portal, self._portal = self._portal, None
        if portal is not None:
            portal.run(self.aclose())
            portal.close()

    def __enter__(self: Selfish) -> Selfish:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self: Selfish) -> Selfish:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def run_sync(self, work: Coroutine[Any, Any, T], config: ModelConfig | None = None) -> T:
        """The result of a coroutine that uses this model, in sync code; for what is built on models."""
        waits = self.retry is not None or (config or self.config).timeout is not None
        return at_once(work) if self.immediate and not waits else self._bridge().run(work)

    def _settings(self, config: ConfigT | None) -> ConfigT:
        return self.config if config is None else held_to(config, self.config_class, self.component_id)

    def _starter(self, request: Request, config: ConfigT) -> Callable[[Put], Awaitable[Reply]]:
        return lambda put: drive(self, request, config, put)

    def _bridge(self) -> Portal:
        return portal_of(self)


async def _all(makers: Sequence[Callable[[], Awaitable[Any]]]) -> list[Any]:
    """All results in order; the first error cancels and awaits the rest, and is raised bare."""
    tasks = [asyncio.ensure_future(make()) for make in makers]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
