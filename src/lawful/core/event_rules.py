"""The order that events owe: each start has exactly one end or error, what is between lies inside, and numbers only grow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from msgspec import Struct

from lawful.core.events import (
    Ended,
    Event,
    LLMChunk,
    LLMEnded,
    LLMFailed,
    LLMReasoning,
    LLMStarted,
    NodeEnded,
    NodeFailed,
    NodeStarted,
    RunFailed,
    RunFinished,
    RunStarted,
    Started,
    TaskEnded,
    TaskFailed,
    TaskStarted,
    ToolArguments,
    ToolCalled,
    ToolEnded,
    ToolFailed,
    ToolStarted,
)


class Unpaired(Struct, frozen=True):
    """A start without an end, an end without a start, or a second one of either."""

    event: Event
    why: Literal["never ended", "never started", "started twice", "ended twice", "after the end"]


Key: TypeAlias = tuple[str, str, str]


def unpaired(events: Iterable[Event]) -> list[Unpaired]:
    """What breaks the rule that each start has exactly one end or error, in the order in which it shows.

    A chunk of a model's or tool's call outside its bracket breaks it too. An empty list: all is paired.
    """
    opened: dict[Key, Started] = {}
    closed: set[Key] = set()
    wrong: list[Unpaired] = []
    for event in events:
        key = bracket(event)
        if key is None:
            continue
        if isinstance(event, Started):
            if key in opened or key in closed:
                wrong.append(Unpaired(event, "started twice"))
            else:
                opened[key] = event
        elif key not in opened:
            wrong.append(Unpaired(event, _stray(event, key in closed)))
        elif isinstance(event, Ended):
            del opened[key]
            closed.add(key)
    wrong.extend(Unpaired(event, "never ended") for event in opened.values())
    return wrong


def disordered(events: Iterable[Event]) -> list[Event]:
    """The events whose seq is not greater than that of the one before them."""
    last = None
    wrong: list[Event] = []
    for event in events:
        if last is not None and event.seq <= last:
            wrong.append(event)
        last = event.seq
    return wrong


def _stray(event: Event, was_closed: bool) -> Literal["never started", "ended twice", "after the end"]:
    if not was_closed:
        return "never started"
    return "ended twice" if isinstance(event, Ended) else "after the end"


def bracket(event: Event) -> Key | None:
    """What a start, its end and all between them have in common: kind, run and span; None for other events."""
    match event:
        case RunStarted() | RunFinished() | RunFailed():
            return ("run", event.run_id, "")
        case NodeStarted() | NodeEnded() | NodeFailed():
            return ("node", event.run_id, event.span)
        case TaskStarted() | TaskEnded() | TaskFailed():
            return ("task", event.run_id, event.span)
        case LLMStarted() | LLMChunk() | LLMReasoning() | LLMEnded() | LLMFailed():
            return ("llm", event.run_id, event.span)
        case ToolStarted() | ToolArguments() | ToolCalled() | ToolEnded() | ToolFailed():
            return ("tool", event.run_id, event.span)
        case _:
            return None
