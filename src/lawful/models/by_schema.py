"""Tool calls of a model that calls no tools but keeps to a JSON Schema: one answer is one call, or the answer itself; pure."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any, ClassVar, Final, TypeVar, cast

import msgspec

from lawful.core.messages import Message, Text, ToolCall, assistant, system, user
from lawful.models.pieces import CallPiece, FinishPiece, Piece, TextPiece
from lawful.models.port import ChatModel
from lawful.models.schemas import plain
from lawful.models.settings import ModelConfig
from lawful.models.transcript import as_text
from lawful.models.values import JSONSchema, Only, OutputSpec, Request, ToolSpec

ConfigT = TypeVar("ConfigT", bound=ModelConfig)

_TOOL, _ARGS, _ANSWER = "tool", "args", "answer"
_TEXT: Final[JSONSchema] = {"type": "string"}


class CallsBySchema(ChatModel[ConfigT]):
    """``inner``, which calls tools by answers of a form: for servers and models that know a JSON Schema and no tools.

    An answer makes one call at most. It is put together before anything of it is told, since its text stands inside JSON.
    """

    immediate: ClassVar[bool] = False

    def __init__(self, inner: ChatModel[ConfigT]) -> None:
        self.inner = inner
        self.provider, self.name, self.tags = inner.provider, inner.name, inner.tags
        self.config, self.config_class = inner.config, inner.config_class
        self.profile = msgspec.structs.replace(inner.profile, tools=True)
        self.retry = inner.retry

    def pieces(self, request: Request, config: ConfigT) -> AsyncIterator[Piece]:
        return by_schema(lambda asked: self.inner.pieces(asked, config), request)

    async def aclose(self) -> None:
        await self.inner.aclose()


async def by_schema(ask: Callable[[Request], AsyncIterator[Piece]], request: Request) -> AsyncIterator[Piece]:
    """The pieces of an answer to ``request``, by a model that is asked for them by `as_schema`."""
    form = as_schema(request)
    said: list[str] = []
    async for piece in ask(form):
        match piece:
            case TextPiece(text=text) if form.output is not None:
                said.append(text)
            case FinishPiece(reason=reason) if form.output is not None:
                found = read_answer("".join(said), request, len(request.messages))
                for one in found:
                    yield one
                calls = any(isinstance(one, CallPiece) for one in found)
                yield FinishPiece("tool_calls" if calls and reason == "stop" else reason)
            case _:
                yield piece


def as_schema(request: Request) -> Request:
    """The same request without tools: the tools are told in words, and the answer's form is a call of one or an answer.

    Calls and results before it become plain messages. Where no tool may be called, only those are changed.
    """
    tools = _allowed(request)
    messages = tuple(_told(request.messages))
    if not tools:
        return msgspec.structs.replace(request, messages=messages, tools=(), tool_choice="auto")
    options = [_call_schema(tool) for tool in tools]
    if not isinstance(request.tool_choice, Only) and request.tool_choice != "required":
        answer = request.output.schema if request.output is not None else _TEXT
        options.append(_closed({_ANSWER: plain(answer).schema}))
    schema = options[0] if len(options) == 1 else {"anyOf": options}
    return Request(
        (system(_words(tools, may_answer=len(options) > len(tools))), *messages),
        output=OutputSpec(schema, "turn"),
        quiet=request.quiet,
    )


def read_answer(text: str, request: Request, number: int) -> Sequence[TextPiece | CallPiece]:
    """What an answer of that form says: a call, or the text. What is not of the form is told as the text that it is.

    ``number`` makes the call's id, which a wire would have given.
    """
    try:
        found: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return [TextPiece(text)]
    told = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    if _TOOL in told:
        return [CallPiece(0, f"call_{number}", str(told[_TOOL]), as_text(told.get(_ARGS) or {}))]
    if _ANSWER in told:
        answer = told[_ANSWER]
        return [TextPiece(answer if isinstance(answer, str) and request.output is None else json.dumps(answer))]
    return [TextPiece(text)]


def _allowed(request: Request) -> tuple[ToolSpec, ...]:
    match request.tool_choice:
        case "none":
            return ()
        case Only(name=name):
            return tuple(tool for tool in request.tools if tool.name == name)
        case _:
            return request.tools


def _call_schema(tool: ToolSpec) -> JSONSchema:
    return _closed({_TOOL: {"const": tool.name}, _ARGS: plain(tool.parameters).schema})


def _closed(fields: JSONSchema) -> JSONSchema:
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def _words(tools: Iterable[ToolSpec], *, may_answer: bool) -> str:
    lines = [
        f"- {tool.name}: {tool.description} Arguments: {json.dumps(plain(tool.parameters).schema)}" for tool in tools
    ]
    call = json.dumps({_TOOL: "NAME", _ARGS: {}})
    answer = f" When you know the answer, write {json.dumps({_ANSWER: 'TEXT'})}." if may_answer else ""
    return "\n".join([f"You may use these tools, one at a time, by writing {call}.{answer}", *lines])


def _told(messages: Iterable[Message]) -> Iterable[Message]:
    """Calls as the model would have written them, results as what the user says."""
    for message in messages:
        if message.role in ("tool", "function"):
            yield user(f"Result of {message.name or 'the tool'}: {message.text}")
        elif message.calls:
            texts = [block.text for block in message.content if isinstance(block, Text) and block.text]
            calls = [json.dumps({_TOOL: block.name, _ARGS: block.args}) for block in message.calls]
            yield assistant("\n".join([*texts, *calls]))
            yield from (user(f"Result of {one.name}: {as_text(one.output)}") for one in message.calls if _settled(one))
        else:
            yield message


def _settled(call: ToolCall) -> bool:
    return call.state != "pending"
