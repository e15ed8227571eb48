"""Chat models across the border: one of langchain's as a `ChatModel`, and a `ChatModel` as one of langchain's."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, cast

from lawful.compat.langchain_messages import PROVIDER, conversation, from_langchain, to_langchain
from lawful.compat.tokens import TokenHandler
from lawful.core.errors import ConfigurationError
from lawful.core.events import Usage
from lawful.core.lazy import late
from lawful.core.messages import Message, NonStandard
from lawful.models.adapter import Adapter, Reader
from lawful.models.deltas import BlockDelta, CallDelta, Completed, Delta, ReasoningDelta, TextDelta
from lawful.models.pieces import BlockPiece, CallPiece, FinishPiece, Piece, ReasoningPiece, TextPiece, UsagePiece
from lawful.models.port import ChatModel
from lawful.models.settings import ModelConfig
from lawful.models.values import FinishReason, Only, Request, ToolChoice, ToolSpec

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel as _Base
else:
    _Base = late("langchain_core.language_models.chat_models", "BaseChatModel", extra="langchain")

SDKS: Final[Mapping[str, tuple[str, str]]] = {
    "langchain_openai": ("openai", "OpenAIError"),
    "langchain_anthropic": ("anthropic", "AnthropicError"),
    "langchain_google_genai": ("google.genai.errors", "APIError"),
    "langchain_ollama": ("ollama", "ResponseError"),
}
"""Langchain's package of a provider to the base of what its SDK raises."""
ENDS: Final[Mapping[str, FinishReason]] = {
    "stop": "stop",
    "end_turn": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "content_filter": "content_filter",
}


class _Chunks:
    """Reads langchain's chunks as pieces."""

    def __init__(self) -> None:
        self._ended: FinishReason | None = None
        self._called = False

    def feed(self, chunk: Mapping[str, Any]) -> list[Piece]:
        message: Any = chunk["message"]
        out: list[Piece] = []
        for block in message.content_blocks:
            match block:
                case {"type": "text", "text": str(text)}:
                    out.append(TextPiece(text))
                case {"type": "reasoning"}:
                    out.append(ReasoningPiece(str(block.get("reasoning", ""))))
                case {"type": "tool_call" | "tool_call_chunk" | "invalid_tool_call"}:
                    pass
                case _:
                    out.append(BlockPiece(NonStandard(value=dict(block))))
        for call in getattr(message, "tool_call_chunks", None) or ():
            self._called = True
            out.append(CallPiece(call.get("index"), call.get("id"), call.get("name"), call.get("args") or ""))
        if (usage := message.usage_metadata) is not None:
            out.append(UsagePiece(Usage(usage["input_tokens"], usage["output_tokens"])))
        told = message.response_metadata
        reason = told.get("finish_reason") or told.get("stop_reason") or told.get("done_reason")
        if isinstance(reason, str):
            self._ended = ENDS.get(reason.lower(), "other")
        if chunk.get("last"):
            out.append(FinishPiece(self._ended or ("tool_calls" if self._called else "stop")))
        return out


class LangchainModel(Adapter[ModelConfig]):
    """A chat model of langchain's as one of ours: for graphs, pipelines and agents.

    Settings are those that it was made with. Raises, when asked: the errors of every `ChatModel`, where what its SDK raises is
    known, else what langchain raises.
    """

    config_class = ModelConfig
    tag = PROVIDER
    retry = None  # langchain's own models try again by themselves

    def __init__(self, model: Any) -> None:
        self.model = model
        told = model._get_ls_params()
        self.provider = str(told.get("ls_provider") or PROVIDER)
        self.name = str(told.get("ls_model_name") or type(model).__name__)
        self.config = ModelConfig()
        place = SDKS.get(type(model).__module__.partition(".")[0])
        known = getattr(sys.modules.get(place[0]), place[1], None) if place is not None else None
        self.raised = (OSError, *((known,) if known is not None else ()))

    @asynccontextmanager
    async def opened(self, request: Request, config: ModelConfig) -> AsyncGenerator[AsyncIterator[dict[str, Any]]]:
        asked = self.model
        if request.tools:
            tools = [tool_schema(tool) for tool in request.tools]
            asked = asked.bind_tools(tools, tool_choice=_choice(request.tool_choice))
        stream = asked.astream(conversation(request.messages), {"callbacks": _others()})
        try:
            yield _told(stream)
        finally:
            await stream.aclose()

    def reader(self) -> Reader:
        return _Chunks()


def _others() -> list[Any]:
    """Who listens to langchain's models here, but for the run itself, which is told by ours already."""
    config: dict[str, Any] = late("langchain_core.runnables.config").var_child_runnable_config.get() or {}
    given: Any = config.get("callbacks")
    handlers: list[Any] = list(getattr(given, "handlers", given) or ())
    return [each for each in handlers if not isinstance(each, TokenHandler)]


