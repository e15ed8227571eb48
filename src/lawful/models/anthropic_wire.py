"""Our messages to and from the JSON of Anthropic's messages API; pure."""

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
    Private,
    Reasoning,
    Text,
    ToolCall,
    Video,
)
from lawful.models.media import cannot, file_name, goes_to, in_words
from lawful.models.pieces import (
    AboutPiece,
    AnnotationPiece,
    BlockPiece,
    CallPiece,
    FinishPiece,
    Piece,
    PrivatePiece,
    ReasoningPiece,
    TextPiece,
    UsagePiece,
)
from lawful.models.plain_json import JSON, items, table
from lawful.models.schemas import NO_BOUNDS, plain, strict
from lawful.models.settings import ModelConfig
from lawful.models.transcript import Result
from lawful.models.values import FinishReason, Only, Request, ToolChoice, Usage
from lawful.models.wire_parts import alternating, given


class AnthropicConfig(ModelConfig, frozen=True, kw_only=True):
    """The settings of Anthropic's models, named as Anthropic names them. ``seed`` is not among them and is refused."""

    top_k: int | None = None
    thinking_budget: int | None = None
    """Tokens for thinking, at least 1024 and fewer than ``max_tokens``; 0: no thinking."""
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    parallel_tool_calls: bool | None = None
    cache_prompt: bool = False
    """Whether tools, instructions and conversation are kept in the provider's cache for the next turn."""
    service_tier: str | None = None
    user_id: str | None = None
    extra_body: dict[str, Any] | None = None


TAG: Final = "anthropic"
MAX_TOKENS: Final = 16_384
"""The tokens of an answer where nobody says how many; this API wants a number."""
FINISH: Final[Mapping[str, FinishReason]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}


def request_json(
    request: Request, model: str, config: AnthropicConfig, where: str = TAG, most: int | None = None
) -> JSON:
    """The arguments of ``messages.create``, streamed; ``most`` are the tokens that this model can answer.

    Raises: ValidationError for a block that this wire cannot carry.
    """
    instructions, turns = messages_json(request.messages, where)
    made: JSON = {
        "model": model,
        "messages": turns,
        "max_tokens": config.max_tokens or most or MAX_TOKENS,
        "stream": True,
    }
    if instructions:
        made["system"] = [{"type": "text", "text": text} for text in instructions]
    if request.tools:
        made["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": plain(tool.parameters).schema}
            for tool in request.tools
        ]
        made["tool_choice"] = _choice(request.tool_choice, config.parallel_tool_calls)
    made.update(_settings(config))
    output: JSON = {"effort": config.effort} if config.effort else {}
    if request.output is not None:
        output["format"] = {"type": "json_schema", "schema": strict(request.output.schema, NO_BOUNDS).schema}
    if output:
        made["output_config"] = output
    return made


def _settings(config: AnthropicConfig) -> JSON:
    made = given(config, "temperature", "top_p", "top_k", "service_tier", "extra_body")
    if config.stop:
        made["stop_sequences"] = list(config.stop)
    if config.thinking_budget is not None:
        on = config.thinking_budget > 0
        made["thinking"] = {"type": "enabled", "budget_tokens": config.thinking_budget} if on else {"type": "disabled"}
    if config.user_id is not None:
        made["metadata"] = {"user_id": config.user_id}
    if config.cache_prompt:
        made["cache_control"] = {"type": "ephemeral"}
    return made


def _choice(choice: ToolChoice, parallel: bool | None) -> JSON:
    if isinstance(choice, Only):
        made: JSON = {"type": "tool", "name": choice.name}
    else:
        made = {"type": {"auto": "auto", "none": "none", "required": "any"}[choice]}
    if parallel is not None and choice != "none":
        made["disable_parallel_tool_use"] = not parallel
    return made


def messages_json(messages: Sequence[Message], where: str = TAG) -> tuple[list[str], list[JSON]]:
    """The instructions, which stand apart here, and the conversation: user and assistant in turn."""
    return alternating(
        messages,
        assistant="assistant",
        field="content",
        text=lambda text: {"type": "text", "text": text},
        parts=lambda role, block: _from(role, block, where),
        result=lambda one: [_result(one, where)],
    )


def _from(role: str, block: Block, where: str) -> list[JSON]:
    if role == "assistant" and isinstance(block, Image | Audio | Video | File):
        return _part(Text(in_words(block)), where)
    return _part(block, where)


def _part(block: Block, where: str) -> list[JSON]:
    match block:
        case Text(text=text):
            # A text of blanks alone is refused here.
            return [{"type": "text", "text": text, **_own(block, where)}] if text.strip() else []
        case Reasoning(reasoning=thought):
            own = _own(block, where)
            if "data" in own:
                return [{"type": "redacted_thinking", "data": own["data"]}]
            return [{"type": "thinking", "thinking": thought, **own}] if "signature" in own else []
        case ToolCall(name=name, args=args):
            return [{"type": "tool_use", "id": block.id, "name": name, "input": args}]
        case InvalidToolCall(name=name):
            return [{"type": "tool_use", "id": block.id, "name": name or "unknown", "input": {}}]
        case NonStandard(value=value):
            return [value] if goes_to(block, where) else []
        case Image() | File():
            return [_media(block, where)]
        case _:
            raise cannot(where, block)


