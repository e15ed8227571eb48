"""The pure translators: requests as golden files, private bytes that come back exact and to nobody else, and hostile chunks."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful.core.errors import ValidationError
from lawful.core.messages import (
    Audio,
    File,
    Image,
    InvalidToolCall,
    Message,
    NonStandard,
    Reasoning,
    Text,
    ToolCall,
    Video,
    assistant,
    message_from_json,
    message_json,
    system,
    tool_result,
    user,
)
from lawful.models import Only, OutputSpec, Reply, Request, ToolSpec, Usage
from lawful.models import anthropic_wire as anthropic
from lawful.models import google_wire as google
from lawful.models import ollama_wire as ollama
from lawful.models import openai_wire as chat
from lawful.models import responses_wire as responses
from lawful.models.assembler import Assembler
from support.tree import ROOT
from support.wire_server import Answer
from support.wires import Call, answer

pytestmark = [pytest.mark.unit, pytest.mark.snapshot, pytest.mark.property]

PIXEL = "iVBORw0KGgo="
TOOL = ToolSpec(
    "weather",
    "Today's weather.",
    {"type": "object", "properties": {"city": {"$ref": "#/$defs/City"}}, "$defs": {"City": {"type": "string"}}},
)
FORM = OutputSpec(
    {"type": "object", "properties": {"coat": {"type": "boolean"}, "why": {"type": "string"}}, "required": ["coat"]}
)
TALK = (
    system("Be brief."),
    Message("developer", (Text("In French."),)),
    user("What is this?", Image(base64=PIXEL, mime_type="image/png")),
    assistant(
        Reasoning("hm"),
        Text("Let me look."),
        ToolCall("weather", {"city": "Lyon"}, state="ok", output={"sky": "fair"}, id="c1"),
        ToolCall("weather", {"city": "Oslo"}, id="c2"),
        InvalidToolCall(name="weather", args='{"city', error="not JSON", id="c3"),
        ToolCall("pay", {}, state="denied", id="c4"),
    ),
    tool_result("c2", "Error: no such city", name="weather"),
    Message("system", (Text("Hurry."),)),
    user("And now?"),
)
ASKED = Request(TALK, (TOOL, ToolSpec("pay")), Only("weather"), FORM)

REQUESTS: dict[str, Callable[[Request], Any]] = {
    "chat": lambda request: chat.request_json(
        request,
        "gpt-5",
        chat.OpenAIConfig(temperature=0.5, max_tokens=9, stop=("END",), reasoning_effort="low", strict_tools=True),
        "openai",
    ),
    "responses": lambda request: responses.request_json(
        request,
        "gpt-5",
        chat.OpenAIConfig(temperature=0.5, max_tokens=9, reasoning_effort="low", verbosity="low"),
        "openai",
    ),
    "anthropic": lambda request: anthropic.request_json(
        request,
        "claude-opus-5",
        anthropic.AnthropicConfig(temperature=0.5, max_tokens=9, thinking_budget=2000, cache_prompt=True, effort="low"),
    ),
    "google": lambda request: google.request_json(
        request, google.GeminiConfig(temperature=0.5, max_tokens=9, stop=("END",), thinking_budget=100, top_k=3)
    ),
    "ollama": lambda request: ollama.request_json(
        request, "qwen3", ollama.OllamaConfig(temperature=0.5, max_tokens=9, num_ctx=4096, think=True)
    ),
}


def as_text(made: Any) -> str:
    return (
        json.dumps(made, indent=1, sort_keys=True, default=lambda data: {"bytes": base64.b64encode(data).decode()})
        + "\n"
    )


@pytest.mark.parametrize("wire", sorted(REQUESTS))
def test_a_request_is_written_as_the_golden_file_says(wire: str) -> None:
    """Rows: S0-044. LAWFUL_GOLDEN=write writes the files anew."""
    made = as_text(REQUESTS[wire](ASKED))
    path = ROOT / "tests" / "data" / "models" / f"{wire}_request.json"
    if os.environ.get("LAWFUL_GOLDEN") == "write":
        path.write_text(made, encoding="utf-8")
    assert made == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("wire", sorted(REQUESTS))
def test_a_request_leaves_the_schemas_and_messages_untouched(wire: str) -> None:
    before = as_text([message_json(message) for message in TALK]), as_text(TOOL.parameters), as_text(FORM.schema)
    REQUESTS[wire](ASKED)
    after = as_text([message_json(message) for message in TALK]), as_text(TOOL.parameters), as_text(FORM.schema)
    assert before == after


@pytest.mark.parametrize(
    "wire, block",
    [
        ("chat", Video(url="https://x/v")),
        ("chat", Image(file_id="f")),
        ("chat", Audio(url="https://x/a")),
        ("responses", Audio(base64=PIXEL, mime_type="audio/wav")),
        ("anthropic", Audio(base64=PIXEL, mime_type="audio/wav")),
        ("anthropic", File(base64=PIXEL, mime_type="text/csv")),
        ("ollama", File(url="https://x/f")),
        ("ollama", Image(url="https://x/i")),
    ],
)
def test_a_block_that_a_wire_cannot_carry_is_refused_and_named(wire: str, block: Any) -> None:
    with pytest.raises(ValidationError, match=type(block).__name__):
        REQUESTS[wire](Request((user("x", block),)))


@pytest.mark.parametrize("wire", sorted(REQUESTS))
def test_pictures_in_a_tools_result_arrive(wire: str) -> None:
    result = Message("tool", (Text("see"), Image(base64=PIXEL, mime_type="image/png")), tool_call_id="c1")
    talk = (user("x"), assistant(ToolCall("draw", {}, id="c1")), result)
    made = as_text(REQUESTS[wire](Request(talk)))
    assert PIXEL in made
    assert "see" in made


def _read(made: Answer) -> list[Any]:
    """The chunks of an answer as its SDK reads them."""
    lines = [line.removeprefix("data: ") for line in b"".join(made.pieces).decode().splitlines()]
    return [json.loads(line) for line in lines if line.startswith("{")]


def _whole(wire: str) -> Reply:
    """Text in two pieces and two calls, as that wire says them; Gemini's SDK gives its chunks in other names."""
    calls: list[Call] = [("a1", "weather", {"city": "Lyon"}), ("b1", "now", {})]
    match wire:
        case "anthropic":
            return _ended(anthropic.Reader(), _read(answer("anthropic", ["Ye", "s."], calls)))
        case "chat":
            return _ended(chat.Reader("openai"), _read(answer("openai-chat", ["Ye", "s."], calls)))
        case "responses":
            return _ended(responses.Reader("openai"), _read(answer("openai", ["Ye", "s."], calls)))
        case "ollama":
            return _ended(ollama.Reader(), _read(answer("ollama", ["Ye", "s."], calls)))
        case _:
            return _ended(google.Reader(), _google_chunks("signature", bytes(range(8))))


