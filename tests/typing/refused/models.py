"""One provider's settings at another, a setting that does not exist, and a structured answer of another type."""

from __future__ import annotations

from dataclasses import dataclass

from lawful.models import AnthropicConfig, AnthropicModel, GeminiConfig, OpenAIConfig, OpenAIModel, structured
from lawful.models.fake import Scripted


@dataclass(frozen=True)
class Advice:
    coat: bool


OpenAIModel("gpt-5").invoke("Hi", config=GeminiConfig())  # expect: "GeminiConfig" is not assignable to "OpenAIConfig"
OpenAIModel("gpt-5", config=AnthropicConfig())  # expect: "AnthropicConfig" is not assignable to "OpenAIConfig"
AnthropicModel("claude-opus-5").astream("Hi", config=OpenAIConfig())  # expect: "OpenAIConfig" is not assignable
OpenAIConfig(temprature=0.5)  # expect: No parameter named "temprature"
OpenAIConfig(reasoning_effort="much")  # expect: reasoning_effort
answer: str = structured(Scripted(""), Advice, "Coat?").value  # expect: "Advice" is not assignable to "str"
OpenAIModel("gpt-5").invoke(5)  # expect: "Literal[5]" is not assignable to type "Prompt"
