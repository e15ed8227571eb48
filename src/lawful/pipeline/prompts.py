"""Typed prompts: a template and the class of its variables, compared when the prompt is made; values stay what they are."""

from __future__ import annotations

import re
import types
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, TypeAlias, TypeVar, Union, cast, get_args, get_origin

from lawful.core.errors import ConfigurationError
from lawful.core.messages import Message, Text
from lawful.pipeline.build import pure
from lawful.pipeline.nodes import Pipeline
from lawful.pipeline.templates import fields_of, parsed, same_names, value_of

V = TypeVar("V")

_PLAIN = (str, int, float, bool)


class Prompt(Generic[V]):
    """A template over the fields of ``variables``; call it with a value of that class for the text.

    Each variable is put in once, as text; what stands in a value is never read as a template. A value of ``fenced`` is
    put between tags of its name, which it cannot close: ``<passages>…</passages>``. That marks for a model where foreign
    text begins and ends. It does not make a model obey.

    Raises: ConfigurationError when made, if template and class do not have the same names, a field is not of a plain type
    (str, int, float, bool, or one of these and None), or ``fenced`` names no variable. TypeError when called with a value
    that is of no plain type after all, which is a bug.
    """

    def __init__(self, variables: type[V], template: str, *, fenced: Sequence[str] = (), name: str = "") -> None:
        self.variables = variables
        self.template = template
        self.fenced = tuple(fenced)
        self._pieces = parsed(template)
        fields = fields_of(variables)
        used = [name for _, name in self._pieces if name is not None]
        same_names(used, fields, variables)
        same_names({*self.fenced, *used}, fields, variables)
        for field, hint in fields.items():
            if not _is_plain(hint):
                raise _refuse(f"the field {field!r} is of {hint!r}, which has no one way to be text: make it a str")
        self.__name__ = name or f"prompt {variables.__name__}"

    def __call__(self, values: V, /) -> str:
        return _filled(self._pieces, values, self.fenced)


def prompt(variables: type[V], template: str, *, fenced: Sequence[str] = (), name: str = "") -> Pipeline[V, str]:
    """A prompt as a step: ``prompt(Ask, "Answer {question} from {passages}") >> chat``. See `Prompt` for what it refuses."""
    made = Prompt(variables, template, fenced=fenced, name=name)
    return pure(made, made.__name__)


@dataclass(frozen=True)
class Placeholder:
    """In a `chat_prompt`: the messages of this field, as they are."""

    field: str


@dataclass(frozen=True)
class Examples(Generic[V]):
    """In a `chat_prompt`: pairs of a question and its answer, shown as turns of user and assistant before the real one.

    ``ask`` is the template of a question, over the class of the examples' variables.
    """

    variables: type[V]
    ask: str
    shown: Sequence[tuple[V, str]]


Part: TypeAlias = "tuple[str, str] | Placeholder | Examples[Any]"


class ChatPrompt(Generic[V]):
    """Messages made from templates, one for each (role, template); what a value says can be no message of its own.

    Raises: ConfigurationError when made, as `Prompt`, over all parts together; and for an unknown role. TypeError when
    called, as `Prompt`.
    """

    def __init__(
        self, variables: type[V], parts: Sequence[Part], *, fenced: Sequence[str] = (), name: str = ""
    ) -> None:
        self.variables = variables
        self.fenced = tuple(fenced)
        fields = fields_of(variables)
        placed = {part.field for part in parts if isinstance(part, Placeholder)}
        templates = [part for part in parts if isinstance(part, tuple)]
        used = [n for _, text in templates for _, n in parsed(text) if n is not None]
        same_names([*used, *placed], fields, variables)
        for name_of_fenced in self.fenced:
            if name_of_fenced not in used:
                raise _refuse(f"fenced: {name_of_fenced!r} is no variable of a template")
        for field in used:
            if field in placed or not _is_plain(fields[field]):
                raise _refuse(
                    f"the field {field!r} is of {fields[field]!r}: a template takes text, a Placeholder messages"
                )
        self._parts = tuple(_ready(part) for part in parts)
        self.__name__ = name or f"chat prompt {variables.__name__}"

    def __call__(self, values: V, /) -> list[Message]:
        made: list[Message] = []
        for part in self._parts:
            match part:
                case Placeholder(field):
                    made += _messages(value_of(values, field), field)
                case Examples(variables, ask, shown):
                    question = Prompt(variables, ask)
                    for example, answer in shown:
                        made += (_message("user", question(example)), _message("assistant", answer))
                case _Said(role, pieces):
                    made.append(_message(role, _filled(pieces, values, self.fenced)))
        return made


def chat_prompt(
    variables: type[V], *parts: Part, fenced: Sequence[str] = (), name: str = ""
) -> Pipeline[V, list[Message]]:
    """A `ChatPrompt` as a step: ``chat_prompt(Ask, ("system", "..."), Placeholder("history"), ("user", "{question}"))``."""
    made = ChatPrompt(variables, parts, fenced=fenced, name=name)
    return pure(made, made.__name__)


_ROLES = ("system", "developer", "user", "assistant")


def _ready(part: Part) -> _Said | Placeholder | Examples[Any]:
    if isinstance(part, Examples):
        ask = Prompt(part.variables, part.ask)
        for example, _ in part.shown:
            ask(example)
        return part
    if isinstance(part, Placeholder):
        return part
    role, template = part
    if role not in _ROLES:
        raise _refuse(f"unknown role {role!r}; there are {', '.join(_ROLES)}")
    return _Said(role, parsed(template))


@dataclass(frozen=True)
class _Said:
    role: str
    pieces: Sequence[tuple[str, str | None]]


def _message(role: str, text: str) -> Message:
    return Message(cast("Any", role), (Text(text),))


def _filled(pieces: Sequence[tuple[str, str | None]], values: Any, fenced: Sequence[str]) -> str:
    made: list[str] = []
    for text, name in pieces:
        made.append(text)
        if name is not None:
            shown = _text(value_of(values, name), name)
            made.append(_fence(name, shown) if name in fenced else shown)
    return "".join(made)


def _messages(given: Any, field: str) -> list[Message]:
    if isinstance(given, list | tuple) and all(isinstance(one, Message) for one in cast("Sequence[Any]", given)):
        return list(cast("Sequence[Message]", given))
    raise TypeError(f"prompt: {field!r} takes a list of messages, not {type(cast('object', given)).__name__}")


def _is_plain(hint: Any) -> bool:
    if hint is Any or hint in _PLAIN or hint is type(None):
        return True
    origin, arms = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _is_plain(arms[0])
    if origin is Literal:
        return all(isinstance(arm, _PLAIN) for arm in arms)
    return origin in (Union, types.UnionType) and all(map(_is_plain, arms))


def _text(value: Any, name: str) -> str:
    if isinstance(value, str):
        return str.__str__(value)  # of a member of a str enum its text, not its name
    if value is None:
        return ""
    if type(value) in _PLAIN:
        return str(value)
    raise TypeError(f"prompt: {name!r} takes text or a number, not {type(value).__name__}")


def _fence(name: str, text: str) -> str:
    """The text between tags that it cannot leave: tags of that name in it are broken by a space."""
    safe = re.sub(rf"<(?=\s*/?\s*{name}\b)", "< ", text, flags=re.IGNORECASE)
    return f"<{name}>\n{safe}\n</{name}>"


def _refuse(message: str) -> ConfigurationError:
    return ConfigurationError(f"prompt: {message}", component="pipeline", operation="prompt")
