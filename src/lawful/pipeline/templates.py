"""A template's text taken apart once: literal pieces and bare variable names, nothing else is a template here."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence
from typing import Any, cast, get_type_hints

from lawful.core.errors import ConfigurationError, nearest

_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def parsed(template: str) -> tuple[tuple[str, str | None], ...]:
    """The pieces of ``template``: a literal text, and the variable that follows it or None.

    ``{name}`` is a variable; ``{{`` and ``}}`` are braces. There are no attributes, indices, conversions or formats: a
    template that could reach into an object would let whoever writes one read what the object knows.

    Raises: ConfigurationError, naming the place (line and column, from 1), for a lone brace or another kind of field.
    """
    pieces: list[tuple[str, str | None]] = []
    text: list[str] = []
    at = 0
    for match in _PIECE.finditer(template):
        text.append(template[at : match.start()])
        at = match.end()
        found = match[0]
        if found in ("{{", "}}"):
            text.append(found[0])
        elif match[1] is None:
            raise _refuse(template, match.start(), f"a lone {found!r}; write {found * 2!r} for a brace")
        elif not _NAME.match(match[1]):
            raise _refuse(template, match.start(), f"the field {found!r}; only a bare name like {{name}} is a variable")
        else:
            pieces.append(("".join(text), match[1]))
            text = []
    text.append(template[at:])
    pieces.append(("".join(text), None))
    return tuple(pieces)


def _refuse(template: str, at: int, what: str) -> ConfigurationError:
    line = template.count("\n", 0, at) + 1
    column = at - template.rfind("\n", 0, at)
    return ConfigurationError(
        f"template: {what} (line {line}, column {column})",
        component="pipeline",
        operation="prompt",
        details={"line": str(line), "column": str(column)},
    )


def fields_of(kind: type[Any]) -> dict[str, Any]:
    """The fields of a class of variables, with their types: dataclass, TypedDict, NamedTuple, Struct, pydantic model.

    Raises: ConfigurationError, if it is none of these, or a TypedDict with keys that may be missing.
    """
    loose: Sequence[str] = sorted(getattr(kind, "__optional_keys__", ()))
    if loose:
        raise ConfigurationError(
            f"a prompt needs every variable: {loose[0]!r} of {kind.__name__} may be missing; require it, as str | None",
            component="pipeline",
            operation="prompt",
        )
    found: Sequence[str] | None = None
    if dataclasses.is_dataclass(kind):
        found = tuple(field.name for field in dataclasses.fields(kind))  # without its ClassVars
    for name in ("model_fields", "__pydantic_fields__", "__struct_fields__", "_fields"):
        if found is None and hasattr(kind, name):
            found = tuple(getattr(kind, name))
    if found is None and hasattr(kind, "__total__"):
        found = tuple(kind.__annotations__)
    if found is None:
        raise ConfigurationError(
            f"a prompt's variables are a dataclass, TypedDict, NamedTuple, Struct or pydantic model, not {kind!r:.80}",
            component="pipeline",
            operation="prompt",
        )
    try:
        hints = get_type_hints(kind)
    except (NameError, TypeError):  # a type that is there for the checker only
        hints = {}
    return {name: hints.get(name, Any) for name in found}


def same_names(used: Iterable[str], fields: Iterable[str], kind: type[Any]) -> None:
    """Hold the variables of a template against the fields of their class.

    Raises: ConfigurationError, naming each variable without a field and each field without a variable.
    """
    used, fields = list(dict.fromkeys(used)), list(fields)
    wrong = [
        f"{{{name}}} is no field of {kind.__name__}.{nearest(name, fields)}" for name in used if name not in fields
    ]
    wrong += [f"the field {name!r} of {kind.__name__} is not used" for name in fields if name not in used]
    if wrong:
        raise ConfigurationError(
            f"template: {'; '.join(wrong)}",
            component="pipeline",
            operation="prompt",
            details={"variables": ", ".join(used), "fields": ", ".join(fields)},
        )


def value_of(values: Any, name: str) -> Any:
    """One variable's value, of whichever class the variables are."""
    return cast("Any", values)[name] if isinstance(values, dict) else getattr(values, name)
