"""`@tool`: a function that an agent may call, as a value with its schema, its declared traits and its check of arguments."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, ParamSpec, TypeAlias, TypeVar, cast, overload

from lawful.core.context import current_task
from lawful.core.errors import ConfigurationError
from lawful.core.messages import ToolCall
from lawful.effects.effect import Effect, type_arguments
from lawful.effects.short import FunctionEffect
from lawful.graph.signature import is_async, name_of
from lawful.tools.docstring import read_docstring
from lawful.tools.fitted import hold, take
from lawful.tools.signature import Arguments, arguments_from, arguments_of
from lawful.tools.traits import Reliability, Risk, Traits, telling_word

P = ParamSpec("P")
R = TypeVar("R")

Undeclared: TypeAlias = Literal["warn", "refuse", "allow"]
"""What becomes of a bare tool whose name tells of a change to the world."""


@dataclass(frozen=True)
class Tool(Generic[P, R]):
    """One tool: call it as the function that it was made of, or let an agent call it with JSON arguments.

    A value: `with_` gives another one. Two tools of one name cannot stand in one set.
    """

    name: str
    description: str
    arguments: Arguments
    traits: Traits
    function: Callable[P, R]
    version: str = "1"
    approval: bool = False
    """Whether a person must say yes to each call, whatever its risk."""
    timeout: float | None = None
    """Seconds that one call may take; only for async functions."""
    ends_turn: bool = False
    """Its result is the answer: the model is not asked again in this turn."""
    effect: Any = None
    """The `Effect` or short form that it performs, or None."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        return self.arguments.schema

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def with_(self, **changes: Any) -> Tool[P, R]:
        """The same tool with other fields, such as ``name=`` or ``approval=True``. Raises: TypeError for unknown ones."""
        return replace(self, **changes)

    def checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as the function takes them. Raises: ValidationError; nothing runs."""
        return self.arguments.check(self.name, given)

    def ruled(self, given: Mapping[str, Any]) -> None:
        """Check the arguments for a call that may follow: `acall` with the same object takes what was made of them."""
        hold(given, self.arguments, self.checked(given))

    async def acall(self, call: ToolCall) -> Any:
        """Check the arguments, unless `ruled` has, and run; what the function raises is raised. Sync functions run in a
        thread.
        """
        known = take(call.args, self.arguments)
        checked = self.checked(call.args) if known is None else known
        extra = self.arguments.inject(current_task.get(), call)
        work = cast("Any", self.function)
        if is_async(work) or self.effect is not None:
            found = work(**checked, **extra)
            return await (asyncio.wait_for(found, self.timeout) if self.timeout is not None else found)
        context = contextvars.copy_context()
        return await asyncio.to_thread(context.run, lambda: work(**checked, **extra))


AnyTool: TypeAlias = Tool[..., Any]


@overload
def tool(fn: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    version: str = "1",
    reads_private: bool = False,
    ingests_external: bool = False,
    sends_out: bool = False,
    pure_read: bool = False,
    risk: Risk = "medium",
    approval: bool = False,
    timeout: float | None = None,
    undeclared: Undeclared = "warn",
    reliability: Reliability | None = None,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(
    fn: Any = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    version: str = "1",
    reads_private: bool = False,
    ingests_external: bool = False,
    sends_out: bool = False,
    pure_read: bool = False,
    risk: Risk = "medium",
    approval: bool = False,
    timeout: float | None = None,
    undeclared: Undeclared = "warn",
    reliability: Reliability | None = None,
) -> Any:
    """Make a tool of a function that only observes; what changes the world is an `@effect`, which is a tool by itself.

    Name, description and schema come from the function: its name, its docstring, its annotations. ``reliability`` is how
    far its results can be relied on, where a result does not say so itself (`Rated`).

    Raises: ConfigurationError with file and line for a parameter that is not annotated; for a name that no provider takes;
    for a timeout on a sync function, which cannot be stopped; under ``undeclared="refuse"`` for a name such as
    ``send_mail``. By default the last is a warning.
    """

    def make(function: Callable[P, R]) -> Tool[P, R]:
        named = name or name_of(function)
        traits = Traits(
            reads_private=reads_private,
            ingests_external=ingests_external,
            sends_out=sends_out,
            pure_read=pure_read,
            declared=_declared(named, undeclared, pure_read),
            risk=risk,
            reliability=reliability,
        )
        if timeout is not None and not is_async(function):
            raise ConfigurationError(
                f"tool {named!r} has a timeout but is a sync function, which cannot be stopped: make it async",
                component=named,
                operation="tool",
            )
        return Tool(
            _valid(named),
            description or read_docstring(inspect.getdoc(function)).summary,
            arguments_of(function),
            traits,
            function,
            version=version,
            approval=approval,
            timeout=timeout,
        )

    if isinstance(fn, str):
        raise ConfigurationError(f"write @tool(name={fn!r})", component=fn, operation="tool")
    return make if fn is None else make(fn)


def as_tool(given: Any) -> AnyTool:
    """A tool from a tool, an effect in either form, or a function.

    Raises: ConfigurationError, for anything else.
    """
    if isinstance(given, Tool):
        return cast("AnyTool", given)
    if isinstance(given, FunctionEffect):
        return _of_short_form(cast("FunctionEffect[..., Any]", given))
    if isinstance(given, Effect):
        return _of_effect(cast("Effect[Any, Any]", given))
    if callable(given) and not isinstance(given, type):
        return tool(given)
    raise ConfigurationError(
        f"{given!r:.100} is no tool: expected a function, a Tool or an Effect", component="tools", operation="as_tool"
    )


def _of_short_form(effect: FunctionEffect[..., Any]) -> AnyTool:
    function = cast("Any", effect).__wrapped__
    return Tool(
        _valid(effect.tool),
        read_docstring(inspect.getdoc(function)).summary,
        arguments_of(function),
        Traits(effect=True, risk=effect.risk),
        _performing(effect),
        version=effect.version,
        effect=effect,
    )


def _performing(effect: FunctionEffect[..., Any]) -> Callable[..., Any]:
    """The short form as something to await, whichever kind of function it is."""
    if is_async(cast("Any", effect).__wrapped__):
        return cast("Any", effect)

    async def perform(**kwargs: Any) -> Any:
        context = contextvars.copy_context()
        return await asyncio.to_thread(context.run, lambda: cast("Any", effect)(**kwargs))

    return perform


def _of_effect(effect: Effect[Any, Any]) -> AnyTool:
    command, _ = type_arguments(type(effect))
    if not isinstance(command, type):
        raise ConfigurationError(
            f"effect {effect.tool!r} does not name its command's type, so no model can be told what it takes",
            component=effect.tool,
            operation="as_tool",
        )

    async def perform(**fields: Any) -> Any:
        return await effect(command(**fields))

    return Tool(
        _valid(effect.tool),
        read_docstring(inspect.getdoc(type(effect))).summary,
        arguments_from(command, effect.tool),
        Traits(effect=True, risk=effect.risk),
        perform,
        version=effect.version,
        effect=effect,
    )


def _valid(name: str) -> str:
    if not 0 < len(name) <= 64 or not all(c.isascii() and (c.isalnum() or c in "_-") for c in name):
        raise ConfigurationError(
            f"{name!r} is no name for a tool: 1 to 64 ASCII letters, digits, _ and -, which every provider takes",
            component="tools",
            operation="tool",
        )
    return name


def _declared(name: str, undeclared: Undeclared, pure_read: bool) -> bool:
    word = telling_word(name)
    if word is None or undeclared == "allow" or pure_read:
        return True
    said = (
        f"tool {name!r} is named as if it changed something ({word!r}), but nothing is declared of it: make it an"
        " @effect, so that a crash or a retry cannot repeat it, or say pure_read=True"
    )
    if undeclared == "refuse":
        raise ConfigurationError(said, component=name, operation="tool")
    warnings.warn(said, UndeclaredTool, stacklevel=4)
    return False


class UndeclaredTool(UserWarning):
    """A bare tool whose name tells of a change to the world."""
