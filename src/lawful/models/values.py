"""What is asked of a model and what it answers: plain values that every provider's translator reads and makes."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from lawful.core.events import Usage as Usage
from lawful.core.messages import InvalidToolCall, Message, Reasoning, ToolCall

JSONSchema: TypeAlias = dict[str, Any]
"""A JSON Schema as its author wrote it; never changed in place, only translated for a provider on the way out."""

FinishReason: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter", "other"]
"""Why a model ended: it was done; its budget of tokens was; it calls tools; it was stopped by a filter; something else."""


def no_parameters() -> JSONSchema:
    """The schema of a tool that takes nothing."""
    return {"type": "object", "properties": {}}


class ToolSpec(Struct, frozen=True):
    """A tool as a model sees it."""

    name: str
    """1 to 64 letters, digits, ``_`` and ``-``: what every provider takes."""
    description: str = ""
    parameters: JSONSchema = field(default_factory=no_parameters)
    """The JSON Schema of its arguments, an object; kept untouched."""


class Only(Struct, frozen=True):
    """The model must call the tool of this name."""

    name: str


ToolChoice: TypeAlias = Literal["auto", "none", "required"] | Only
"""Whether the model may, must not or must call a tool."""


class OutputSpec(Struct, frozen=True):
    """The form that the answer must have, for providers that hold a model to a JSON Schema."""

    schema: JSONSchema
    name: str = "answer"
    description: str = ""


class Request(Struct, frozen=True):
    """One turn asked of a model: everything but the settings of its provider."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = "auto"
    output: OutputSpec | None = None
    quiet: bool = False
    """Whether nothing of the call is told to who listens to the run: it is not for the reader, or not yet."""


class Reply(Struct, frozen=True):
    """What a model answered, and what it took."""

    message: Message
    """Of the role assistant; its id is the ``span`` of the events that told of it."""
    provider: str = ""
    model: str = ""
    """As the provider names what answered, which may be more exact than what was asked for."""
    usage: Usage = Usage()
    finish: FinishReason = "stop"
    response_id: str | None = None
    """The provider's own id of this answer."""

    @property
    def text(self) -> str:
        """The text of the answer; several blocks of text are joined by newlines."""
        return self.message.text

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tools that it calls, in order."""
        return self.message.calls

    @property
    def invalid_calls(self) -> tuple[InvalidToolCall, ...]:
        """Calls whose arguments are no JSON object."""
        return tuple(block for block in self.message.content if isinstance(block, InvalidToolCall))

    @property
    def reasoning(self) -> str:
        """What it thought aloud, joined by newlines."""
        return "\n".join(block.reasoning for block in self.message.content if isinstance(block, Reasoning))


class Profile(Struct, frozen=True, kw_only=True):
    """What a model can do. None: not known, and then it is tried."""

    context: int | None = None
    """Tokens that request and answer may have together."""
    output: int | None = None
    """Tokens that one answer may have."""
    tools: bool = True
    schema: bool = True
    """Whether it can be held to a JSON Schema; if not, a tool or the prompt must do."""
    images: bool | None = None
    audio: bool | None = None
    files: bool | None = None
    reasoning: bool | None = None
