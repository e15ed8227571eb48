"""Lifecycle callbacks: handlers in ``config["callbacks"]`` hear when a run pauses and when it goes on."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast

from msgspec import Struct

from lawful.core.questions import Question
from lawful.core.teller import heard, heard_async
from lawful.graph import orders as o
from lawful.graph.standing import Standing

GraphLifecycleStatus: TypeAlias = Literal[
    "input", "pending", "done", "interrupt_before", "interrupt_after", "out_of_steps"
]


class GraphResumeEvent(Struct, frozen=True):
    """A run goes on from a stored checkpoint; told of the root and of each graph in it that goes on."""

    run_id: str
    status: GraphLifecycleStatus
    checkpoint_id: str
    checkpoint_ns: tuple[str, ...]
    """() for the root."""


class GraphInterruptEvent(Struct, frozen=True):
    """A root run paused: at questions ("pending") or at a breakpoint ("interrupt_before", "interrupt_after")."""

    run_id: str
    status: GraphLifecycleStatus
    checkpoint_id: str
    checkpoint_ns: tuple[str, ...]
    interrupts: tuple[Question, ...] = ()


GraphLifecycleEvent: TypeAlias = GraphResumeEvent | GraphInterruptEvent


class GraphCallbackHandler:
    """Subclass it and put an instance into ``config["callbacks"]``; under the async driver a method may be async.

    What a handler raises is logged and the run goes on, unless ``raise_error`` is true.
    """

    raise_error: bool = False

    def on_interrupt(self, event: GraphInterruptEvent) -> Any:
        """The run paused."""

    def on_resume(self, event: GraphResumeEvent) -> Any:
        """The run goes on."""


class Lifecycle:
    """The handlers of one run."""

    __slots__ = ("_handlers",)

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._handlers = handlers_of(config.get("callbacks"))

    def resumed(self, machine: Standing) -> Iterator[tuple[Any, GraphResumeEvent]]:
        """Whom to call, and with what, as a run goes on."""
        space = tuple(machine.ns.split("|")) if machine.ns else ()
        event = GraphResumeEvent(machine.run.run_id, "pending", machine.checkpoint, space)
        for handler in self._handlers:
            if (method := getattr(handler, "on_resume", None)) is not None:
                yield method, event

    def paused(self, machine: Standing, outcome: o.Outcome) -> Iterator[tuple[Any, GraphInterruptEvent]]:
        """The same for a root run that paused; nothing for any other end."""
        if not isinstance(outcome, o.Halted) or machine.run.parent is not None:
            return
        status = cast("GraphLifecycleStatus", outcome.why)
        event = GraphInterruptEvent(machine.run.run_id, status, machine.checkpoint, (), outcome.questions)
        for handler in self._handlers:
            if (method := getattr(handler, "on_interrupt", None)) is not None:
                yield method, event


def handlers_of(given: Any) -> Sequence[Any]:
    """The handlers in a config's ``callbacks``: a list of them, or a manager that has ``handlers``."""
    if not given:
        return ()
    return cast("Sequence[Any]", given if isinstance(given, list | tuple) else getattr(given, "handlers", ()))


def call(calls: Iterator[tuple[Any, GraphLifecycleEvent]]) -> None:
    """Call each; an async handler is not called to its end here, and the log says so."""
    for method, event in calls:
        found = heard(method, event)
        if isinstance(found, Awaitable):
            heard(_unawaited, found)


async def acall(calls: Iterator[tuple[Any, GraphLifecycleEvent]]) -> None:
    """Call each, and await what wants it."""
    for method, event in calls:
        await heard_async(method, event)


def _unawaited(found: Any) -> None:
    close = getattr(found, "close", None)
    if close is not None:
        close()
    raise TypeError("an async callback needs an async run: ainvoke, astream")