@pytest.mark.parametrize("wire", sorted(REQUESTS))
def test_an_answer_is_read_as_the_golden_file_says(wire: str) -> None:
    """LAWFUL_GOLDEN=write writes the files anew."""
    reply = _whole(wire)
    told = {
        "message": json.loads(msgspec.json.encode(message_json(reply.message))),
        "finish": reply.finish,
        "usage": msgspec.to_builtins(reply.usage),
    }
    made = as_text(told)
    path = ROOT / "tests" / "data" / "models" / f"{wire}_reply.json"
    if os.environ.get("LAWFUL_GOLDEN") == "write":
        path.write_text(made, encoding="utf-8")
    assert made == path.read_text(encoding="utf-8")


# Private bytes: what a provider put beside a part comes back to it exactly, and to nobody else.


def _reply(reader: Any, chunks: list[Any]) -> Message:
    assembler = Assembler("m" * 32, "p", "x")
    for chunk in chunks:
        for piece in reader.feed(chunk):
            assembler.feed(piece)
    return assembler.end().reply.message


def _anthropic_chunks(signature: str, blob: bytes) -> list[Any]:
    start = {"type": "content_block_start"}
    delta = {"type": "content_block_delta"}
    return [
        {"type": "message_start", "message": {"id": "m", "model": "c", "usage": {"input_tokens": 3}}},
        {**start, "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
        {**delta, "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {**delta, "index": 0, "delta": {"type": "signature_delta", "signature": signature}},
        {"type": "content_block_stop", "index": 0},
        {**start, "index": 1, "content_block": {"type": "redacted_thinking", "data": signature[::-1]}},
        {"type": "content_block_stop", "index": 1},
        {**start, "index": 2, "content_block": {"type": "server_tool_use", "id": "s", "name": "web", "input": {}}},
        {**delta, "index": 2, "delta": {"type": "input_json_delta", "partial_json": '{"q":'}},
        {**delta, "index": 2, "delta": {"type": "input_json_delta", "partial_json": ' "x"}'}},
        {"type": "content_block_stop", "index": 2},
        {**start, "index": 3, "content_block": {"type": "text", "text": ""}},
        {**delta, "index": 3, "delta": {"type": "text_delta", "text": "Yes."}},
        {**delta, "index": 3, "delta": {"type": "citations_delta", "citation": {"url": signature}}},
        {"type": "content_block_stop", "index": 3},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    ]


def _responses_chunks(signature: str, blob: bytes) -> list[Any]:
    item = {
        "type": "reasoning",
        "id": "rs",
        "summary": [{"type": "summary_text", "text": "hm"}],
        "encrypted_content": signature,
    }
    other = {"type": "web_search_call", "id": "w", "status": "completed", "extra": signature}
    return [
        {"type": "response.created", "response": {"id": "r", "model": "g"}},
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "hm"},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 1, "item": other},
        {"type": "response.output_text.delta", "output_index": 2, "content_index": 0, "delta": "Yes."},
        {"type": "response.completed", "response": {"id": "r", "usage": {"input_tokens": 3, "output_tokens": 2}}},
    ]


