"""Answers of a form: how a model is asked for one, how its answer is read, and how it is told what is wrong with it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar, cast

import msgspec

from lawful.core.errors import ConfigurationError, ParsingError
from lawful.core.lazy import late
from lawful.core.llm_errors import ContentFiltered, OutputInvalid
from lawful.core.messages import InvalidToolCall, Message, Text, tool_result, user
from lawful.core.result import Err, Ok, Result
from lawful.models.port import ChatModel, Prompt
from lawful.models.portal import no_loop_here
from lawful.models.prompt import request_of
from lawful.models.schemas import is_open, plain, without_nulls
from lawful.models.settings import ModelConfig
from lawful.models.values import JSONSchema, Only, OutputSpec, Profile, Reply, Request, ToolSpec, Usage

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Mode: TypeAlias = Literal["schema", "tool", "prompt"]
"""By a schema that the provider holds the model to; by a tool whose arguments are the answer; by words alone."""
ATTEMPTS: Final = 3
"""Answers that a model may give until one is of the form asked for, the first included."""
_FENCE: Final = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)
_VALUE: Final = "value"


@dataclass(frozen=True)
class OutputForm(Generic[T_co]):
    """A form of answers: a type, its schema, and the mode in which a model is asked for it; pure."""

    kind: Any
    """A dataclass, a pydantic model, or any type that pydantic can check."""
    mode: Mode
    name: str
    description: str
    schema: JSONSchema
    """Always an object's; another type stands in it under "value"."""
    wrapped: bool

    def ask(self, request: Request) -> Request:
        """The request, asking for this form too. Beside other tools a model may still call those first."""
        match self.mode:
            case "schema":
                return msgspec.structs.replace(request, output=OutputSpec(self.schema, self.name, self.description))
            case "tool":
                own = ToolSpec(self.name, self.description or "Give the answer.", self.schema)
                choice: Any = "required" if request.tools else Only(self.name)
                return msgspec.structs.replace(request, tools=(*request.tools, own), tool_choice=choice)
            case "prompt":
                told = f"Answer with JSON of this schema, and nothing else:\n{json.dumps(plain(self.schema).schema)}"
                messages = (*request.messages[:-1], _told(request.messages[-1], told))
                return msgspec.structs.replace(request, messages=messages)

    def read(self, reply: Reply) -> Result[T_co, ParsingError]:
        """The answer, checked without coercion; or what is wrong with it, in words for the model."""
        given = self._given(reply)
        if isinstance(given, Err):
            return given
        value = without_nulls(given.value, plain(self.schema).schema)
        if self.wrapped:
            if not isinstance(value, dict) or _VALUE not in value:
                return _wrong(f'the answer must be an object with "{_VALUE}"', json.dumps(given.value))
            value = cast("dict[str, Any]", value)[_VALUE]
        try:
            return Ok(_adapter(self.kind).validate_json(json.dumps(value), strict=True))
        except late("pydantic").ValidationError as error:
            return _wrong(_faults(error), json.dumps(given.value))

    def again(self, request: Request, reply: Reply, error: ParsingError) -> Request:
        """The request with the answer that was wrong and what was wrong with it."""
        told = f"That was not of the form asked for: {error.message}. Answer again, in that form."
        calls = [(block.id or "", block.name or "") for block in (*reply.calls, *reply.invalid_calls)]
        results = [tool_result(own, told if name == self.name else "not run", name=name) for own, name in calls]
        if not any(name == self.name for _, name in calls):
            results.append(user(told))
        return msgspec.structs.replace(request, messages=(*request.messages, reply.message, *results))

    def _given(self, reply: Reply) -> Result[Any, ParsingError]:
        if self.mode == "tool":
            for block in reply.message.content:
                if isinstance(block, InvalidToolCall) and block.name == self.name:
                    return _wrong(block.error or "the arguments are not JSON", block.args or "")
            found = next((call.args for call in reply.calls if call.name == self.name), None)
            return (
                Ok(found) if found is not None else _wrong(f"call the tool {self.name!r} with the answer", reply.text)
            )
        text = reply.text.strip()
        fenced = _FENCE.search(text)
        try:
            return Ok(msgspec.json.decode(fenced[1] if fenced and self.mode == "prompt" else text))
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
            cut = "; it was cut off, be shorter" if reply.finish == "length" else ""
            return _wrong(f"the answer is not JSON ({error}){cut}", text)


@dataclass(frozen=True)
class Structured(Generic[T_co]):
    """An answer of the form asked for."""

    value: T_co
    reply: Reply
    """The answer that was right."""
    usage: Usage
    """The tokens of all attempts."""
    attempts: int


