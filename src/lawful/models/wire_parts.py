"""What the wires of several providers have in common: settings that were given, functions, schemas, alternating turns; pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lawful.core.messages import Block, InvalidToolCall, Message, ToolCall
from lawful.models.plain_json import JSON
from lawful.models.schemas import is_open, plain, strict
from lawful.models.settings import ModelConfig
from lawful.models.transcript import Result, Said, as_text, closed
from lawful.models.values import OutputSpec, ToolSpec


def given(config: ModelConfig, *names: str) -> JSON:
    """Those of these settings that somebody set."""
    return {name: value for name in names if (value := getattr(config, name)) is not None}


def function(tool: ToolSpec, *, strictly: bool = False) -> JSON:
    """A tool as OpenAI's wires, and those made after them, describe a function."""
    parameters = (strict if strictly else plain)(tool.parameters).schema
    return {"name": tool.name, "description": tool.description, "parameters": parameters}


def form(output: OutputSpec) -> JSON:
    """The name, schema and strictness of an answer's form; an object with fields of any name cannot be closed, so that
    its schema is a wish, which we check."""
    held = not is_open(output.schema)
    return {"name": output.name, "schema": (strict if held else plain)(output.schema).schema, "strict": held}


def arguments(call: ToolCall | InvalidToolCall) -> str:
    """A call's arguments as JSON text; what is no JSON would be refused by many servers, and its result says what was wrong."""
    return as_text(call.args) if isinstance(call, ToolCall) else "{}"


def told(result: Result) -> str:
    """A result as text, where a wire has no mark for a failed one."""
    return f"Error: {result.text}" if result.failed and not result.text.startswith("Error") else result.text


def alternating(
    messages: Sequence[Message],
    *,
    assistant: str,
    field: str,
    text: Callable[[str], JSON],
    parts: Callable[[str, Block], list[JSON]],
    result: Callable[[Result], list[JSON]],
) -> tuple[list[str], list[JSON]]:
    """The instructions, which stand apart, and a conversation in which the user and the ``assistant`` take turns.

    What one of them says in a row is one entry, its parts under ``field``. Instructions that come later in the
    conversation stay in their place, as the user's ``text`` that says so.
    """
    instructions: list[str] = []
    made: list[JSON] = []

    def add(role: str, said: list[JSON]) -> None:
        if said and made and made[-1]["role"] == role:
            made[-1][field].extend(said)
        elif said:
            made.append({"role": role, field: said})

    for turn in closed(messages):
        message = turn.message
        if message.role in ("system", "developer"):
            if made:
                add("user", [text(f"<system>{message.text}</system>")])
            elif message.text.strip():
                instructions.append(message.text)
            continue
        role = assistant if message.role == "assistant" else "user"
        add(role, [part for block in message.content for part in parts(role, block)])
        if not isinstance(turn, Said):
            add("user", [part for one in turn.results for part in result(one)])
    return instructions, made
