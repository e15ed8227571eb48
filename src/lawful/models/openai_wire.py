"""Our messages to and from the JSON of OpenAI's chat completions, and of the many servers that speak it; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from lawful.core.messages import (
    Audio,
    Block,
    File,
    Image,
    InvalidToolCall,
    Message,
    NonStandard,
    Reasoning,
    Text,
    ToolCall,
    Video,
)
from lawful.models.media import address, cannot, data_url, file_name, goes_to, in_words
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
from lawful.models.settings import ModelConfig
from lawful.models.transcript import Said, closed
from lawful.models.values import FinishReason, Only, Request, ToolChoice, ToolSpec, Usage
from lawful.models.wire_parts import arguments, form, function, given, told


class OpenAIConfig(ModelConfig, frozen=True, kw_only=True):
    """The settings of OpenAI's models, and of servers that speak its wire; named as OpenAI names them."""

    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
    verbosity: Literal["low", "medium", "high"] | None = None
    parallel_tool_calls: bool | None = None
    strict_tools: bool = False
    """Whether tools' arguments are decoded under their schema, closed and with every field required."""
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logit_bias: dict[str, int] | None = None
    service_tier: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    store: bool | None = None
    extra_body: dict[str, Any] | None = None
    """Fields that only this server knows, sent as they are."""


FINISH: Final[Mapping[str, FinishReason]] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}
_THOUGHTS: Final = ("reasoning_content", "reasoning")
"""Where servers of this wire put what a model thinks; the official one shows nothing here."""