def _chat_chunks(signature: str, blob: bytes) -> list[Any]:
    def chunk(delta: Any, finish: Any = None) -> Any:
        return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    return [
        chunk({"reasoning_content": "h", "reasoning_details": [{"data": signature}]}),
        chunk({"reasoning_content": "m"}),
        chunk({"content": "Yes."}),
        chunk({}, "stop"),
    ]


def _google_chunks(signature: str, blob: bytes) -> list[Any]:
    def chunk(*parts: Any, **more: Any) -> Any:
        return {"candidates": [{"content": {"parts": list(parts)}, **more}]}

    return [
        chunk({"text": "hm", "thought": True}),
        chunk({"text": "Ye"}, {"text": "s.", "thought_signature": blob}),
        chunk({"function_call": {"name": "f", "args": {"a": 1}}, "thought_signature": blob[::-1]}),
        chunk({"executable_code": {"code": "1", "raw": blob}}),
        chunk(finish_reason="STOP"),
    ]


SENT: dict[str, tuple[Any, Callable[[str, bytes], list[Any]], str]] = {
    "anthropic": (anthropic.Reader, _anthropic_chunks, "anthropic"),
    "responses": (lambda: responses.Reader("openai"), _responses_chunks, "openai"),
    "chat": (lambda: chat.Reader("openrouter"), _chat_chunks, "openrouter"),
    "google": (google.Reader, _google_chunks, "google"),
}


def _again(wire: str, message: Message) -> str:
    """What is sent when the message is part of the next request; its calls are settled first."""
    settled = message
    for call in message.calls:
        settled = settled.with_outcome(call.id or "", "ok", "done")
    if wire == "chat":
        return as_text(chat.messages_json([user("x"), settled], "openrouter"))
    return as_text(REQUESTS[wire](Request((user("x"), settled, user("go on")))))


