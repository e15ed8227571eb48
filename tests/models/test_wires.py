"""Each official SDK against a server that speaks its wire: answers, tools, every way to fail, and how many calls arrived."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from lawful.core.errors import Failure, NetworkError
from lawful.core.llm_errors import (
    ContextTooLong,
    KeyRefused,
    MalformedReply,
    ModelTimeout,
    ProviderFailed,
    RateLimited,
    RequestRefused,
    StreamBroken,
)
from lawful.core.messages import Image, tool_result, user
from lawful.models import Completed, Only, OutputSpec, TextDelta, ToolSpec, Usage
from support.wire_server import Answer, WireServer
from support.wires import QUICK, SDKS, Call, answer, begun, made, malformed, refused, there

pytestmark = pytest.mark.integration

WIRES = [
    pytest.param(wire, marks=pytest.mark.skipif(not there(wire), reason=f"needs the package {SDKS[wire]}"))
    for wire in SDKS
]
wires = pytest.mark.parametrize("wire", WIRES)

WEATHER = ToolSpec(
    "weather",
    "Today's weather in one city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
NOW = ToolSpec("now", "The time.")


@wires
def test_a_text_is_answered(wire: str) -> None:
    """Rows: S0-045."""
    with WireServer(answer(wire, ["Hel", "lo"])) as server, made(wire, server.url) as model:
        reply = model.invoke([("system", "Be kind."), ("user", "Hi")])
    assert (reply.text, reply.finish, reply.usage) == ("Hello", "stop", Usage(7, 5))
    assert len(server.journal) == 1
    assert "Be kind." in json.dumps(server.journal[0][1])


@wires
async def test_a_text_is_streamed_as_it_comes(wire: str) -> None:
    """Rows: S0-042, S0-045."""
    with WireServer(answer(wire, ["Hel", "lo"])) as server:
        async with made(wire, server.url) as model, model.astream("Hi") as stream:
            deltas = [delta async for delta in stream]
    assert [delta.text for delta in deltas if isinstance(delta, TextDelta)] == ["Hel", "lo"]
    assert deltas[-1] == Completed(stream.reply)


@wires
def test_tools_are_called_and_their_results_go_back(wire: str) -> None:
    """Rows: S0-045. Cases: A16."""
    calls: list[Call] = [("a1", "weather", {"city": "Lyon"}), ("b1", "now", {})]
    with (
        WireServer(answer(wire, ["Let me see."], calls), answer(wire, ["fair at noon"])) as server,
        made(wire, server.url) as model,
    ):
        question = user("Weather and time?")
        first = model.invoke([question], tools=[WEATHER, NOW])
        results = [tool_result(call.id or "", text) for call, text in zip(first.calls, ["fair", "noon"], strict=True)]
        second = model.invoke([question, first.message, *results], tools=[WEATHER, NOW])
        settled = first.message
        for call, text in zip(first.calls, ["fair", "noon"], strict=True):
            settled = settled.with_outcome(call.id or "", "ok", text)
        server.answers.append(answer(wire, ["the same"]))
        model.invoke([question, settled], tools=[WEATHER, NOW])
    assert [(call.name, call.args) for call in first.calls] == [("weather", {"city": "Lyon"}), ("now", {})]
    assert (first.text, first.finish, second.text) == ("Let me see.", "tool_calls", "fair at noon")
    # A call that bears its outcome, and a tool message after it, are the same to the provider.
    assert server.journal[1] == server.journal[2]
    sent = json.dumps(server.journal[1][1])
    assert sent.index("Let me see.") < sent.index("fair") < sent.index("noon")


@wires
def test_the_schema_of_a_tool_arrives_and_a_choice_of_it(wire: str) -> None:
    """Rows: S0-044."""
    with WireServer(answer(wire, ["x"])) as server, made(wire, server.url) as model:
        model.invoke("Hi", tools=[WEATHER], tool_choice=Only("weather"))
    body = server.journal[0][1]
    assert '"required": ["city"]' in json.dumps(body)
    if wire != "ollama":
        assert "weather" in json.dumps(body.get("tool_choice") or body.get("toolConfig"))


@wires
def test_the_form_of_the_answer_arrives(wire: str) -> None:
    """Rows: S0-044."""
    schema = {"type": "object", "properties": {"coat": {"type": "boolean"}}, "required": ["coat"]}
    with WireServer(answer(wire, ['{"coat": true}'])) as server, made(wire, server.url) as model:
        reply = model.invoke("Hi", output=OutputSpec(schema))
    assert json.loads(reply.text) == {"coat": True}
    where = {
        "openai-chat": ("response_format", "json_schema", "schema"),
        "openai": ("text", "format", "schema"),
        "anthropic": ("output_config", "format", "schema"),
        "google": ("generationConfig", "responseJsonSchema"),
        "ollama": ("format",),
    }
    sent = server.journal[0][1]
    for key in where[wire]:
        sent = sent[key]
    assert sent["properties"] == schema["properties"]


@wires
def test_a_picture_arrives(wire: str) -> None:
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    with WireServer(answer(wire, ["a dot"])) as server, made(wire, server.url) as model:
        assert model.invoke([user("What is it?", Image(base64=pixel, mime_type="image/png"))]).text == "a dot"
    # One SDK writes base64 in the form for addresses.
    assert pixel.replace("+", "-") in json.dumps(server.journal[0][1]).replace("+", "-")


@wires
@pytest.mark.parametrize(
    "status, said, kind, retryable",
    [
        (429, "slow down", RateLimited, True),
        (500, "oops", ProviderFailed, True),
        (529, "overloaded", ProviderFailed, True),
        (401, "who are you", KeyRefused, False),
        (400, "no such field", RequestRefused, False),
        (400, "prompt is too long: 300000 tokens", ContextTooLong, False),
        (404, "no such model", RequestRefused, False),
    ],
)
def test_a_refusal_is_a_typed_error_and_one_call_arrived(
    wire: str, status: int, said: str, kind: type[Failure], retryable: bool
) -> None:
    """Rows: S0-045, S0-075."""
    text = f"{said} (key key-for-tests)"
    script = refused(wire, status, text, retry_after="2")
    with WireServer(script) as server, made(wire, server.url) as model, pytest.raises(Failure) as caught:
        model.invoke("Hi")
    error = caught.value
    assert (type(error), error.retryable) == (kind, retryable)
    assert said in error.message
    assert error.details["retry_after"] == "2"
    assert len(server.journal) == 1
    assert "key-for-tests" not in json.dumps(error.to_json())


@wires
def test_a_provider_that_recovers_is_asked_again_and_no_more_often_than_that(wire: str) -> None:
    """Rows: S0-045."""
    with (
        WireServer(
            refused(wire, 500, "oops"), refused(wire, 429, "wait", retry_after="0"), answer(wire, ["ok"])
        ) as server,
        made(wire, server.url, retry=QUICK) as model,
    ):
        assert model.invoke("Hi").text == "ok"
        assert len(server.journal) == 3
        server.answers += [refused(wire, 400, "never"), answer(wire, ["not asked"])]
        with pytest.raises(RequestRefused):
            model.invoke("Hi")
        assert len(server.journal) == 4


@wires
def test_a_lost_connection_says_what_had_come(wire: str) -> None:
    """Rows: S0-045."""
    with WireServer(begun(wire, ["par", "tial"])) as server, made(wire, server.url) as model:
        seen: list[str] = []
        with pytest.raises(StreamBroken) as caught, model.stream("Hi") as stream:
            seen.extend(stream.text())
    assert seen == ["par", "tial"]
    assert caught.value.details["text"] == "partial"
    assert caught.value.retryable
    assert len(server.journal) == 1


@wires
def test_an_answer_that_stops_without_an_end_is_broken_too(wire: str) -> None:
    part = begun(wire, ["par"])
    script = Answer(part.pieces, kind=part.kind)
    with WireServer(script) as server, made(wire, server.url) as model, pytest.raises(StreamBroken):
        model.invoke("Hi")


@wires
def test_json_that_is_cut_is_a_malformed_reply(wire: str) -> None:
    """Rows: S0-045."""
    with WireServer(malformed(wire)) as server, made(wire, server.url) as model, pytest.raises(MalformedReply):
        model.invoke("Hi")
    assert len(server.journal) == 1


@wires
def test_nobody_there_is_a_network_error(wire: str) -> None:
    with WireServer() as server:
        url = server.url
    with made(wire, url) as model, pytest.raises(NetworkError) as caught:
        model.invoke("Hi")
    assert caught.value.retryable


@wires
async def test_leaving_the_stream_closes_the_connection_within_a_second(wire: str) -> None:
    """Rows: S0-054."""
    with WireServer(begun(wire, ["a", "b", "c"], hang=True)) as server:
        async with made(wire, server.url) as model:
            async with model.astream("Hi") as stream:
                await anext(stream)
                left = time.monotonic()
            assert await asyncio.to_thread(server.left_early.wait, 5)
            assert time.monotonic() - left < 1


@wires
async def test_a_provider_that_goes_silent_ends_at_the_deadline(wire: str) -> None:
    """Rows: S0-045."""
    with WireServer(answer(wire, ["there"]), begun(wire, ["a"], hang=True)) as server:
        async with made(wire, server.url) as model:
            await model.ainvoke(
                "Are you there?"
            )  # a first request loads half an SDK, which is not the server's silence
            with pytest.raises(ModelTimeout):
                await model.ainvoke("Hi", config=model.config_class(timeout=0.2))
            assert await asyncio.to_thread(server.left_early.wait, 5)


@wires
def test_a_model_is_used_from_one_loop_after_another(wire: str) -> None:
    with WireServer(*[answer(wire, ["ok"])] * 3) as server, made(wire, server.url) as model:

        async def ask() -> str:
            async with model:
                return (await model.ainvoke("Hi")).text

        assert [asyncio.run(ask()), asyncio.run(ask()), model.invoke("Hi").text] == ["ok"] * 3
