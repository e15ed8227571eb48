"""The wires of the providers as a server speaks them: the same answers in five forms, for one set of tests."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from typing import Any

from lawful.core.retry import RetryPolicy
from lawful.models.port import ChatModel
from support.wire_server import Answer, lines, refusal, sse

QUICK = RetryPolicy(initial_interval=0.0, jitter=False, max_attempts=3)
SDKS = {
    "openai-chat": "openai",
    "openai": "openai",
    "anthropic": "anthropic",
    "google": "google.genai",
    "ollama": "ollama",
}


def there(wire: str) -> bool:
    """Whether the wire's SDK is installed."""
    top, *_ = SDKS[wire].split(".")
    return importlib.util.find_spec(top) is not None and importlib.util.find_spec(SDKS[wire]) is not None


def made(wire: str, url: str, **more: Any) -> ChatModel[Any]:
    """A model of that wire at ``url``."""
    from lawful.models.anthropic import AnthropicModel
    from lawful.models.google import GeminiModel
    from lawful.models.ollama import OllamaModel
    from lawful.models.openai import OpenAIModel
    from lawful.models.responses import ResponsesModel

    options: dict[str, Any] = {"api_key": "key-for-tests", "retry": None, **more}
    match wire:
        case "openai-chat":
            return OpenAIModel("gpt-5", base_url=f"{url}/v1", **options)
        case "openai":
            return ResponsesModel("gpt-5", base_url=f"{url}/v1", **options)
        case "anthropic":
            return AnthropicModel("claude-opus-4-8", base_url=url, **options)
        case "google":
            return GeminiModel("gemini-2.5-pro", base_url=url, **options)
        case _:
            return OllamaModel("qwen3", base_url=url, **options)


Call = tuple[str, str, dict[str, Any]]
"""Id, name and arguments."""


def answer(wire: str, texts: Sequence[str] = (), calls: Sequence[Call] = (), **more: Any) -> Answer:
    """A whole answer of that wire: 7 tokens read, 5 written."""
    match wire:
        case "openai-chat":
            return sse(*_chat(texts, calls), done=not more.get("cut") and not more.get("hang"), **more)
        case "openai":
            return sse(*_responses(texts, calls), **more)
        case "anthropic":
            return sse(*_anthropic(texts, calls), **more)
        case "google":
            return sse(*_google(texts, calls), **more)
        case _:
            return lines(*_ollama(texts, calls), **more)


def begun(wire: str, texts: Sequence[str], *, hang: bool = False) -> Answer:
    """The beginning of an answer, then the connection is dropped, or hangs."""
    whole = answer(wire, texts, cut=not hang, hang=hang)
    ends = {"openai-chat": 2, "openai": 2, "anthropic": 3, "google": 1, "ollama": 1}
    return Answer(whole.pieces[: -ends[wire]], whole.status, whole.kind, whole.headers, whole.cut, whole.hang)


def refused(wire: str, status: int, said: str, **headers: str) -> Answer:
    """An error in that wire's own form."""
    match wire:
        case "anthropic":
            return refusal(status, {"type": "error", "error": {"type": "some_error", "message": said}}, **headers)
        case "google":
            return refusal(status, {"error": {"code": status, "message": said, "status": "SOME"}}, **headers)
        case "ollama":
            return refusal(status, {"error": said}, **headers)
        case _:
            return refusal(status, {"error": {"message": said, "type": "some_error"}}, **headers)


def malformed(wire: str) -> Answer:
    """An answer that is cut in the middle of its JSON."""
    if wire == "ollama":
        return Answer((b'{"model": "qwen3", "message": {"rol\n',), kind="application/x-ndjson")
    name = b"event: content_block_delta\n" if wire == "anthropic" else b""
    return Answer((name + b'data: {"id": "x", "choices": [{"delta": \n\n',))


def _chunk(**more: Any) -> dict[str, Any]:
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-5-2025", "choices": [], **more}


