"""Our messages to and from the JSON of Ollama's chat API; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from lawful.core.messages import Block, Image, InvalidToolCall, Message, NonStandard, Reasoning, Text, ToolCall
from lawful.models.media import cannot, goes_to
from lawful.models.pieces import (
    AboutPiece,
    CallPiece,
    FinishPiece,
    Piece,
    PrivatePiece,
    ReasoningPiece,
    TextPiece,
    UsagePiece,
)
from lawful.models.plain_json import JSON, items, table
from lawful.models.schemas import plain
from lawful.models.settings import ModelConfig
from lawful.models.transcript import Called, closed
from lawful.models.values import FinishReason, Request, Usage
from lawful.models.wire_parts import function, given, told


class OllamaConfig(ModelConfig, frozen=True, kw_only=True):
    """The settings of models that Ollama runs, named as Ollama names them."""

    top_k: int | None = None
    num_ctx: int | None = None
    """Tokens that request and answer may have together: how much memory the model is given."""
    think: bool | Literal["low", "medium", "high"] | None = None
    keep_alive: float | str | None = None
    """Seconds, or a text such as "5m", for which the model stays loaded."""
    options: dict[str, Any] | None = None
    """Any further option of Ollama's."""


TAG: Final = "ollama"
FINISH: Final[Mapping[str, FinishReason]] = {"stop": "stop", "length": "length"}


def request_json(request: Request, model: str, config: OllamaConfig, where: str = TAG) -> JSON:
    """The arguments of ``chat``, streamed. A choice of tools is not part of this wire: "none" sends no tools.

    Raises: ValidationError for a block that this wire cannot carry.
    """
    made: JSON = {"model": model, "messages": messages_json(request.messages, where), "stream": True}
    if request.tools and request.tool_choice != "none":
        made["tools"] = [{"type": "function", "function": function(tool)} for tool in request.tools]
    if request.output is not None:
        made["format"] = plain(request.output.schema).schema
    made.update(given(config, "think", "keep_alive"))
    options: JSON = {**(config.options or {}), **given(config, "temperature", "top_p", "top_k", "seed", "num_ctx")}
    if config.max_tokens is not None:
        options["num_predict"] = config.max_tokens
    if config.stop:
        options["stop"] = list(config.stop)
    if options:
        made["options"] = options
    return made


def messages_json(messages: Sequence[Message], where: str = TAG) -> list[JSON]:
    """The conversation; a result is known by its tool's name here, so results stand in the order of their calls."""
    made: list[JSON] = []
    for turn in closed(messages):
        made.append(_message(turn.message, where))
        if isinstance(turn, Called):
            for one in turn.results:
                result: JSON = {"role": "tool", "content": told(one), "tool_name": one.name}
                pictures = [_picture(block, where) for block in one.content if not isinstance(block, Text)]
                made.append({**result, "images": pictures} if pictures else result)
    return made


def _message(message: Message, where: str) -> JSON:
    role = "system" if message.role == "developer" else message.role
    made: JSON = {"role": role, "content": message.text}
    calls: list[JSON] = []
    pictures: list[str] = []
    for block in message.content:
        match block:
            case Text():
                pass
            case ToolCall(name=name, args=args):
                calls.append({"function": {"name": name, "arguments": args}})
            case InvalidToolCall(name=name):
                calls.append({"function": {"name": name or "unknown", "arguments": {}}})
            case Reasoning(reasoning=thought):
                if block.private_for(where) is not None:
                    made["thinking"] = made.get("thinking", "") + thought
            case NonStandard() if not goes_to(block, where):
                pass
            case _:
                pictures.append(_picture(block, where))
    if calls:
        made["tool_calls"] = calls
    if pictures:
        made["images"] = pictures
    return made


def _picture(block: Block, where: str) -> str:
    if isinstance(block, Image) and block.base64 is not None:
        return block.base64
    raise cannot(where, block, "only pictures as base64 can be")


class Reader:
    """Reads the chunks of one answer; calls come whole and without ids here."""

    def __init__(self, where: str = TAG) -> None:
        self._where = where
        self._calls = 0
        self._thinks = False

    def feed(self, chunk: JSON) -> list[Piece]:
        """What one line holds."""
        made: list[Piece] = [AboutPiece(model=chunk["model"])] if chunk.get("model") else []
        message = table(chunk.get("message"))
        if message.get("thinking"):
            made.append(ReasoningPiece(message["thinking"], "thought"))
            if not self._thinks:
                self._thinks = True
                made.append(PrivatePiece(self._where, b"", "thought"))
        if message.get("content"):
            made.append(TextPiece(message["content"]))
        for call in items(message.get("tool_calls")):
            called = table(table(call).get("function"))
            self._calls += 1
            text = json.dumps(called.get("arguments") or {})
            made.append(CallPiece(self._calls, table(call).get("id"), called.get("name"), text))
        if chunk.get("done"):
            used = Usage(chunk.get("prompt_eval_count") or 0, chunk.get("eval_count") or 0)
            made += [UsagePiece(used), FinishPiece(FINISH.get(str(chunk.get("done_reason") or "stop"), "other"))]
        return made
