"""Models without a network: the demo that reads schemas, recorder and replayer, and faults as told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful.core.errors import ConfigurationError, NetworkError
from lawful.core.llm_errors import ProviderFailed, RateLimited, StreamBroken
from lawful.core.messages import Image, Message, Private, Reasoning, Text, ToolCall, assistant, tool_result, user
from lawful.core.retry import RetryPolicy
from lawful.models import Only, OutputSpec, ToolSpec, structured
from lawful.models.cassette import NotRecorded, Recorder, Replayer
from lawful.models.demo import SAYS, Demo, fill
from lawful.models.fake import Scripted
from lawful.models.faults import Drop, Faulty, Malformed, Refuse, Status

pytestmark = [pytest.mark.unit, pytest.mark.property]

WEATHER = ToolSpec(
    "weather",
    "Today's weather in one city.",
    {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer", "minimum": 1},
            "unit": {"enum": ["C", "F"]},
        },
        "required": ["city", "days"],
    },
)
TIME = ToolSpec("clock", "The time of day.")


def test_the_demo_says_what_it_is_and_calls_the_tool_that_fits() -> None:
    model = Demo()
    assert SAYS in model.invoke("Hello").text
    asked = user("What will the weather be in Lyon for 3 days?")
    reply = model.invoke([asked], tools=[TIME, WEATHER])
    assert [(call.name, call.args) for call in reply.calls] == [("weather", {"city": "Lyon", "days": 3})]
    answer = model.invoke([asked, reply.message, tool_result(reply.calls[0].id or "", "fair")], tools=[TIME, WEATHER])
    assert "fair" in answer.text
    assert SAYS in answer.text
    assert not answer.calls
    assert "rain" in model.invoke([asked, reply.message.with_outcome(reply.calls[0].id or "", "ok", "rain")]).text


def test_the_demo_keeps_to_the_choice_of_tools() -> None:
    model = Demo()
    assert not model.invoke("Tell me a joke", tools=[TIME]).calls
    assert model.invoke("Tell me a joke", tools=[TIME], tool_choice="required").calls
    assert model.invoke("weather", tools=[TIME, WEATHER], tool_choice=Only("clock")).calls[0].name == "clock"
    assert not model.invoke("the time of day", tools=[TIME], tool_choice="none").calls
    assert (
        model.invoke("weather in Lyon", tools=[WEATHER]).calls == model.invoke("weather in Lyon", tools=[WEATHER]).calls
    )


def test_the_demo_fills_a_form() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"coat": {"type": "boolean"}}, "required": ["coat"]}
    assert json.loads(Demo().invoke("Do I need a coat?", output=OutputSpec(schema)).text) == {"coat": True}
    assert structured(Demo(), list[int], "Give me 7").value == [7]


SCHEMAS = st.recursive(
    st.sampled_from(
        [
            {"type": "string"},
            {"type": "integer"},
            {"type": "number"},
            {"type": "boolean"},
            {"enum": [1, "a"]},
            {"const": 3},
        ]
    ),
    lambda inner: st.one_of(
        inner.map(lambda one: {"type": "array", "items": one}),
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3).map(
            lambda fields: {"type": "object", "properties": fields, "required": sorted(fields)}
        ),
        st.lists(inner, min_size=1, max_size=2).map(lambda options: {"anyOf": options}),
    ),
    max_leaves=6,
)


def _fits(value: Any, schema: dict[str, Any]) -> bool:
    if "anyOf" in schema:
        return any(_fits(value, one) for one in schema["anyOf"])
    if "const" in schema or "enum" in schema:
        return value in schema.get("enum", [schema.get("const")])
    kinds: dict[str, Any] = {"string": str, "integer": int, "number": (int, float), "boolean": bool}
    if schema["type"] == "array":
        return all(_fits(one, schema["items"]) for one in value)
    if schema["type"] == "object":
        return set(value) == set(schema["required"]) and all(_fits(value[k], schema["properties"][k]) for k in value)
    return isinstance(value, kinds[schema["type"]])


@given(SCHEMAS, st.text(max_size=30))
def test_what_the_demo_fills_in_fits_the_schema(schema: dict[str, Any], asked: str) -> None:
    assert _fits(fill(schema, asked), schema)


def test_a_recorded_conversation_is_replayed_the_same(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    private = (Private("anthropic", b"\x00\xff signature"),)
    thinking = assistant(Reasoning("hm", private=private), Text("See"), ToolCall("weather", {"city": "Lyon"}, id="c1"))
    picture = assistant(Image(base64="AAAA", mime_type="image/png"))
    inner = Scripted(thinking, "fair", picture, NetworkError("down"), chunks=2)

    def talk(model: Any) -> list[Message]:
        first = model.invoke("Weather?", tools=[WEATHER]).message
        own = first.calls[0].id
        second = model.invoke([user("Weather?"), first, tool_result(own, "fair")], tools=[WEATHER]).message
        return [first, second, model.invoke("Draw").message]

    recorded = talk(Recorder(inner, path))
    with pytest.raises(NetworkError):
        Recorder(inner, path).invoke("Fails")
    replayer = Replayer(path)
    assert [message.content for message in talk(replayer)] == [message.content for message in recorded]
    assert replayer.component_id == "scripted:script"
    with pytest.raises(NetworkError, match="down"):
        replayer.invoke("Fails")
    assert replayer.left == 0
    with pytest.raises(NotRecorded):
        replayer.invoke("Draw")


def test_no_secret_reaches_a_cassette(tmp_path: Path) -> None:
    """Rows: S0-075."""
    path = tmp_path / "talk.jsonl"
    key = "sk-" + "a1B2" * 8
    Recorder(Scripted(f"your key is {key}, and tea-time"), path, secrets=["tea-time"]).invoke(f"my key {key} tea-time")
    text = path.read_text(encoding="utf-8")
    assert key not in text
    assert "tea-time" not in text
    assert Replayer(path).invoke(f"my key {key} tea-time").text.startswith("your key is ***")


@pytest.mark.parametrize("text", [None, "no json", "[1]", '{"asked": 1}'])
def test_what_is_no_cassette_is_refused(text: str | None, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match="cassette"):
        Replayer(path)


def test_faults_come_in_their_order_and_then_all_goes_well() -> None:
    model = Faulty(Scripted("abc", "abc", "abc", chunks=1), Status(429, retry_after=2), Drop(2), Malformed(), None)
    with pytest.raises(RateLimited) as limited:
        model.invoke("x")
    assert limited.value.details["retry_after"] == "2"
    with pytest.raises(StreamBroken) as broken:
        model.invoke("x")
    assert broken.value.details["text"] == "ab"
    assert model.invoke("x").text == ""
    assert model.invoke("x").text == "abc"
    with pytest.raises(ProviderFailed):
        Faulty(Scripted(), Refuse(ProviderFailed("gone"))).invoke("x")
    retrying = Faulty(Scripted("ok"), Status(500), retry=RetryPolicy(initial_interval=0, jitter=False))
    assert retrying.invoke("x").text == "ok"
    assert retrying.calls == 2


def test_a_malformed_call_is_kept_as_an_invalid_one() -> None:
    reply = Faulty(Scripted(ToolCall("weather", {"city": "Lyon"}, id="c")), Malformed()).invoke("x")
    assert [call.args for call in reply.invalid_calls] == ['{"city":"Lyon"']
