"""Tool calls through a JSON Schema: what is asked for, what is read, and an agent over a server that knows no tools."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful import Agent, tool
from lawful.core.messages import ToolCall, assistant, tool_result, user
from lawful.models import Only, OutputSpec, ToolSpec
from lawful.models.by_schema import CallsBySchema, as_schema, read_answer
from lawful.models.fake import Scripted, refuse_unmatched
from lawful.models.values import Request
from support.wire_server import WireServer
from support.wires import answer, made, there

pytestmark = pytest.mark.unit

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = ToolSpec("weather", "Today's weather in one city.", CITY)
CLOCK = ToolSpec("clock", "The time.")


def schema_of(request: Request) -> dict[str, Any]:
    found = as_schema(request).output
    assert found is not None
    return found.schema


def names(schema: dict[str, Any]) -> list[str]:
    """The tools that a schema lets a model call, and "answer" where it may answer."""
    options: list[Any] = schema.get("anyOf", [schema])
    return [one["properties"]["tool"]["const"] if "tool" in one["properties"] else "answer" for one in options]


def test_an_answer_is_a_call_of_one_of_the_tools_or_the_answer() -> None:
    """Rows: S0-045"""
    request = Request((user("Do I need a coat?"),), tools=(WEATHER, CLOCK))
    asked = as_schema(request)
    assert asked.tools == ()
    assert names(schema_of(request)) == ["weather", "clock", "answer"]
    told = asked.messages[0].text
    assert "weather: Today's weather in one city." in told
    assert '"city"' in told
    assert names(schema_of(Request(request.messages, request.tools, "required"))) == ["weather", "clock"]
    assert names(schema_of(Request(request.messages, request.tools, Only("clock")))) == ["clock"]
    assert as_schema(Request(request.messages, request.tools, "none")) == Request(request.messages)


def test_references_are_written_out_where_the_schema_is_put_into_another() -> None:
    place = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    parameters = {"type": "object", "properties": {"at": {"$ref": "#/$defs/Place"}}, "$defs": {"Place": place}}
    asked = schema_of(Request((user("?"),), tools=(ToolSpec("go", "", parameters),)))
    assert "$ref" not in json.dumps(asked)
    assert asked["anyOf"][0]["properties"]["args"]["properties"]["at"] == place


def test_calls_and_results_before_are_told_in_words_and_nothing_is_left_open() -> None:
    request = Request(
        (
            user("Coat?"),
            assistant(ToolCall("weather", {"city": "Oslo"}, id="a")),
            tool_result("a", "rain", name="weather"),
        ),
        tools=(WEATHER,),
    )
    asked = as_schema(request)
    refuse_unmatched(asked.messages)
    assert [message.role for message in asked.messages] == ["system", "user", "assistant", "user"]
    assert json.loads(asked.messages[2].text) == {"tool": "weather", "args": {"city": "Oslo"}}
    assert asked.messages[3].text == "Result of weather: rain"


async def test_a_call_and_an_answer_are_read_and_streamed_as_such() -> None:
    """Rows: S0-045"""
    said = [json.dumps({"tool": "weather", "args": {"city": "Oslo"}}), json.dumps({"answer": "Yes, a coat."})]
    model = CallsBySchema(Scripted(*said, chunks=5))
    reply = await model.ainvoke("Coat?", tools=[WEATHER])
    assert [(call.name, call.args) for call in reply.calls] == [("weather", {"city": "Oslo"})]
    assert (reply.finish, reply.text) == ("tool_calls", "")
    async with model.astream("Coat?", tools=[WEATHER]) as stream:
        assert "".join([text async for text in stream.text()]) == "Yes, a coat."
    assert stream.reply.finish == "stop"


async def test_without_tools_it_is_the_model_itself() -> None:
    inner = Scripted("Hello.")
    assert (await CallsBySchema(inner).ainvoke("Hi")).text == "Hello."
    assert inner.requests[0] == Request((inner.requests[0].messages[0],))


def test_an_output_of_a_form_beside_tools() -> None:
    coat = {"type": "object", "properties": {"coat": {"type": "boolean"}}, "required": ["coat"]}
    request = Request((user("Coat?"),), tools=(WEATHER,), output=OutputSpec(coat))
    assert schema_of(request)["anyOf"][-1]["properties"]["answer"] == coat
    [piece] = read_answer('{"answer": {"coat": true}}', request, 1)
    assert json.loads(piece.text) == {"coat": True}


@given(st.text() | st.recursive(st.none() | st.booleans() | st.text(), st.lists).map(json.dumps))
def test_what_is_not_of_the_form_is_told_as_the_text_it_is(text: str) -> None:
    request = Request((user("?"),), tools=(WEATHER,))
    assert [piece.text for piece in read_answer(text, request, 1)] == [text]


@pytest.mark.skipif(not there("openai-chat"), reason="needs the package openai")
def test_an_agent_over_a_server_that_knows_no_tools() -> None:
    """Rows: S0-045"""

    @tool
    def weather(city: str, unit: Literal["C", "F"] = "C") -> str:
        """Today's weather in one city."""
        return f"rain in {city}"

    said = [json.dumps({"tool": "weather", "args": {"city": "Oslo", "unit": "C"}}), json.dumps({"answer": "A coat."})]
    wire = "openai-chat"
    with (
        WireServer(*(answer(wire, [text[:9], text[9:]]) for text in said)) as server,
        made(wire, server.url, provider="local") as inner,
    ):
        found = Agent(CallsBySchema(inner), tools=[weather]).invoke("Do I need a coat in Oslo?")
    assert found.text == "A coat."
    assert [m.text for m in found.messages if m.role == "tool"] == ["rain in Oslo"]
    for _, body in server.journal:
        assert "tools" not in body
        assert body["response_format"]["type"] == "json_schema"
    assert "Result of weather: rain in Oslo" in json.dumps(server.journal[1][1])
