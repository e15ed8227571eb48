"""What a `ToolNode` tells a model of a tool that failed, and which errors it does not tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast, get_args

from lawful.core.errors import ConfigurationError, ToolError
from lawful.core.messages import ToolCall
from lawful.graph.signature import hints, name_of, parameters

HandleErrors: TypeAlias = bool | str | Callable[..., str] | type[Exception] | tuple[type[Exception], ...]
"""See `lawful.prebuilt.ToolNode`."""


def unfit(call: ToolCall, why: str) -> ToolError:
    """The error of a call whose arguments its tool does not take."""
    return ToolError(
        why, component=call.name, operation="arguments", details={"tool": call.name, "call": call.id or ""}
    )


def told_of_arguments(error: Exception) -> str:
    """The text of an error in the arguments. Raises: any other error, as it is."""
    if isinstance(error, ToolError) and error.context.operation == "arguments":
        return error.message
    raise error


def handles(handler: HandleErrors) -> tuple[type[Exception], ...]:
    """The classes of errors that a handler is there for. Raises: ConfigurationError, for one that is no Exception."""
    if not handler:
        return ()
    if isinstance(handler, bool | str):
        return (Exception,)
    if isinstance(handler, tuple):
        kinds = cast("tuple[Any, ...]", handler)
    elif isinstance(handler, type):
        kinds = (handler,)
    else:
        kinds = _annotated(handler)
    for kind in kinds:
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            raise ConfigurationError(
                f"handle_tool_errors is for classes of Exception, which {kind!r} is not",
                component="tools",
                operation="ToolNode",
            )
    return kinds


def handled_text(handler: HandleErrors, kinds: tuple[type[Exception], ...], error: Exception) -> str:
    """What the model is told. Raises: the error itself, where it is not to be told."""
    if not isinstance(error, kinds):
        raise error
    if isinstance(handler, str):
        return handler
    if isinstance(handler, bool | tuple | type):
        return f"The tool failed: {error!r}. Mend what is wrong with the call, or go another way."
    return str(handler(error))


def _annotated(handler: Callable[..., str]) -> tuple[Any, ...]:
    """The class, or the classes, that the annotation of its parameter names; every Exception where it has none."""
    taken = parameters(handler)
    if not taken:
        raise ConfigurationError(
            f"handle_tool_errors={name_of(handler)} takes no error", component="tools", operation="ToolNode"
        )
    note = hints(handler).get(taken[0].name, Exception)
    return get_args(note) or (note,)
