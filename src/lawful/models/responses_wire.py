"""Our messages to and from the JSON of OpenAI's responses API; pure.

Nothing is kept on the provider's side: what a reasoning model thought goes back encrypted, byte for byte.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from lawful.core.messages import (
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
)
from lawful.models.media import address, cannot, data_url, file_name, goes_to, in_words
from lawful.models.openai_wire import OpenAIConfig
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
from lawful.models.transcript import Result, Said, closed
from lawful.models.values import FinishReason, Only, Request, Usage
from lawful.models.wire_parts import arguments, form, function, given, told

_WHY: Final[Mapping[str, FinishReason]] = {"max_output_tokens": "length", "content_filter": "content_filter"}


def request_json(request: Request, model: str, config: OpenAIConfig, where: str) -> JSON:
    """The arguments of ``responses.create``, streamed.

    Raises: ValidationError for a block that this wire cannot carry.
    """
    made: JSON = {
        "model": model,
        "input": input_json(request.messages, where),
        "stream": True,
        "store": bool(config.store),
        "include": ["reasoning.encrypted_content"],
    }
    if request.tools:
        strictly = config.strict_tools
        made["tools"] = [
            {"type": "function", **function(tool, strictly=strictly), "strict": strictly} for tool in request.tools
        ]
        choice = request.tool_choice
        made["tool_choice"] = {"type": "function", "name": choice.name} if isinstance(choice, Only) else choice
        if config.parallel_tool_calls is not None:
            made["parallel_tool_calls"] = config.parallel_tool_calls
    text: JSON = {"verbosity": config.verbosity} if config.verbosity else {}
    if request.output is not None:
        text["format"] = {"type": "json_schema", **form(request.output)}
    if text:
        made["text"] = text
    if config.reasoning_effort is not None:
        made["reasoning"] = {"effort": config.reasoning_effort, "summary": "auto"}
    names = ("temperature", "top_p", "service_tier", "safety_identifier", "prompt_cache_key", "extra_body")
    made.update(given(config, *names))
    if config.max_tokens is not None:
        made["max_output_tokens"] = config.max_tokens
    return made


def input_json(messages: Sequence[Message], where: str) -> list[JSON]:
    """The conversation as input items: messages, calls and their results, each thought before what it led to."""
    made: list[JSON] = []
    for turn in closed(messages):
        message = turn.message
        if message.role == "assistant":
            made.extend(_assistant(message, where))
        else:
            made.append({"role": message.role, "content": [_part(block, where) for block in message.content]})
        if not isinstance(turn, Said):
            made.extend(_result(one, where) for one in turn.results)
    return made


def _assistant(message: Message, where: str) -> list[JSON]:
    return [item for block in message.content if (item := _item(block, where)) is not None]


def _item(block: Block, where: str) -> JSON | None:
    held = block.private_for(where)
    match block:
        case Text(text=text):
            said = {"role": "assistant", "content": [{"type": "output_text", "text": text}]}
            return said if text else None
        case ToolCall(name=name) | InvalidToolCall(name=name):
            called = {"call_id": block.id, "name": name or "unknown", "arguments": arguments(block)}
            return {"type": "function_call", **called}
        case NonStandard(value=value):
            return value if goes_to(block, where) else None
        case _:
            if held:
                return json.loads(held)
            if isinstance(block, Reasoning):
                return None
            return {"role": "assistant", "content": [{"type": "output_text", "text": in_words(block)}]}


def _result(result: Result, where: str) -> JSON:
    if all(isinstance(block, Text) for block in result.content):
        output: Any = told(result)
    else:
        output = [_part(block, where) for block in result.content]
    return {"type": "function_call_output", "call_id": result.call_id, "output": output}


def _part(block: Block, where: str) -> JSON:
    match block:
        case Text(text=text):
            return {"type": "input_text", "text": text}
        case Image(file_id=str(own)):
            return {"type": "input_image", "file_id": own, "detail": "auto"}
        case Image():
            return {"type": "input_image", "image_url": address(block), "detail": "auto"}
        case File(file_id=str(own)):
            return {"type": "input_file", "file_id": own}
        case File(url=str(url)):
            return {"type": "input_file", "file_url": url}
        case File():
            return {"type": "input_file", "file_data": data_url(block), "filename": file_name(block)}
        case NonStandard(value=value) if goes_to(block, where):
            return value
        case _:
            raise cannot(where, block)


class Reader:
    """Reads the events of one answer."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._calls: set[int] = set()
        """Calls whose arguments have come in pieces."""

    def feed(self, event: JSON) -> list[Piece]:
        """What one event holds."""
        at = event.get("output_index", 0)
        match event.get("type"):
            case "response.created":
                response = table(event.get("response"))
                return [AboutPiece(response.get("id"), response.get("model"))]
            case "response.output_text.delta" | "response.refusal.delta":
                return [TextPiece(event.get("delta") or "", f"{at}.{event.get('content_index', 0)}")]
            case "response.output_text.annotation.added":
                return [AnnotationPiece(table(event.get("annotation")), f"{at}.{event.get('content_index', 0)}")]
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                return [ReasoningPiece(event.get("delta") or "", f"{at}")]
            case "response.reasoning_summary_part.added":
                return [ReasoningPiece("\n\n", f"{at}")] if event.get("summary_index") else []
            case "response.output_item.added":
                return self._added(at, table(event.get("item")))
            case "response.function_call_arguments.delta":
                self._calls.add(at)
                return [CallPiece(at, text=event.get("delta") or "")]
            case "response.output_item.done":
                return self._done(at, table(event.get("item")))
            case "response.completed" | "response.incomplete":
                return self._end(table(event.get("response")))
            case _:
                return []

    def _added(self, at: int, item: JSON) -> list[Piece]:
        if item.get("type") != "function_call":
            return []
        return [CallPiece(at, item.get("call_id"), item.get("name"), "")]

    def _done(self, at: int, item: JSON) -> list[Piece]:
        match item.get("type"):
            case "reasoning":
                data = json.dumps(item, ensure_ascii=False).encode()
                return [PrivatePiece(self._where, data, f"{at}")]
            case "function_call":
                text = "" if at in self._calls else item.get("arguments") or ""
                return [CallPiece(at, item.get("call_id"), item.get("name"), text)]
            case "message":
                return []
            case "image_generation_call" if item.get("result"):
                data = json.dumps({"type": "image_generation_call", "id": item.get("id")}).encode()
                mime = f"image/{item.get('output_format') or 'png'}"
                return [BlockPiece(Image(base64=item["result"], mime_type=mime, private=(Private(self._where, data),)))]
            case _:
                return [BlockPiece(NonStandard(item, private=(Private(self._where, b""),)))]

    def _end(self, response: JSON) -> list[Piece]:
        why = table(response.get("incomplete_details")).get("reason")
        refused = any(
            table(part).get("type") == "refusal"
            for item in items(response.get("output"))
            for part in items(table(item).get("content"))
        )
        reason: FinishReason = _WHY.get(why, "other") if why else "content_filter" if refused else "stop"
        made: list[Piece] = [AboutPiece(response.get("id"), response.get("model"))]
        if response.get("usage"):
            made.append(UsagePiece(usage_of(table(response["usage"]))))
        return [*made, FinishPiece(reason)]


def failure_in(event: JSON) -> tuple[str, str] | None:
    """The code and the words of an event that tells of a failure."""
    if event.get("type") == "error":
        return str(event.get("code") or "server_error"), str(event.get("message") or "")
    if event.get("type") == "response.failed":
        error = table(table(event.get("response")).get("error"))
        return str(error.get("code") or "server_error"), str(error.get("message") or "")
    return None


def usage_of(usage: JSON) -> Usage:
    """The tokens that a ``usage`` object tells of."""
    return Usage(
        usage.get("input_tokens") or 0,
        usage.get("output_tokens") or 0,
        cached=table(usage.get("input_tokens_details")).get("cached_tokens") or 0,
        cache_written=table(usage.get("input_tokens_details")).get("cache_write_tokens") or 0,
        reasoning=table(usage.get("output_tokens_details")).get("reasoning_tokens") or 0,
    )