def form_of(
    kind: type[T], profile: Profile = Profile(), mode: Mode | Literal["auto"] = "auto", name: str = ""
) -> OutputForm[T]:
    """How to ask a model of that profile for a ``kind``: by schema where it can be held to one, else by tool, else by words.

    Raises: ConfigurationError for a type that has no JSON Schema.
    """
    schema = cast("JSONSchema", _adapter(kind).json_schema())
    # What cannot be closed cannot be decoded under a grammar, but a tool may be given it.
    by_schema = profile.schema and not (profile.tools and is_open(schema))
    chosen: Mode = mode if mode != "auto" else "schema" if by_schema else "tool" if profile.tools else "prompt"
    wrapped = schema.get("type") != "object" and "$ref" not in schema
    if wrapped:
        definitions = {"$defs": schema.pop("$defs")} if "$defs" in schema else {}
        schema = {"type": "object", "properties": {_VALUE: schema}, "required": [_VALUE], **definitions}
    own = re.sub(r"[^A-Za-z0-9_-]", "_", name or getattr(kind, "__name__", "answer"))[:64] or "answer"
    return OutputForm(kind, chosen, own, str(schema.get("description") or ""), schema, wrapped)


async def astructured(
    model: ChatModel[Any],
    kind: type[T],
    prompt: Prompt,
    *,
    mode: Mode | Literal["auto"] = "auto",
    attempts: int = ATTEMPTS,
    config: ModelConfig | None = None,
) -> Structured[T]:
    """The model's answer as a ``kind``: ``(await astructured(model, Advice, "Do I need a coat?")).value``.

    An answer of another form goes back to the model with what is wrong with it, until ``attempts`` answers were given.

    Raises: OutputInvalid, with the last answer, what was wrong with it, and the tokens of all; ContentFiltered, if the
    model refuses; and what `ChatModel` says.
    """
    if attempts < 1:
        raise ConfigurationError(f"attempts must be at least 1, not {attempts}", component="models", operation="output")
    form = form_of(kind, model.profile, mode)
    request = form.ask(request_of(prompt))
    usage = Usage()
    attempt = 1
    while True:
        reply = await model.ainvoke(request, config=config)
        usage = usage + reply.usage
        if reply.finish == "content_filter":
            raise ContentFiltered(
                f"{model.component_id} would not answer: {reply.text[:200]}", component="models", operation="output"
            )
        match form.read(reply):
            case Ok(value):
                return Structured(value, reply, usage, attempt)
            case Err(error):
                if attempt >= attempts:
                    raise _given_up(model.component_id, form, error, attempt, usage) from error
                request = form.again(request, reply, error)
                attempt += 1


def structured(
    model: ChatModel[Any],
    kind: type[T],
    prompt: Prompt,
    *,
    mode: Mode | Literal["auto"] = "auto",
    attempts: int = ATTEMPTS,
    config: ModelConfig | None = None,
) -> Structured[T]:
    """As `astructured`, in sync code."""
    no_loop_here("structured", "astructured")
    return model.run_sync(astructured(model, kind, prompt, mode=mode, attempts=attempts, config=config))


def _given_up(where: str, form: OutputForm[Any], error: ParsingError, attempts: int, usage: Usage) -> OutputInvalid:
    return OutputInvalid(
        f"{where} gave no {form.name} in {attempts} answers; the last: {error.message}",
        component="models",
        operation="output",
        details={
            "output": error.details.get("output", ""),
            "errors": error.message,
            "attempts": str(attempts),
            "prompt_tokens": str(usage.prompt),
            "completion_tokens": str(usage.completion),
        },
    )


def _told(message: Message, told: str) -> Message:
    if message.role == "user":
        return msgspec.structs.replace(message, content=(*message.content, Text(told)))
    return user(told)


def _wrong(why: str, output: str) -> Err[ParsingError]:
    return Err(ParsingError(why, component="models", operation="output", details={"output": output[:2000]}))


def _faults(error: Any) -> str:
    told = [
        f"{'.'.join(map(str, fault['loc'])) or 'the answer'}: {fault['msg']}, not {fault['input']!r:.80}"
        for fault in error.errors(include_url=False)[:8]
    ]
    return "; ".join(told)


@lru_cache(maxsize=256)
def _adapter(kind: Any) -> Any:
    pydantic = late("pydantic")
    make: Callable[[Any], Any] = pydantic.TypeAdapter
    if isinstance(kind, str):
        raise ConfigurationError(
            f"the form of an answer is a type, not its name {kind!r}", component="models", operation="output"
        )
    try:
        return make(kind)
    except (pydantic.errors.PydanticUserError, TypeError, NameError) as error:
        name = getattr(kind, "__name__", repr(kind))
        raise ConfigurationError(
            f"{name} cannot be the form of an answer: {str(error).splitlines()[0]}",
            component="models",
            operation="output",
            cause=error,
        ) from error
