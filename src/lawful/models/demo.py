"""A stand-in that needs no key: it reads the conversation and the tools' schemas, follows plain rules, and says what it is."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any, ClassVar, Final

from lawful.core.messages import Message
from lawful.models.pieces import AboutPiece, CallPiece, FinishPiece, Piece, TextPiece, UsagePiece
from lawful.models.plain_json import items, table
from lawful.models.port import ChatModel
from lawful.models.settings import ModelConfig
from lawful.models.values import JSONSchema, Only, Profile, Request, ToolSpec, Usage

SAYS: Final = "(demo model: no language model, plain rules only)"
_WORDS: Final = re.compile(r"[A-Za-z][A-Za-z']+|\d+(?:\.\d+)?")
_QUOTED: Final = re.compile(r"[\"“‘']([^\"”’']+)[\"”’']")
_PASSAGE: Final = re.compile(r'<passage mark="(p\d+)"[^>]*>\n(.*?)\n</passage>', re.DOTALL)
_QUESTION: Final = re.compile(r"<question>\n(.*?)\n</question>", re.DOTALL)
_STOP: Final = frozenset(
    _WORDS.findall(
        "an and are at be by can did do does for from give how in is it me my need of on or please should tell that the this"
        " to today was what which who will with would you your"
    )
)


class Demo(ChatModel[ModelConfig]):
    """Chooses a tool by the words that the question shares with its name and description, fills its arguments from the
    question, and tells what came of it. The same question always gets the same answer.
    """

    immediate: ClassVar[bool] = True
    config_class = ModelConfig

    def __init__(self) -> None:
        self.provider, self.name = "demo", "demo"
        self.config = ModelConfig()
        self.profile = Profile(images=False, audio=False, files=False, reasoning=False)

    @property
    def component_id(self) -> str:
        return "demo"

    async def pieces(self, request: Request, config: ModelConfig) -> AsyncIterator[Piece]:
        yield AboutPiece("demo", "demo")
        asked = _asked(request.messages)
        results = _results(request.messages)
        tool = None if results or request.tool_choice == "none" else _tool(request, asked)
        if tool is not None:
            said = json.dumps(fill(tool.parameters, asked))
            yield CallPiece(0, f"demo_{len(request.messages)}", tool.name, said)
        else:
            said = (
                json.dumps(fill(request.output.schema, asked)) if request.output else _answer(asked, results, request)
            )
            for word in re.findall(r"\S+\s*|\s+", said):
                yield TextPiece(word)
        yield UsagePiece(Usage(sum(_count(message.text) for message in request.messages), _count(said)))
        yield FinishPiece("tool_calls" if tool is not None else "stop")


def _asked(messages: tuple[Message, ...]) -> str:
    return next((message.text for message in reversed(messages) if message.role == "user"), "")


def _results(messages: tuple[Message, ...]) -> list[tuple[str, str]]:
    """Tool and result of each call since the last question."""
    found: list[tuple[str, str]] = []
    names: dict[str | None, str] = {}
    for message in messages:
        if message.role == "user":
            found.clear()
        for call in message.calls:
            names[call.id] = call.name
            if call.state != "pending":
                found.append((call.name, call.output if isinstance(call.output, str) else json.dumps(call.output)))
        if message.role == "tool" and message.tool_call_id is not None:
            found.append((names.get(message.tool_call_id, message.name or "tool"), message.text))
    return found


def _tool(request: Request, asked: str) -> ToolSpec | None:
    if isinstance(request.tool_choice, Only):
        return next(tool for tool in request.tools if tool.name == request.tool_choice.name)
    heard = _stems(asked)
    # A word of a tool's name tells more than one of its description.
    scored = [
        (2 * len(heard & _stems(tool.name)) + len(heard & _stems(tool.description)), -n, tool)
        for n, tool in enumerate(request.tools)
    ]
    if not scored:
        return None
    score, _, best = max(scored, key=lambda entry: entry[:2])
    return best if score or request.tool_choice == "required" else None


def _stems(text: str) -> set[str]:
    words = re.sub(r"[_-]", " ", text).lower()
    return {word.rstrip("s").removesuffix("'") for word in _WORDS.findall(words)} - _STOP - {""}


def fill(schema: JSONSchema, asked: str) -> Any:
    """A value of the schema's form, from the words, numbers and quotations of ``asked``."""
    return _Filler(schema, asked).value(schema, "")