def _own(block: Block, where: str) -> JSON:
    held = block.private_for(where)
    return json.loads(held) if held else {}


def _media(block: Image | File, where: str) -> JSON:
    kind = "image" if isinstance(block, Image) else "document"
    if block.file_id is not None:
        return {"type": kind, "source": {"type": "file", "file_id": block.file_id}}
    if block.url is not None:
        return {"type": kind, "source": {"type": "url", "url": block.url}}
    if kind == "document" and block.mime_type not in ("application/pdf", None):
        raise cannot(where, block, f"documents are PDF here, not {block.mime_type}; send its text")
    made: JSON = {"type": kind, "source": {"type": "base64", "media_type": block.mime_type, "data": block.base64}}
    if kind == "document":
        made["title"] = file_name(block)
    return made


def _result(result: Result, where: str) -> JSON:
    content = [part for block in result.content for part in _part(block, where)]
    made: JSON = {"type": "tool_result", "tool_use_id": result.call_id, "content": content}
    if result.failed:
        made["is_error"] = True
    return made


class Reader:
    """Reads the events of one answer."""

    def __init__(self, where: str = TAG) -> None:
        self._where = where
        self._usage: JSON = {}
        self._own: dict[int, JSON] = {}
        """What only this provider understands of a block, as it grows."""
        self._other: dict[int, JSON] = {}
        """Blocks of kinds that only this provider has."""
        self._inputs: dict[int, list[str]] = {}

    def feed(self, event: JSON) -> list[Piece]:
        """What one event holds."""
        match event.get("type"):
            case "message_start":
                message = table(event.get("message"))
                return [AboutPiece(message.get("id"), message.get("model")), self._used(table(message.get("usage")))]
            case "content_block_start":
                return self._start(event["index"], table(event.get("content_block")))
            case "content_block_delta":
                return self._delta(event["index"], table(event.get("delta")))
            case "content_block_stop":
                return self._stop(event["index"])
            case "message_delta":
                reason = table(event.get("delta")).get("stop_reason")
                used = self._used(table(event.get("usage")))
                return [used, FinishPiece(FINISH.get(reason, "other"))] if reason else [used]
            case _:
                return []

    def _used(self, told: JSON) -> UsagePiece:
        # The numbers of a later event are the whole answer's, but it may leave out what an earlier one said.
        self._usage.update({key: value for key, value in told.items() if value is not None})
        used = self._usage
        cached, written = used.get("cache_read_input_tokens") or 0, used.get("cache_creation_input_tokens") or 0
        prompt = (used.get("input_tokens") or 0) + cached + written
        return UsagePiece(Usage(prompt, used.get("output_tokens") or 0, cached=cached, cache_written=written))

    def _start(self, index: int, block: JSON) -> list[Piece]:
        match block.get("type"):
            case "text":
                made: list[Piece] = [TextPiece(block.get("text") or "", index)]
                return [*made, *(AnnotationPiece(one, index) for one in items(block.get("citations")))]
            case "thinking":
                if block.get("signature"):
                    self._own[index] = {"signature": block["signature"]}
                return [ReasoningPiece(block.get("thinking") or "", index)]
            case "redacted_thinking":
                data = json.dumps({"data": block.get("data")}).encode()
                return [BlockPiece(Reasoning("", private=(Private(self._where, data),)))]
            case "tool_use":
                given = block.get("input")
                return [CallPiece(index, block.get("id"), block.get("name"), json.dumps(given) if given else "")]
            case _:
                self._other[index] = block
                return []

    def _delta(self, index: int, delta: JSON) -> list[Piece]:
        match delta.get("type"):
            case "text_delta":
                return [TextPiece(delta.get("text") or "", index)]
            case "thinking_delta":
                return [ReasoningPiece(delta.get("thinking") or "", index)]
            case "signature_delta":
                own = self._own.setdefault(index, {"signature": ""})
                own["signature"] += delta.get("signature") or ""
            case "citations_delta":
                citation = table(delta.get("citation"))
                self._own.setdefault(index, {"citations": []})["citations"].append(citation)
                return [AnnotationPiece(citation, index)]
            case "input_json_delta" if index in self._other:
                self._inputs.setdefault(index, []).append(delta.get("partial_json") or "")
            case "input_json_delta":
                return [CallPiece(index, text=delta.get("partial_json") or "")]
            case _:
                pass
        return []

    def _stop(self, index: int) -> list[Piece]:
        own = self._own.pop(index, None)
        if own is not None:
            return [PrivatePiece(self._where, json.dumps(own, ensure_ascii=False).encode(), index)]
        other = self._other.pop(index, None)
        if other is None:
            return []
        text = "".join(self._inputs.pop(index, []))
        value = {**other, "input": json.loads(text)} if text else other
        return [BlockPiece(NonStandard(value, private=(Private(self._where, b""),)))]