def request_json(request: Request, model: str, config: OpenAIConfig, where: str, *, official: bool = True) -> JSON:
    """The arguments of ``chat.completions.create``, streamed with usage.

    ``where`` is the provider's tag, whose private bytes are sent back; ``official`` tells OpenAI itself from servers that
    know only the older names.

    Raises: ValidationError for a block that this wire cannot carry.
    """
    made: JSON = {
        "model": model,
        "messages": messages_json(request.messages, where, official=official),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        made["tools"] = [_tool(tool, config.strict_tools) for tool in request.tools]
        made["tool_choice"] = _choice(request.tool_choice)
    if request.output is not None:
        told_as = {"description": request.output.description} if request.output.description else {}
        made["response_format"] = {"type": "json_schema", "json_schema": {**form(request.output), **told_as}}
    made.update(_settings(config, official))
    if not request.tools:
        made.pop("parallel_tool_calls", None)
    return made


def _settings(config: OpenAIConfig, official: bool) -> JSON:
    names = ("temperature", "top_p", "seed", "reasoning_effort", "verbosity", "parallel_tool_calls", "presence_penalty")
    more = ("frequency_penalty", "logit_bias", "service_tier", "safety_identifier", "prompt_cache_key", "store")
    made = given(config, *names, *more)
    if config.max_tokens is not None:
        made["max_completion_tokens" if official else "max_tokens"] = config.max_tokens
    if config.stop:
        made["stop"] = list(config.stop)
    if config.extra_body:
        made["extra_body"] = config.extra_body
    return made


def _tool(tool: ToolSpec, strictly: bool) -> JSON:
    described = function(tool, strictly=strictly)
    return {"type": "function", "function": {**described, "strict": True} if strictly else described}


def _choice(choice: ToolChoice) -> Any:
    return {"type": "function", "function": {"name": choice.name}} if isinstance(choice, Only) else choice


def messages_json(messages: Sequence[Message], where: str, *, official: bool = True) -> list[JSON]:
    """The conversation; each call is followed by its result."""
    made: list[JSON] = []
    for turn in closed(messages):
        if isinstance(turn, Said):
            made.append(_said(turn.message, where, official))
            continue
        made.append(_assistant(turn.message, where))
        made.extend({"role": "tool", "tool_call_id": one.call_id, "content": told(one)} for one in turn.results)
        shown = [(one, block) for one in turn.results for block in one.content if not isinstance(block, Text)]
        if shown:
            # A tool's message holds text only here; what else it gave follows as the user's.
            parts = [_part(Text(f"From the tool {shown[0][0].name}:"), where), *(_part(b, where) for _, b in shown)]
            made.append({"role": "user", "content": parts})
    return made


def _said(message: Message, where: str, official: bool) -> JSON:
    if message.role == "assistant":
        return _assistant(message, where)
    role = "system" if message.role == "developer" and not official else message.role
    texts = [block for block in message.content if isinstance(block, Text)]
    content: Any = message.text
    if len(texts) < len(message.content):
        content = [_part(block, where) for block in message.content]
    made: JSON = {"role": role, "content": content}
    if message.name:
        made["name"] = message.name
    return made


def _assistant(message: Message, where: str) -> JSON:  # noqa: C901 - one flat match over a closed union
    made: JSON = {"role": "assistant"}
    calls: list[JSON] = []
    texts: list[str] = []
    for block in message.content:
        match block:
            case Text(text=text):
                texts.append(text)
            case ToolCall() | InvalidToolCall():
                calls.append(_call(block))
            case Reasoning(reasoning=thought):
                field = block.private_for(where)
                if field is not None and field.decode() in _THOUGHTS:
                    made[field.decode()] = made.get(field.decode(), "") + thought
            case Image() | Audio() | Video() | File():
                texts.append(in_words(block))
            case NonStandard():
                # Chat completions has no blocks of its own in the assistant's messages.
                pass
    said = "\n".join(text for text in texts if text)
    made["content"] = said if said or not calls else None
    if calls:
        made["tool_calls"] = calls
    for held in message.private:
        if held.provider == where:
            made.update(json.loads(held.data))
    return made


def _call(call: ToolCall | InvalidToolCall) -> JSON:
    called = {"name": call.name or "unknown", "arguments": arguments(call)}
    return {"id": call.id, "type": "function", "function": called}


def _part(block: Block, where: str) -> JSON:
    match block:
        case Text(text=text):
            return {"type": "text", "text": text}
        case Image(file_id=None):
            detail = (block.extras or {}).get("detail")
            return {"type": "image_url", "image_url": {"url": address(block), **({"detail": detail} if detail else {})}}
        case Audio(base64=str(data), mime_type=mime):
            kind = (mime or "audio/wav").rpartition("/")[2]
            kind = {"mpeg": "mp3", "x-wav": "wav", "wave": "wav"}.get(kind, kind)
            return {"type": "input_audio", "input_audio": {"data": data, "format": kind}}
        case File(file_id=str(own)):
            return {"type": "file", "file": {"file_id": own}}
        case File(base64=str()):
            return {"type": "file", "file": {"file_data": data_url(block), "filename": file_name(block)}}
        case NonStandard(value=value) if goes_to(block, where):
            return value
        case _:
            raise cannot(where, block)


class Reader:
    """Reads the chunks of one answer."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._thought = ""
        self._details: list[Any] = []

    def feed(self, chunk: JSON) -> list[Piece]:
        """What one ``chat.completion.chunk`` holds."""
        made: list[Piece] = []
        if chunk.get("id") or chunk.get("model"):
            made.append(AboutPiece(chunk.get("id") or None, chunk.get("model") or None))
        if isinstance(chunk.get("usage"), dict):
            made.append(UsagePiece(usage_of(chunk["usage"])))
        for choice in chunk.get("choices") or ():
            if choice.get("index", 0) == 0:
                made.extend(self._delta(choice.get("delta") or {}))
                if choice.get("finish_reason"):
                    made.extend(self._end())
                    made.append(FinishPiece(FINISH.get(choice["finish_reason"], "other")))
        return made

    def _delta(self, delta: JSON) -> list[Piece]:
        made: list[Piece] = []
        for field in _THOUGHTS:
            thought = delta.get(field)
            if isinstance(thought, str) and thought:
                made.append(ReasoningPiece(thought, "thought"))
                if not self._thought:
                    self._thought = field
                    made.append(PrivatePiece(self._where, field.encode(), "thought"))
                break
        self._details.extend(items(delta.get("reasoning_details")))
        for field in ("content", "refusal"):
            if isinstance(delta.get(field), str) and delta[field]:
                made.append(TextPiece(delta[field]))
        for call in delta.get("tool_calls") or ():
            called = table(call.get("function"))
            text = called.get("arguments")
            # Some servers send the arguments as an object.
            text = text if isinstance(text, str) else "" if text is None else json.dumps(text)
            made.append(CallPiece(call.get("index"), call.get("id"), called.get("name"), text))
        return made

    def _end(self) -> list[Piece]:
        if not self._details:
            return []
        kept, self._details = self._details, []
        data = json.dumps({"reasoning_details": kept}, ensure_ascii=False).encode()
        return [PrivatePiece(self._where, data, whole=True)]


def usage_of(usage: JSON) -> Usage:
    """The tokens that a ``usage`` object tells of."""
    read = table(usage.get("prompt_tokens_details"))
    wrote = table(usage.get("completion_tokens_details"))
    return Usage(
        usage.get("prompt_tokens") or 0,
        usage.get("completion_tokens") or 0,
        cached=read.get("cached_tokens") or usage.get("prompt_cache_hit_tokens") or 0,
        cache_written=read.get("cache_write_tokens") or 0,
        reasoning=wrote.get("reasoning_tokens") or 0,
    )
