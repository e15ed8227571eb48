"""Marks in a parameter's annotation that say what fills it in the model's place: LangGraph's and langchain's, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast, get_args, get_origin

from msgspec import Struct

from lawful.core.context import Slot
from lawful.core.errors import ConfigurationError, ToolError, nearest
from lawful.core.messages import ToolCall
from lawful.graph.runtime import config_of
from lawful.graph.step_task import Task


class FromState(Struct, frozen=True):
    """Fills a parameter from the state that a `ToolNode` was given: the whole of it, or one field."""

    field: str | None = None
    optional: bool = False
    """Whether the function has a default for it."""

    def __call__(self, slot: Slot, call: ToolCall) -> Any:
        raise ConfigurationError(
            f"tool {call.name!r} is to be given a graph's state, which only a ToolNode of lawful.prebuilt hands on",
            component=call.name,
            operation="call",
        )

    def of(self, state: Any, messages_key: str, tool: str) -> tuple[Any, ...]:
        """(what the parameter gets), or () where its own default stands.

        Raises: ToolError with the nearest name, for a field that the state does not have.
        """
        given = cast("Any", {messages_key: state} if isinstance(state, list) else state)
        if self.field is None:
            return (given,)
        told = cast("dict[str, Any]", given) if isinstance(given, dict) else None
        if told is not None and self.field in told:
            return (told[self.field],)
        known = cast("object", given)
        if told is None and hasattr(known, self.field):
            return (getattr(known, self.field),)
        if self.optional:
            return ()
        names = list(told) if told is not None else [name for name in vars(known) if not name.startswith("_")]
        raise ToolError(
            f"tool {tool!r} is to be given {self.field!r} of the state, which has none.{nearest(self.field, names)}",
            component=tool,
            operation="inject",
            details={"tool": tool, "field": self.field},
        )


def marked(note: Any, *, optional: bool = False) -> Callable[[Slot, ToolCall], Any] | None:
    """How a parameter of this annotation is filled; None for one that the model fills."""
    for mark in (get_origin(note) or note, *getattr(note, "__metadata__", ())):
        kind: Any = mark if isinstance(mark, type) else type(mark)
        match kind.__name__:
            case "InjectedState":
                return FromState(getattr(mark, "field", None), optional)
            case "InjectedStore":
                return _store
            case "InjectedToolCallId":
                return lambda slot, call: call.id or ""
            case "RunnableConfig":
                return lambda slot, call: config_of(slot) if isinstance(slot, Task) else {}
            case _:
                pass
    inner = [found for each in get_args(note) if _union(note) and (found := marked(each, optional=optional))]
    return inner[0] if inner else None


def _union(note: Any) -> bool:
    return getattr(get_origin(note), "__name__", "") in ("Union", "UnionType")


def _store(slot: Slot, call: ToolCall) -> Any:
    if slot.run.store is None:
        raise ToolError(
            f"tool {call.name!r} is to be given the graph's store, which has none: compile(store=...)",
            component=call.name,
            operation="inject",
            details={"tool": call.name},
        )
    return slot.run.store