@pytest.mark.parametrize("wire", sorted(SENT))
@given(
    signature=st.text(alphabet=st.characters(codec="utf-8"), min_size=6, max_size=40),
    blob=st.binary(min_size=6, max_size=40),
)
def test_private_bytes_come_back_exact_through_json_and_to_nobody_else(wire: str, signature: str, blob: bytes) -> None:
    signature = f"sig:{signature}"
    blob = b"sig:" + blob
    reader, chunks, tag = SENT[wire]
    message = _reply(reader(), chunks(signature, blob))
    assert message.text.replace("\n", "") == "Yes."
    stored = message_from_json(
        json.loads(json.dumps(message_json(message), default=lambda b: base64.b64encode(b).decode()))
    )
    assert isinstance(stored, Message)
    assert stored == message
    told = json.dumps(signature)[1:-1] if wire != "google" else base64.b64encode(blob).decode()
    assert told in _again(wire, stored)
    if wire == "google":
        assert base64.b64encode(blob[::-1]).decode() in _again(wire, stored)
    for other in set(SENT) - {wire}:
        assert told not in _again(other, stored), other
    assert tag in {held.provider for block in message.content for held in block.private} | {
        held.provider for held in message.private
    }


def test_thoughts_go_back_where_they_came_from() -> None:
    reader, chunks, _ = SENT["chat"]
    message = _reply(reader(), chunks("s", b""))
    assert [type(block) for block in message.content] == [Reasoning, Text]
    assert chat.messages_json([user("x"), message], "openrouter")[1]["reasoning_content"] == "hm"
    assert "reasoning_content" not in chat.messages_json([user("x"), message], "openai")[1]


def test_a_servers_own_blocks_come_back_whole() -> None:
    message = _reply(anthropic.Reader(), _anthropic_chunks("s", b""))
    [own] = [block for block in message.content if isinstance(block, NonStandard)]
    assert own.value == {"type": "server_tool_use", "id": "s", "name": "web", "input": {"q": "x"}}
    assert [block.annotations for block in message.content if isinstance(block, Text)] == [[{"url": "s"}]]
    _, turns = anthropic.messages_json([user("x"), message])
    assert [part["type"] for part in turns[1]["content"]] == [
        "thinking",
        "redacted_thinking",
        "server_tool_use",
        "text",
    ]


def test_usage_counts_the_cache_and_the_thoughts() -> None:
    told = anthropic.Reader()
    told.feed(
        {
            "type": "message_start",
            "message": {"usage": {"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 1}},
        }
    )
    [piece, _] = told.feed(
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}
    )
    assert getattr(piece, "usage", None) == Usage(7, 9, cached=4)
    assert chat.usage_of(
        {"prompt_tokens": 5, "completion_tokens": 7, "completion_tokens_details": {"reasoning_tokens": 6}}
    ) == (Usage(5, 7, reasoning=6))
    assert google.usage_of({"prompt_token_count": 5, "candidates_token_count": 2, "thoughts_token_count": 3}) == (
        Usage(5, 5, reasoning=3)
    )
    assert responses.usage_of(
        {"input_tokens": 5, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 4}}
    ) == (Usage(5, 2, cached=4))


def test_a_blocked_prompt_and_a_refusal_end_as_filtered() -> None:
    blocked = _ended(google.Reader(), [{"prompt_feedback": {"block_reason": "SAFETY"}}])
    refused = _ended(anthropic.Reader(), [{"type": "message_delta", "delta": {"stop_reason": "refusal"}, "usage": {}}])
    incomplete = {"id": "r", "incomplete_details": {"reason": "content_filter"}}
    cut = _ended(responses.Reader("openai"), [{"type": "response.incomplete", "response": incomplete}])
    assert {blocked.finish, refused.finish, cut.finish} == {"content_filter"}


def _ended(reader: Any, chunks: list[Any]) -> Reply:
    assembler = Assembler("m" * 32, "p", "x")
    for chunk in chunks:
        for piece in reader.feed(chunk):
            assembler.feed(piece)
    return assembler.end().reply


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ["choices", "delta", "type", "index", "content", "tool_calls", "message", "candidates", "done", "usage"]
)


@given(st.dictionaries(KEYS, JSON | st.dictionaries(KEYS, JSON, max_size=3), max_size=5))
def test_no_chunk_breaks_a_reader_other_than_as_the_adapter_expects(chunk: dict[str, Any]) -> None:
    for reader in (chat.Reader("p"), responses.Reader("p"), anthropic.Reader(), google.Reader(), ollama.Reader()):
        try:
            reader.feed(chunk)
        except (KeyError, TypeError, AttributeError, ValueError):
            continue
