"""A model takes its own settings, a structured answer has its type, a chat step is a pipeline of texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_type

from lawful.models import (
    ChatModel,
    Completed,
    OpenAIConfig,
    OpenAIModel,
    Reply,
    ResponsesModel,
    TextDelta,
    astructured,
    chat,
    structured,
)
from lawful.models.fake import Scripted
from lawful.pipeline import Pipeline, pure


@dataclass(frozen=True)
class Advice:
    coat: bool


model: ChatModel[OpenAIConfig] = OpenAIModel("gpt-5", config=OpenAIConfig(temperature=0, reasoning_effort="low"))
assert_type(model.invoke("Hi", config=OpenAIConfig(max_tokens=5)), Reply)
assert_type(structured(ResponsesModel("gpt-5"), Advice, "Coat?").value, Advice)
assert_type(pure(str.strip) >> (chat("openai:gpt-5") | chat("ollama:qwen3")), Pipeline[str, str])
many = Scripted("a").batch(["x"])


async def talk() -> bool:
    async with model.astream([("user", "Hi")]) as stream:
        async for delta in stream:
            match delta:
                case TextDelta(text):
                    assert_type(text, str)
                case Completed(reply):
                    assert_type(reply, Reply)
                case _:
                    pass
    return (await astructured(model, Advice, "Coat?")).value.coat
