"""A function's parameters as a tool's arguments: the JSON Schema that a model is shown, and the check of what it sends."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast, get_origin

from msgspec import Struct

from lawful.core.context import Run, Slot, here
from lawful.core.errors import ConfigurationError, ValidationError, nearest
from lawful.core.lazy import late
from lawful.core.messages import ToolCall
from lawful.graph.runtime import Runtime, StreamWriter, writer_of
from lawful.graph.signature import hints, name_of, unwrap
from lawful.graph.step_task import Task
from lawful.tools.docstring import read_docstring
from lawful.tools.facts import NOTHING, Facts
from lawful.tools.injected import marked

Injector: TypeAlias = Callable[[Slot, ToolCall], Any]
"""Of the running node and the call, what a parameter gets that the model does not see."""


class Arguments(Struct, frozen=True):
    """What a tool takes: compiled once, when the tool is made."""

    schema: dict[str, Any]
    """JSON Schema of an object; what the model is shown."""
    names: tuple[str, ...]
    injected: dict[str, Injector]
    """Parameters that are filled by their type, and which the model never sees."""
    model: Any
    """The pydantic model that checks them; None for a schema that came from elsewhere."""

    def check(self, tool: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as the function takes them, converted where JSON has no such type (dates, enums, models).

        Raises: ValidationError, which says what is wrong at which argument, and the nearest valid name for an unknown one.
        """
        unknown = [name for name in given if name not in self.names]
        if unknown and self.model is not None:
            raise ValidationError(
                f"{tool} has no argument {unknown[0]!r}.{nearest(unknown[0], self.names)}",
                component=tool,
                operation="arguments",
                details={"argument": unknown[0]},
            )
        if self.model is None:
            return {name: value for name, value in given.items() if name not in self.injected}
        try:
            checked = self.model.model_validate(dict(given))
        except late("pydantic", "ValidationError") as error:
            raise ValidationError(
                f"{tool} cannot take these arguments: {_said(error)}", component=tool, operation="arguments"
            ) from error
        return {name: getattr(checked, name) for name in self.names}

    def inject(self, slot: Slot | None, call: ToolCall) -> dict[str, Any]:
        """What the engine fills. Raises: NotInRun, if something is asked for outside a running node."""
        if not self.injected:
            return {}
        inside = slot if slot is not None else here(f"tool {call.name!r}")
        return {name: get(inside, call) for name, get in self.injected.items()}


def _said(error: Any) -> str:
    return "; ".join(_place(one) for one in error.errors(include_url=False, include_context=False))


def _place(one: Mapping[str, Any]) -> str:
    where = ".".join(str(step) for step in one["loc"])
    got = f", got {one['input']!r:.80}" if one["type"] != "missing" else ""
    return f"{where}: {one['msg']}{got}"


def arguments_of(fn: Callable[..., Any]) -> Arguments:
    """The arguments of ``fn``: one for each annotated parameter, described by the docstring.

    Parameters of type `Runtime`, `Run`, `StreamWriter`, `ToolCall` or `Facts`, and those that are marked in their annotation
    (`lawful.tools.injected`), are injected.

    Raises: ConfigurationError with file and line, for a parameter without an annotation or one that takes any number.
    """
    known = hints(fn)
    told = read_docstring(inspect.getdoc(fn)).parameters
    fields: dict[str, tuple[Any, Any]] = {}
    injected: dict[str, Injector] = {}
    for parameter in inspect.signature(fn).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise _refused(
                fn, parameter.name, "a tool is called by name: no *args, **kwargs or positional-only parameters"
            )
        if parameter.name not in known:
            raise _refused(fn, parameter.name, "it has no annotation, so nobody can tell the model what it takes")
        note, optional = known[parameter.name], parameter.default is not parameter.empty
        injector = _injector(note) or marked(note, optional=optional)
        if injector is not None:
            injected[parameter.name] = injector
        else:
            default = ... if parameter.default is parameter.empty else parameter.default
            fields[parameter.name] = known[parameter.name], default
    made = _model(fn, fields, told)
    return Arguments(_tidy(made.model_json_schema()), tuple(fields), injected, made)


