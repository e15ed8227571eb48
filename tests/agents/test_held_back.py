"""What a reader of an agent's stream may see: nothing that the rails have not passed, and nothing that was asked aside."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from lawful.agents import Agent
from lawful.agents.middleware import (
    ClassifierRail,
    Counsel,
    Guardrails,
    KeywordRail,
    ModelFallback,
    RegexRail,
    Summarize,
)
from lawful.core.errors import ValidationError
from lawful.core.messages import ToolCall, assistant
from lawful.models.fake import Scripted
from lawful.tools import tool

pytestmark = pytest.mark.unit


def call(id: str = "c1", **args: Any) -> ToolCall:
    return ToolCall(id=id, name="look", args=args)


@tool
def look(at: str) -> str:
    """Look at something."""
    return f"seen {at}"


class Slow:
    """A rail that takes its time and then refuses."""

    name = "slow"

    async def check(self, text: str) -> Any:
        await asyncio.sleep(0.05)
        return await KeywordRail("delete").check(text)


@pytest.mark.parametrize("way", ["text", "events", "messages", "async"])
def test_no_word_is_streamed_before_the_output_rails_have_passed_it(way: str) -> None:
    """Rows: S0-184; Cases: A13"""
    rails = [KeywordRail("secret")]

    def agent() -> Agent[str]:
        model = Scripted("the code is a secret", chunks=3)
        return Agent(model, middleware=[ModelFallback(Scripted("x")), Guardrails(output=rails)])

    seen: list[Any] = []

    async def read() -> None:
        async for piece in agent().astream_text("x"):
            seen.append(piece)

    ways: dict[str, Callable[[], Any]] = {
        "text": lambda: seen.extend(agent().stream_text("x")),
        "async": lambda: asyncio.run(read()),
        "events": lambda: seen.extend(agent().stream("x")),
        "messages": lambda: seen.extend(agent().graph.stream({"messages": ["x"]}, stream_mode="messages")),
    }
    with pytest.raises(ValidationError, match="guardrail on output"):
        ways[way]()
    assert "the code" not in repr(seen)


def test_what_passed_is_streamed_as_the_rails_left_it_and_once() -> None:
    """Rows: S0-184"""
    mask = RegexRail(r"\d{4}", replace="****")

    def agent() -> Agent[str]:
        first = assistant("Code 1234.", call(at="a"))
        return Agent(Scripted(first, "Still 1234.", chunks=2), tools=[look], middleware=[Guardrails(output=[mask])])

    assert list(agent().stream_text("x")) == ["Code ****.", "Still ****."]
    events = list(agent().stream("x"))
    kinds = [type(e).__name__ for e in events if hasattr(e, "span") and "Node" not in type(e).__name__]
    assert kinds == [
        *("LLMStarted", "LLMChunk", "ToolStarted", "ToolArguments", "ToolCalled", "LLMEnded"),
        *("ToolEnded", "LLMStarted", "LLMChunk", "LLMEnded"),
    ]
    pieces = [chunk for chunk, _ in agent().graph.stream({"messages": ["x"]}, stream_mode="messages")]
    said = "".join(chunk.text for chunk in pieces if getattr(chunk, "role", "assistant") == "assistant")
    assert said == "Code ****.Still ****."


def test_an_advisory_guard_holds_the_answer_back_too() -> None:
    """Cases: A13"""
    seen: list[str] = []
    agent = Agent(Scripted("early words", chunks=2), middleware=[Guardrails(input=[Slow()], advisory=True)])
    with pytest.raises(ValidationError, match="input"):
        seen.extend(agent.stream_text("please delete it"))
    assert seen == []


def test_what_is_asked_aside_is_not_read_as_the_answer() -> None:
    classifier, counselor, chronicler = Scripted("no"), Scripted(*["Try another."] * 9), Scripted(*["a summary"] * 9)
    inner = Agent(Scripted("inner words"), name="scout")
    model = Scripted(
        call("c1", at="a"), call("c2", at="a"), ToolCall(id="c3", name="scout", args={"task": "t"}), "the answer"
    )
    agent = Agent(
        model,
        tools=[look, inner.as_tool()],
        middleware=[
            Guardrails(input=[ClassifierRail(classifier, "Is it rude?")]),
            Counsel(2, counselor=counselor),
            Summarize(10, keep=2, model=chronicler),
        ],
    )
    assert list(agent.stream_text("x" * 20)) == ["the answer"]
    assert classifier.left == 0
    assert counselor.left < 9
    assert chronicler.left < 9
