"""Our messages to and from what the Gemini API and its SDK call contents and parts; pure."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

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
from lawful.models.media import Media, goes_to
from lawful.models.pieces import (
    AboutPiece,
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
from lawful.models.schemas import plain
from lawful.models.settings import ModelConfig
from lawful.models.transcript import Result
from lawful.models.values import FinishReason, Only, Request, Usage
from lawful.models.wire_parts import alternating, given


class GeminiConfig(ModelConfig, frozen=True, kw_only=True):
    """The settings of Gemini models, named as Google names them."""

    top_k: int | None = None
    thinking_budget: int | None = None
    """Tokens for thinking; 0: none, -1: as many as the model likes."""
    thinking_level: str | None = None
    include_thoughts: bool | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    safety_settings: tuple[dict[str, str], ...] = ()
    """Each with ``category`` and ``threshold``."""
    response_modalities: tuple[str, ...] = ()
    cached_content: str | None = None


TAG: Final = "google"
FINISH: Final[Mapping[str, FinishReason]] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    **dict.fromkeys(
        ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "MODEL_ARMOR"),
        "content_filter",
    ),
}
OWN_ID: Final = "call_"
"""How ids begin that we gave to calls which had none."""


def request_json(request: Request, config: GeminiConfig, where: str = TAG) -> tuple[list[JSON], JSON]:
    """``contents`` and ``config`` of ``models.generate_content_stream``.

    Raises: ValidationError for a block that this wire cannot carry.
    """
    instructions, contents = contents_json(request.messages, where)
    made: JSON = {"automatic_function_calling": {"disable": True}}
    if instructions:
        made["system_instruction"] = "\n\n".join(instructions)
    if request.tools:
        declared = [
            {
                "name": tool.name,
                "description": tool.description,
                "parameters_json_schema": plain(tool.parameters).schema,
            }
            for tool in request.tools
        ]
        made["tools"] = [{"function_declarations": declared}]
        choice = request.tool_choice
        if isinstance(choice, Only):
            calling: JSON = {"mode": "ANY", "allowed_function_names": [choice.name]}
        else:
            calling = {"mode": {"auto": "AUTO", "none": "NONE", "required": "ANY"}[choice]}
        made["tool_config"] = {"function_calling_config": calling}
    if request.output is not None:
        made["response_mime_type"] = "application/json"
        made["response_json_schema"] = plain(request.output.schema).schema
    made.update(_settings(config))
    return contents, made


def _settings(config: GeminiConfig) -> JSON:
    penalties = ("presence_penalty", "frequency_penalty")
    made = given(config, "temperature", "top_p", "top_k", "seed", *penalties, "cached_content")
    if config.max_tokens is not None:
        made["max_output_tokens"] = config.max_tokens
    if config.stop:
        made["stop_sequences"] = list(config.stop)
    if thinking := given(config, "thinking_budget", "thinking_level", "include_thoughts"):
        made["thinking_config"] = thinking
    if config.safety_settings:
        made["safety_settings"] = list(config.safety_settings)
    if config.response_modalities:
        made["response_modalities"] = list(config.response_modalities)
    return made


def contents_json(messages: Sequence[Message], where: str = TAG) -> tuple[list[str], list[JSON]]:
    """The instructions, which stand apart here, and the conversation: user and model in turn."""
    return alternating(
        messages,
        assistant="model",
        field="parts",
        text=lambda text: {"text": text},
        parts=lambda _role, block: _part(block, where),
        result=lambda one: _result(one, where),
    )


def _part(block: Block, where: str) -> list[JSON]:
    held = block.private_for(where)
    signature: JSON = {"thought_signature": held} if held else {}
    match block:
        case Text(text=text):
            return [{"text": text, **signature}] if text or signature else []
        case Reasoning(reasoning=thought):
            return [{"text": thought, "thought": True, **signature}] if held is not None else []
        case ToolCall(name=name, args=args):
            return [{"function_call": {"name": name, "args": args, **_call_id(block.id)}, **signature}]
        case InvalidToolCall(name=name):
            return [{"function_call": {"name": name or "unknown", "args": {}, **_call_id(block.id)}, **signature}]
        case NonStandard(value=value):
            return [_revived(value)] if goes_to(block, where) else []
        case Image() | Audio() | Video() | File():
            return [{**_media(block), **signature}]


def _media(block: Media) -> JSON:
    if block.base64 is not None:
        return {"inline_data": {"data": base64.b64decode(block.base64), "mime_type": block.mime_type}}
    made: JSON = {"file_uri": block.file_id or block.url}
    if block.mime_type:
        made["mime_type"] = block.mime_type
    return {"file_data": made}


def _call_id(own: str | None) -> JSON:
    return {} if own is None or own.startswith(OWN_ID) else {"id": own}


def _result(result: Result, where: str) -> list[JSON]:
    response = {"error": result.text} if result.failed else _response(result.text)
    made: list[JSON] = [{"function_response": {"name": result.name, "response": response, **_call_id(result.call_id)}}]
    return made + [part for block in result.content if not isinstance(block, Text) for part in _part(block, where)]


def _response(text: str) -> JSON:
    try:
        found = json.loads(text)
    except ValueError:
        return {"output": text}
    return table(found) or {"output": found}


class Reader:
    """Reads the chunks of one answer, as plain data with bytes where the SDK has bytes."""

    def __init__(self, where: str = TAG) -> None:
        self._where = where
        self._calls = 0
        self._text = 0

    def feed(self, chunk: JSON) -> list[Piece]:
        """What one chunk holds."""
        made: list[Piece] = []
        if chunk.get("response_id") or chunk.get("model_version"):
            made.append(AboutPiece(chunk.get("response_id"), chunk.get("model_version")))
        used = table(chunk.get("usage_metadata"))
        if used:
            made.append(UsagePiece(usage_of(used)))
        if table(chunk.get("prompt_feedback")).get("block_reason"):
            made.append(FinishPiece("content_filter"))
        for candidate in items(chunk.get("candidates"))[:1]:
            for part in items(table(table(candidate).get("content")).get("parts")):
                made.extend(self._part(table(part)))
            reason = table(candidate).get("finish_reason")
            if reason:
                made.append(FinishPiece(FINISH.get(str(getattr(reason, "value", reason)), "other")))
        return made

    def _part(self, part: JSON) -> list[Piece]:
        signature = part.get("thought_signature")
        if isinstance(part.get("text"), str):
            thought = bool(part.get("thought"))
            key = f"{'thought' if thought else 'text'}.{self._text}"
            text = part["text"]
            made: list[Piece] = [ReasoningPiece(text, key) if thought else TextPiece(text, key)]
            if thought and signature is None and text:
                made.append(PrivatePiece(self._where, b"", key))
            elif signature:
                # A signature closes its part: what follows is another one.
                made.append(PrivatePiece(self._where, signature, key))
                self._text += 1
            return made
        self._text += 1
        call = table(part.get("function_call"))
        if call:
            self._calls += 1
            made = [CallPiece(self._calls, call.get("id"), call.get("name"), json.dumps(call.get("args") or {}))]
            return [*made, PrivatePiece(self._where, signature, self._calls, call=True)] if signature else made
        private = (Private(self._where, signature or b""),)
        inline = table(part.get("inline_data"))
        if inline.get("data"):
            return [BlockPiece(_received(inline, private))]
        return [BlockPiece(NonStandard(_plain(part), private=private))] if part else []


def _received(inline: JSON, private: tuple[Private, ...]) -> Block:
    mime = str(inline.get("mime_type") or "application/octet-stream")
    kind = {"image": Image, "audio": Audio, "video": Video}.get(mime.partition("/")[0], File)
    return kind(base64=base64.b64encode(inline["data"]).decode(), mime_type=mime, private=private)


def _plain(part: JSON) -> JSON:
    """The part as JSON; bytes as base64 under a mark."""
    return json.loads(json.dumps(part, default=lambda data: {"$base64": base64.b64encode(data).decode()}))


def _revived(value: Any) -> Any:
    if isinstance(value, list):
        return [_revived(one) for one in items(value)]
    facts = table(value)
    if not facts:
        return value
    if set(facts) == {"$base64"}:
        try:
            return base64.b64decode(facts["$base64"], validate=True)
        except (binascii.Error, TypeError):
            return facts
    return {key: _revived(one) for key, one in facts.items()}


def usage_of(told: JSON) -> Usage:
    """The tokens that ``usage_metadata`` tells of; thoughts are counted apart there."""
    thoughts = told.get("thoughts_token_count") or 0
    return Usage(
        (told.get("prompt_token_count") or 0) + (told.get("tool_use_prompt_token_count") or 0),
        (told.get("candidates_token_count") or 0) + thoughts,
        cached=told.get("cached_content_token_count") or 0,
        reasoning=thoughts,
    )
