"""Models that need no network: scripted answers, an echo, and what every provider checks of a conversation."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from typing import ClassVar, TypeAlias

from lawful.core.errors import ValidationError
from lawful.core.messages import InvalidToolCall, Message, Reasoning, Text, ToolCall
from lawful.core.retry import RetryPolicy
from lawful.models.pieces import (
    BlockPiece,
    CallPiece,
    FinishPiece,
    Piece,
    PrivatePiece,
    ReasoningPiece,
    TextPiece,
    UsagePiece,
)
from lawful.models.port import ChatModel
from lawful.models.settings import ModelConfig
from lawful.models.transcript import as_text
from lawful.models.values import FinishReason, Profile, Reply, Request, Usage

Answer: TypeAlias = str | Message | Reply | ToolCall | list[Piece] | BaseException
"""A text, a message, a reply with its usage, one call, the raw pieces of a wire, or what is raised in place of an answer."""
Turn: TypeAlias = Answer | Callable[[Request], Answer]
"""An answer, or a function that makes it of what is asked."""


class ScriptOver(AssertionError):
    """A scripted model was asked more often than its script has answers; a failed test, which nothing tries again."""


class Scripted(ChatModel[ModelConfig]):
    """A model whose answers were written down beforehand, and which counts what it was asked.

    ``chunks`` cuts each text and each call's arguments into pieces of so many characters. As a provider would, it refuses
    a conversation in which a call has no result right after it, or a result no call.

    Raises: ScriptOver, when the script has no answer left.
    """

    immediate: ClassVar[bool] = True
    config_class = ModelConfig

    def __init__(
        self,
        *turns: Turn,
        name: str = "script",
        chunks: int = 0,
        strict: bool = True,
        retry: RetryPolicy | None = None,
        profile: Profile = Profile(),
    ) -> None:
        self.provider = "scripted"
        self.name = name
        self.config = ModelConfig()
        self.retry = retry
        self.profile = profile
        self.requests: list[Request] = []
        """What it was asked, in order."""
        self._turns = list(turns)
        self._chunks = chunks
        self._strict = strict

    @property
    def left(self) -> int:
        """Answers that were not asked for yet."""
        return len(self._turns) - len(self.requests)

    async def pieces(self, request: Request, config: ModelConfig) -> AsyncIterator[Piece]:
        at = len(self.requests)
        if at >= len(self._turns):
            raise ScriptOver(
                f"{self.component_id} has {len(self._turns)} answers and was asked once more: {_last(request)!r}"
            )
        self.requests.append(request)
        if self._strict:
            refuse_unmatched(request.messages)
        turn = self._turns[at]
        answer = turn(request) if callable(turn) else turn
        if isinstance(answer, BaseException):
            raise answer
        for piece in pieces_of(answer, self._chunks):
            yield piece


class Echo(ChatModel[ModelConfig]):
    """A model that says again what it was told last."""

    immediate: ClassVar[bool] = True
    config_class = ModelConfig

    def __init__(self, name: str = "echo") -> None:
        self.provider = "fake"
        self.name = name
        self.config = ModelConfig()

    async def pieces(self, request: Request, config: ModelConfig) -> AsyncIterator[Piece]:
        told = _last(request)
        yield TextPiece(told)
        yield UsagePiece(Usage(sum(len(m.text.split()) for m in request.messages), len(told.split())))
        yield FinishPiece("stop")


def refuse_unmatched(messages: Iterable[Message]) -> None:
    """What providers refuse: results that do not stand right after their calls, calls without one, results without a call.

    A call that bears its outcome itself needs no tool message.

    Raises: ValidationError, naming the call.
    """
    waiting: dict[str, str] = {}
    for message in messages:
        if message.role in ("tool", "function"):
            if waiting.pop(message.tool_call_id or "", None) is None:
                raise _refused(f"a result for {message.tool_call_id!r}, which is no call of the message before it")
            continue
        if any(state == "pending" for state in waiting.values()):
            raise _refused(f"the calls {sorted(waiting)} have no results before the next {message.role} message")
        waiting = {
            block.id or "": block.state if isinstance(block, ToolCall) else "pending"
            for block in message.content
            if isinstance(block, ToolCall | InvalidToolCall)
        }
        if "" in waiting:
            raise _refused("a call without an id")
    if any(state == "pending" for state in waiting.values()):
        raise _refused(f"the calls {sorted(waiting)} have no results")


def pieces_of(answer: str | Message | Reply | ToolCall | list[Piece], chunks: int = 0) -> Iterable[Piece]:
    """The pieces that a wire would send for ``answer``."""
    if isinstance(answer, list):
        return answer
    if isinstance(answer, Reply):
        return [*_message_pieces(answer.message, chunks), UsagePiece(answer.usage), FinishPiece(answer.finish)]
    if isinstance(answer, str):
        answer = Message("assistant", (Text(answer),))
    elif isinstance(answer, ToolCall):
        answer = Message("assistant", (answer,))
    finish: FinishReason = "tool_calls" if answer.calls else "stop"
    return [*_message_pieces(answer, chunks), FinishPiece(finish)]


def _message_pieces(message: Message, chunks: int) -> Iterable[Piece]:
    for at, block in enumerate(message.content):
        match block:
            case Text(text=text):
                yield from (TextPiece(part, at) for part in _cut(text, chunks))
            case Reasoning(reasoning=text):
                yield from (ReasoningPiece(part, at) for part in _cut(text, chunks))
            case ToolCall(name=name, args=args):
                yield from _call_pieces(at, block.id or f"call_{at + 1}", name, as_text(args), chunks)
            case InvalidToolCall():
                yield from _call_pieces(at, block.id or f"call_{at + 1}", block.name or "", block.args or "", chunks)
            case _:
                yield BlockPiece(block)
        if not block.private or isinstance(block, Text | Reasoning | ToolCall | InvalidToolCall):
            call = isinstance(block, ToolCall | InvalidToolCall)
            yield from (PrivatePiece(held.provider, held.data, at, call=call) for held in block.private)
    yield from (PrivatePiece(held.provider, held.data, whole=True) for held in message.private)


def _call_pieces(at: int, own: str, name: str, text: str, chunks: int) -> Iterable[Piece]:
    first, *rest = _cut(text, chunks)
    yield CallPiece(at, own, name, first)
    yield from (CallPiece(at, text=part) for part in rest)


def _cut(text: str, size: int) -> list[str]:
    if size < 1 or not text:
        return [text]
    return [text[at : at + size] for at in range(0, len(text), size)]


def _last(request: Request) -> str:
    return next((message.text for message in reversed(request.messages) if message.text), "")


def _refused(why: str) -> ValidationError:
    return ValidationError(
        f"a provider would refuse this conversation: {why}", component="models", operation="scripted"
    )
