"""A tool of langchain's inside a `ToolNode`: called with the whole call, and with what is injected hidden from models."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final, cast, get_type_hints

import msgspec

from lawful.compat.langchain_tools import from_langchain_tool
from lawful.core.context import Slot, current_task
from lawful.core.errors import ToolError, nearest
from lawful.core.lazy import late
from lawful.core.messages import Message, ToolCall
from lawful.graph.command import Command
from lawful.graph.runtime import config_of
from lawful.graph.signature import hints
from lawful.graph.step_task import Task
from lawful.tools.definition import AnyTool
from lawful.tools.injected import marked

CALL: Final = "lawful:call"
"""The keyword of the call itself: no parameter of a function can be called so."""


def as_node_tool(given: Any) -> AnyTool:
    """One of langchain's tools as one of ours, which gives its ToolMessage or Command.

    A validator of the tool that refuses the model's arguments is a ToolError of operation "arguments".

    Raises: ConfigurationError, for what is no tool of langchain's.
    """
    made, carrier = from_langchain_tool(given), _carrier()
    ready = _carrying(given, carrier)
    fills = _marks(given)
    hidden = _hidden(given) | set(fills)

    async def run(**arguments: Any) -> Any:
        call: ToolCall = arguments.pop(CALL)
        asked = {name: value for name, value in arguments.items() if name in fills or name not in hidden}
        task = current_task.get()
        config = config_of(task) if isinstance(task, Task) else None
        told = {"name": call.name, "args": asked, "id": call.id or "", "type": "tool_call"}
        try:
            found = await ready.ainvoke(told, config)
        except late("pydantic", "ValidationError") as error:
            raise _unfit(call, error, hidden, made.parameters) from error
        return found.held if isinstance(found, carrier) else found

    injected = {CALL: _the_call, **fills}
    return made.with_(function=run, arguments=msgspec.structs.replace(made.arguments, injected=injected))


@functools.cache
def _carrier() -> Any:
    """A class that langchain hands on untouched, where it would make a text of what a tool returned."""
    mixin: Any = late("langchain_core.messages.tool", "ToolOutputMixin")

    class Carried(mixin):
        def __init__(self, held: Any) -> None:
            self.held = held

    return Carried


def _carrying(given: Any, carrier: Any) -> Any:
    """A copy of the tool whose Commands and messages of ours come through."""
    made = given.model_copy()

    def carried(value: Any) -> Any:
        parts = cast("list[Any]", value if isinstance(value, list) else [value])
        ours = any(isinstance(each, Command | Message) for each in parts)
        return carrier(cast("Any", value)) if ours else cast("Any", value)

    @functools.wraps(given._run)
    def run(*args: Any, **kwargs: Any) -> Any:
        return carried(given._run(*args, **kwargs))

    @functools.wraps(given._arun)
    async def arun(*args: Any, **kwargs: Any) -> Any:
        return carried(await given._arun(*args, **kwargs))

    object.__setattr__(made, "_run", run)
    object.__setattr__(made, "_arun", arun)
    return made


def _the_call(slot: Slot, call: ToolCall) -> ToolCall:
    return call


def _unfit(call: ToolCall, error: Any, hidden: set[str], schema: Mapping[str, Any]) -> ToolError:
    own = [one for one in error.errors() if one["loc"] and one["loc"][0] not in hidden]
    faults = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in own] or [str(error)]
    known: list[str] = list(schema.get("properties", ()))
    faults += [f"there is no argument {name!r}.{nearest(name, known)}" for name in call.args if name not in known]
    return ToolError(
        f"{call.name} cannot take these arguments: {'; '.join(faults)}",
        component=call.name,
        operation="arguments",
        details={"tool": call.name, "call": call.id or ""},
        cause=error,
    )


def _marks(given: Any) -> dict[str, Callable[[Slot, ToolCall], Any]]:
    """The parameters that are filled in the model's place, and are not langchain's own to fill."""
    notes, optional = _notes(given)
    found = {name: marked(note, optional=name in optional) for name, note in notes.items()}
    own = ("InjectedToolCallId", "RunnableConfig")
    return {
        name: fill
        for name, fill in found.items()
        if fill is not None and not any(word in str(notes[name]) for word in own)
    }


def _notes(given: Any) -> tuple[dict[str, Any], set[str]]:
    """The annotations of the tool's parameters, and the names of those that have a default."""
    function = getattr(given, "func", None) or getattr(given, "coroutine", None) or given._run
    notes = hints(function)
    notes.pop("return", None)
    optional = {
        name
        for name, one in inspect.signature(function).parameters.items()
        if one.default is not inspect.Parameter.empty
    }
    schema = given.get_input_schema()
    if isinstance(schema, type):
        # Where its types do not resolve here, the function's own annotations stand.
        with contextlib.suppress(NameError, TypeError):
            notes |= get_type_hints(cast("Any", schema), include_extras=True)
        fields: dict[str, Any] = getattr(schema, "model_fields", {})
        optional |= {name for name, field in fields.items() if not field.is_required()}
    return notes, optional


def _hidden(given: Any) -> set[str]:
    """The parameters that langchain does not show to a model."""
    schema, shown = given.get_input_schema(), given.tool_call_schema
    names: set[str] = set(getattr(schema, "model_fields", ()))
    return names - set(getattr(shown, "model_fields", names))