def arguments_from(cls: Any, name: str) -> Arguments:
    """The fields of a class (dataclass, pydantic model, TypedDict, msgspec Struct) as a tool's arguments."""
    fields: dict[str, tuple[Any, Any]] = {}
    for field, parameter in inspect.signature(cls).parameters.items():
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[field] = hints(cls).get(field, Any), default
    known = {k: (cls.__annotations__.get(k, v[0]) if v[0] is Any else v[0], v[1]) for k, v in fields.items()}
    made = _model(cls, known, read_docstring(inspect.getdoc(cls)).parameters)
    return Arguments(_tidy(made.model_json_schema()), tuple(fields), {}, made)


def _model(fn: Any, fields: dict[str, tuple[Any, Any]], told: Mapping[str, str]) -> Any:
    pydantic = late("pydantic")
    described = {
        name: (note, pydantic.Field(default=default, description=told.get(name)) if told.get(name) else default)
        for name, (note, default) in fields.items()
    }
    config = pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=False)
    try:
        return pydantic.create_model(name_of(fn), __config__=config, **described)
    except (pydantic.errors.PydanticUserError, NameError, TypeError) as error:
        file, line = _where(fn)
        raise ConfigurationError(
            f"{file}:{line}: tool {name_of(fn)!r} has a parameter that pydantic cannot check: {error}",
            component=name_of(fn),
            operation="tool",
            cause=error,
        ) from error


def _injector(note: Any) -> Injector | None:
    base = get_origin(note) or note
    if base is Runtime:
        return _runtime
    if base is Run:
        return lambda slot, call: slot.run
    if base is StreamWriter:
        return lambda slot, call: writer_of(_task(slot, call))
    if base is ToolCall:
        return lambda slot, call: call
    if base is Facts:
        return _facts
    return None


def _facts(slot: Slot, call: ToolCall) -> Facts:
    """What the run of the calling agent has seen; nothing, where no agent calls."""
    given = getattr(slot, "arg", None)
    return cast("dict[str, Any]", given).get("facts", NOTHING) if isinstance(given, dict) else NOTHING


def _runtime(slot: Slot, call: ToolCall) -> Any:
    found: Runtime[Any] = Runtime(_task(slot, call))
    return found


def _task(slot: Slot, call: ToolCall) -> Task:
    if not isinstance(slot, Task):
        raise ConfigurationError(
            f"tool {call.name!r} asks for its node's runtime, but runs in no node of a graph",
            component=call.name,
            operation="call",
        )
    return slot


def _refused(fn: Any, parameter: str, why: str) -> ConfigurationError:
    file, line = _where(fn)
    return ConfigurationError(
        f"{file}:{line}: tool {name_of(fn)!r}, parameter {parameter!r}: {why}",
        component=name_of(fn),
        operation="tool",
        details={"parameter": parameter, "file": file, "line": str(line)},
    )


def _where(fn: Any) -> tuple[str, int]:
    """The file and line that a function, or a class, begins in."""
    plain = unwrap(fn)
    code = getattr(plain, "__code__", None)
    if code is not None:
        return code.co_filename, code.co_firstlineno
    try:
        return inspect.getsourcefile(plain) or "?", inspect.getsourcelines(plain)[1]
    except (OSError, TypeError):
        return "?", 0


def _tidy(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without the titles that pydantic makes of the names: they cost tokens and say nothing."""
    out = {k: v for k, v in schema.items() if k not in ("title", "description")}
    properties = cast("dict[str, dict[str, Any]]", out.get("properties", {}))
    out["properties"] = {name: {k: v for k, v in one.items() if k != "title"} for name, one in properties.items()}
    return out