def _choice(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return _chunk(choices=[{"index": 0, "delta": delta, "finish_reason": finish}])


def _chat(texts: Sequence[str], calls: Sequence[Call]) -> list[Any]:
    made: list[Any] = [_choice({"role": "assistant", "content": ""})]
    made += [_choice({"content": text}) for text in texts]
    for index, (own, name, args) in enumerate(calls):
        text = json.dumps(args)
        head: dict[str, Any] = {
            "index": index,
            "id": own,
            "type": "function",
            "function": {"name": name, "arguments": text[:3]},
        }
        made.append(_choice({"tool_calls": [head]}))
        made.append(_choice({"tool_calls": [{"index": index, "function": {"arguments": text[3:]}}]}))
    made.append(_choice({}, "tool_calls" if calls else "stop"))
    made.append(_chunk(usage={"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}))
    return made


def _responses(texts: Sequence[str], calls: Sequence[Call]) -> list[Any]:
    response: dict[str, Any] = {
        "id": "r1", "object": "response", "created_at": 1, "model": "gpt-5-2025", "output": [], "status": "in_progress",
        "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
    }  # fmt: skip
    made: list[Any] = [{"type": "response.created", "response": response}]
    at = 0
    if texts:
        item: dict[str, Any] = {
            "type": "message",
            "id": "m1",
            "role": "assistant",
            "status": "in_progress",
            "content": [],
        }
        made.append({"type": "response.output_item.added", "output_index": 0, "item": item})
        delta: dict[str, Any] = {
            "type": "response.output_text.delta",
            "output_index": 0,
            "content_index": 0,
            "item_id": "m1",
            "logprobs": [],
        }
        made += [{**delta, "delta": text} for text in texts]
        whole: dict[str, Any] = {"type": "output_text", "text": "".join(texts), "annotations": []}
        made.append({"type": "response.output_item.done", "output_index": 0, "item": {**item, "content": [whole]}})
        at = 1
    for place, (own, name, args) in enumerate(calls, at):
        text = json.dumps(args)
        item: dict[str, Any] = {
            "type": "function_call",
            "id": f"f{place}",
            "call_id": own,
            "name": name,
            "arguments": "",
        }
        made.append({"type": "response.output_item.added", "output_index": place, "item": item})
        delta: dict[str, Any] = {
            "type": "response.function_call_arguments.delta",
            "output_index": place,
            "item_id": f"f{place}",
        }
        made += [{**delta, "delta": text[:3]}, {**delta, "delta": text[3:]}]
        made.append({"type": "response.output_item.done", "output_index": place, "item": {**item, "arguments": text}})
    usage = {
        "input_tokens": 7, "output_tokens": 5, "total_tokens": 12,
        "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0},
    }  # fmt: skip
    made.append({"type": "response.completed", "response": {**response, "status": "completed", "usage": usage}})
    return [{**event, "sequence_number": number} for number, event in enumerate(made)]


def _anthropic(texts: Sequence[str], calls: Sequence[Call]) -> list[Any]:
    message: dict[str, Any] = {
        "id": "m1", "type": "message", "role": "assistant", "model": "claude-opus-4-8-2026", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 7, "output_tokens": 1},
    }  # fmt: skip
    made: list[Any] = [{"type": "message_start", "message": message}, {"type": "ping"}]
    at = 0
    if texts:
        made.append({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
        delta: dict[str, Any] = {"type": "content_block_delta", "index": 0}
        made += [{**delta, "delta": {"type": "text_delta", "text": text}} for text in texts]
        made.append({"type": "content_block_stop", "index": 0})
        at = 1
    for place, (own, name, args) in enumerate(calls, at):
        text = json.dumps(args)
        block: dict[str, Any] = {"type": "tool_use", "id": own, "name": name, "input": {}}
        made.append({"type": "content_block_start", "index": place, "content_block": block})
        delta: dict[str, Any] = {"type": "content_block_delta", "index": place}
        pieces = (text[:3], text[3:])
        made += [{**delta, "delta": {"type": "input_json_delta", "partial_json": part}} for part in pieces]
        made.append({"type": "content_block_stop", "index": place})
    reason = "tool_use" if calls else "end_turn"
    end: dict[str, Any] = {"stop_reason": reason, "stop_sequence": None}
    return [*made, {"type": "message_delta", "delta": end, "usage": {"output_tokens": 5}}, {"type": "message_stop"}]


def _google(texts: Sequence[str], calls: Sequence[Call]) -> list[Any]:
    def chunk(parts: list[Any], **more: Any) -> dict[str, Any]:
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0, **more}
        return {"candidates": [candidate], "modelVersion": "gemini-2.5-pro-001", "responseId": "g1"}

    made = [chunk([{"text": text}]) for text in texts]
    made += [chunk([{"functionCall": {"id": own, "name": name, "args": args}}]) for own, name, args in calls]
    used: dict[str, Any] = {"promptTokenCount": 7, "candidatesTokenCount": 5, "totalTokenCount": 12}
    return [*made, {**chunk([{"text": ""}], finishReason="STOP"), "usageMetadata": used}]


def _ollama(texts: Sequence[str], calls: Sequence[Call]) -> list[Any]:
    head: dict[str, Any] = {"model": "qwen3:8b", "created_at": "2026-01-01T00:00:00Z"}
    made: list[Any] = [{**head, "message": {"role": "assistant", "content": text}, "done": False} for text in texts]
    for _, name, args in calls:
        call: dict[str, Any] = {"function": {"name": name, "arguments": args}}
        made.append({**head, "message": {"role": "assistant", "content": "", "tool_calls": [call]}, "done": False})
    end: dict[str, Any] = {"done": True, "done_reason": "stop", "prompt_eval_count": 7, "eval_count": 5}
    return [*made, {**head, "message": {"role": "assistant", "content": ""}, **end}]