async def _told(stream: AsyncIterator[Any]) -> AsyncIterator[dict[str, Any]]:
    """Each chunk, the last one marked."""
    before: Any = None
    async for message in stream:
        if before is not None:
            yield {"message": before}
        before = message
    if before is not None:
        yield {"message": before, "last": True}


def tool_schema(tool: ToolSpec) -> dict[str, Any]:
    """A tool in the form that every model of langchain's takes."""
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _choice(choice: ToolChoice) -> str | None:
    if isinstance(choice, Only):
        return choice.name
    return {"auto": None, "none": "none", "required": "any"}[choice]


class LawfulChat(_Base):
    """A model of ours as one of langchain's: for chains, and for graphs that run under LangGraph."""

    model: Any
    """The `ChatModel`."""

    @property
    def _llm_type(self) -> str:
        return "lawful"

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        return {"ls_provider": self.model.provider, "ls_model_name": self.model.name, "ls_model_type": "chat"}

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        return _generation(self._model().invoke(_asked(messages, stop, kwargs)))

    async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        return _generation(await self._model().ainvoke(_asked(messages, stop, kwargs)))

    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Iterator[Any]:
        with self._model().stream(_asked(messages, stop, kwargs)) as stream:
            for delta in stream:
                if (chunk := _chunk(delta)) is not None:
                    yield chunk

    async def _astream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        async with self._model().astream(_asked(messages, stop, kwargs)) as stream:
            async for delta in stream:
                if (chunk := _chunk(delta)) is not None:
                    yield chunk

    def bind_tools(self, tools: Sequence[Any], *, tool_choice: Any = None, **kwargs: Any) -> Any:
        """The model with tools, in any of the forms that langchain takes."""
        convert: Callable[[Any], dict[str, Any]] = late(
            "langchain_core.utils.function_calling", "convert_to_openai_tool"
        )
        specs = tuple(_spec(convert(tool)["function"]) for tool in tools)
        return self.bind(tools=specs, tool_choice=_chosen(tool_choice), **kwargs)

    def _model(self) -> ChatModel[Any]:
        return cast("ChatModel[Any]", self.model)


def as_langchain_model(model: ChatModel[Any]) -> LawfulChat:
    """``model`` as a chat model of langchain's."""
    return LawfulChat(model=model)


def _spec(told: Mapping[str, Any]) -> ToolSpec:
    parameters: dict[str, Any] = told.get("parameters") or {"type": "object", "properties": {}}
    return ToolSpec(told["name"], told.get("description") or "", parameters)


def _chosen(choice: Any) -> ToolChoice:
    if choice in (None, "auto", False):
        return "auto"
    if choice in ("any", "required", True):
        return "required"
    if choice == "none":
        return "none"
    return Only(str(cast("Any", choice)["function"]["name"] if isinstance(choice, dict) else choice))


def _asked(messages: Sequence[Any], stop: Any, kwargs: Mapping[str, Any]) -> Request:
    """What a model of ours is asked; quiet, since langchain's callbacks tell of the call.

    Raises: ConfigurationError, for a setting that belongs to the model itself.
    """
    odd = [
        k
        for k, v in kwargs.items()
        if k not in ("tools", "tool_choice", "ls_structured_output_format") and v is not None
    ]
    if stop or odd:
        raise ConfigurationError(
            f"a model of ours takes {(odd or ['stop'])[0]!r} when it is made, not with a call",
            component="compat",
            operation="LawfulChat",
        )
    ours = tuple(message for each in messages if isinstance(message := from_langchain(each), Message))
    return Request(ours, kwargs.get("tools") or (), kwargs.get("tool_choice") or "auto", quiet=True)


def _generation(reply: Any) -> Any:
    outputs = late("langchain_core.outputs")
    message = to_langchain(reply.message)
    message.usage_metadata = _usage(reply.usage)
    return outputs.ChatResult(generations=[outputs.ChatGeneration(message=message)])


def _usage(usage: Usage) -> dict[str, int]:
    total = usage.prompt + usage.completion
    return {"input_tokens": usage.prompt, "output_tokens": usage.completion, "total_tokens": total}


def _chunk(delta: Delta) -> Any:
    kind: Callable[..., Any] = late("langchain_core.messages", "AIMessageChunk")
    match delta:
        case TextDelta():
            made = kind(delta.text)
        case ReasoningDelta():
            made = kind([{"type": "reasoning", "reasoning": delta.text}])
        case CallDelta():
            call = {"index": delta.index, "id": delta.id, "name": delta.name or None, "args": delta.text}
            made = kind("", tool_call_chunks=[{**call, "type": "tool_call_chunk"}])
        case Completed(reply):
            made = kind("", usage_metadata=_usage(reply.usage), response_metadata={"finish_reason": reply.finish})
        case BlockDelta(block):
            made = kind(to_langchain(Message("user", (block,))).content)
    return late("langchain_core.outputs", "ChatGenerationChunk")(message=made)