class _Filler:
    def __init__(self, root: JSONSchema, asked: str) -> None:
        self._root = root
        self._asked = asked
        self._numbers = [float(word) for word in _WORDS.findall(asked) if word[0].isdigit()]
        self._quoted = _QUOTED.findall(asked)
        self._names = re.findall(r"(?<=\s)[A-Z][\w-]+(?:\s+[A-Z][\w-]+)*", asked)

    def value(self, schema: JSONSchema, name: str, depth: int = 0) -> Any:
        if isinstance(schema.get("$ref"), str) and depth < 8:
            return self.value(self._resolved(schema["$ref"]), name, depth + 1)
        options = items(schema.get("anyOf")) or items(schema.get("oneOf"))
        if options:
            return self.value(table(options[0]), name, depth + 1)
        if "const" in schema:
            return schema["const"]
        if items(schema.get("enum")):
            return self._choice(items(schema["enum"]))
        kind = schema.get("type")
        return self._typed(kind[0] if isinstance(kind, list) else kind, schema, name, depth)  # pyright: ignore[reportUnknownArgumentType]

    def _typed(self, kind: Any, schema: JSONSchema, name: str, depth: int) -> Any:
        match kind:
            case "object":
                required = items(schema.get("required"))
                fields = table(schema.get("properties"))
                return {key: self.value(table(fields[key]), key, depth + 1) for key in fields if key in required}
            case "array":
                return [self.value(table(schema.get("items")), name, depth + 1)] if depth < 8 else []
            case "integer":
                return int(self._number(schema))
            case "number":
                return self._number(schema)
            case "boolean":
                return not re.search(r"\b(?:not|no|never)\b", self._asked, re.IGNORECASE)
            case "null":
                return None
            case _:
                return self._text()

    def _resolved(self, target: str) -> JSONSchema:
        node: Any = self._root
        for part in target.removeprefix("#/").split("/"):
            node = table(node).get(part)
        return table(node)

    def _choice(self, options: list[Any]) -> Any:
        lower = self._asked.lower()
        return next((one for one in options if str(one).lower() in lower), options[0])

    def _number(self, schema: JSONSchema) -> float:
        found = self._numbers.pop(0) if self._numbers else 1.0
        low, high = schema.get("minimum"), schema.get("maximum")
        found = max(found, low) if isinstance(low, int | float) else found
        return min(found, high) if isinstance(high, int | float) else found

    def _text(self) -> str:
        if self._quoted:
            return self._quoted.pop(0)
        if self._names:
            return self._names.pop(0)
        return self._asked.strip()


def _answer(asked: str, results: list[tuple[str, str]], request: Request) -> str:
    if results:
        told = "; ".join(f"{name} says: {text}" for name, text in results)
        return f"{told} {SAYS}"
    question, passages = _QUESTION.search(asked), _PASSAGE.findall(asked)
    if question is not None and passages:
        return _read(question[1], passages)
    about = f"You asked: {asked.strip()!r}." if asked.strip() else "You asked nothing."
    tools = f" I may use {', '.join(tool.name for tool in request.tools)}." if request.tools else ""
    return f"{about}{tools} {SAYS}"


def _read(question: str, passages: list[tuple[str, str]]) -> str:
    """Of the passages of a retrieval, the sentence that shares most words with the question, and the mark it has."""
    heard = _stems(question)
    sentences = [
        (len(heard & _stems(one)), one.strip(), mark)
        for mark, text in passages
        for one in re.split(r"(?<=[.!?])\s+|\n+", text)
    ]
    shared, sentence, mark = max(sentences, key=lambda found: found[0])
    return f"{sentence} [{mark}] {SAYS}" if shared else "The passages do not say."


def _count(text: str) -> int:
    return len(text.split())
