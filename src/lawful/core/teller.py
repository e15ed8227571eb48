"""Who hears of a run: events are numbered, held to the rule that each start has one end, and given to every listener."""

from __future__ import annotations

import logging
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias, assert_never, cast

import msgspec

from lawful.core import events as ev
from lawful.core.context import Run
from lawful.core.errors import ConfigurationError
from lawful.core.event_rules import Key, bracket
from lawful.core.failure import Failure

Hears: TypeAlias = Callable[[ev.Event], object]
"""Takes each event as it comes, in the thread where it arose; never called twice at once for one root run."""

TOLD_FIRST = "told first"
"""Under this name a run's ``shared`` keeps events of what was done before it began, told right after its start."""

_log = logging.getLogger("lawful.events")


class Teller:
    """The one place that events of a root run, and of all runs in it, go through."""

    __slots__ = ("_called", "_listeners", "_lock", "_names", "_opened", "_seq", "_times")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._listeners: list[tuple[Hears, str]] = []
        self._seq = 0
        self._opened: dict[Key, tuple[ev.Started, str | None]] = {}
        """What has begun and not ended, with the run around its run."""
        self._times: dict[Key, int] = {}
        """How often each model call, tool call and task has begun: a retried one begins again under its old id."""
        self._names: dict[Key, str] = {}
        """The span under which a repeated one is told."""
        self._called: set[Key] = set()

    def attach(self, hears: Hears, run: Run) -> None:
        """From now on ``hears`` is told of ``run`` and of all runs in it; once, however often it is attached."""
        with self._lock:
            if not any(h == hears and _within(run.run_id, scope) for h, scope in self._listeners):
                self._listeners.append((hears, run.run_id))

    def tell(self, run: Run, event: ev.Event) -> None:
        """Number the event and hand it to whoever listens.

        Left out is what would break the rule of pairs: an end without a start, anything of a run that is over. A run that
        ends closes whatever is still open inside it.
        """
        with self._lock:
            known = bracket(event)
            key = (known[0], run.run_id, known[2]) if known is not None else None
            told = self._fitting(run, key, event)
            if told is None:
                return
            if isinstance(told, ev.RunFinished | ev.RunFailed):
                self._close(run)
            self._give(told, run.run_id, run.parent.run_id if run.parent is not None else None)
            if isinstance(told, ev.RunFinished | ev.RunFailed):
                self._listeners = [(h, scope) for h, scope in self._listeners if scope != run.run_id]

    def _fitting(self, run: Run, key: Key | None, event: ev.Event) -> ev.Event | None:
        """The event as it may be told, or None."""
        if isinstance(event, ev.Started):
            assert key is not None
            return self._opening(run, key, event)
        if ("run", run.run_id, "") not in self._opened or (key is not None and key not in self._opened):
            return None
        if key is None:
            return event
        if isinstance(event, ev.ToolCalled):
            if key in self._called:
                return None
            self._called.add(key)
        name = self._names.get(key)
        if isinstance(event, ev.Ended):
            del self._opened[key]
            self._names.pop(key, None)
            self._called.discard(key)
        return event if name is None else msgspec.structs.replace(event, span=name)

    def _opening(self, run: Run, key: Key, event: ev.Started) -> ev.Event | None:
        if key in self._opened:
            return None
        if key[0] != "run" and ("run", run.run_id, "") not in self._opened:
            return None
        told: ev.Started = event
        if key[0] in ("llm", "tool", "task"):
            times = self._times[key] = self._times.get(key, 0) + 1
            if times > 1:
                name = self._names[key] = f"{key[2]}#{times}"
                told = msgspec.structs.replace(event, span=name)
        self._opened[key] = (told, run.parent.run_id if run.parent is not None else None)
        return told

    def _close(self, run: Run) -> None:
        """End what is still open in a run that ends: the innermost first."""
        left = [key for key in self._opened if _within(key[1], run.run_id)]
        for key in reversed(left):
            opened, parent = self._opened.pop(key)
            self._names.pop(key, None)
            self._called.discard(key)
            self._give(abandoned(opened), key[1], parent)

    def _give(self, event: ev.Event, run_id: str, parent: str | None) -> None:
        self._seq += 1
        stamped = ev.stamp(event, run_id, self._seq, parent)
        for hears, scope in tuple(self._listeners):
            if _within(run_id, scope):
                heard(hears, stamped)


def heard(hears: Callable[[Any], object], told: Any) -> Any:
    """Call a listener; what it raises is logged, unless its owner has a true ``raise_error``."""
    try:
        return hears(told)
    except Exception as error:
        if _raises(hears, error):
            raise
        return None


async def heard_async(hears: Callable[[Any], object], told: Any) -> None:
    """The same, awaiting what it returns if that wants to be awaited."""
    try:
        found = hears(told)
        if isinstance(found, Awaitable):
            await cast("Awaitable[Any]", found)
    except Exception as error:
        if _raises(hears, error):
            raise


def _raises(hears: Any, error: Exception) -> bool:
    if getattr(getattr(hears, "__self__", hears), "raise_error", False):
        return True
    _log.warning("listener %s failed: %r", getattr(hears, "__qualname__", repr(hears)), error)
    return False


def code_of(error: BaseException) -> str:
    """How an event names an error: a failure's code, "cancelled", or the class."""
    if isinstance(error, Failure):
        return error.code
    name = type(error).__name__
    return {"CancelledError": "cancelled", "GeneratorExit": "cancelled", "GraphInterrupt": "interrupt"}.get(name, name)


def abandoned(opened: ev.Started) -> ev.Event:
    """The end of what was begun and will not end by itself."""
    match opened:
        case ev.RunStarted():
            return ev.RunFailed("abandoned", "the run around it is over")
        case ev.NodeStarted():
            return ev.NodeFailed(opened.node, opened.span, "abandoned")
        case ev.TaskStarted():
            return ev.TaskFailed(opened.name, opened.span, "abandoned")
        case ev.LLMStarted():
            return ev.LLMFailed(opened.span, "abandoned")
        case ev.ToolStarted():
            return ev.ToolFailed(opened.span, "abandoned")
        case _:
            assert_never(opened)


def listeners_of(given: Any) -> Sequence[Hears]:
    """One listener, several, or none, as a sequence. Raises: ConfigurationError."""
    if given is None:
        return ()
    if callable(given):
        return (given,)
    if isinstance(given, (list, tuple)):
        return tuple(cast("Sequence[Hears]", given))
    raise ConfigurationError(
        f"Listeners are a function of one event, or a list of them, got {given!r:.100}",
        component="graph",
        operation="on_event",
    )


def _within(run_id: str, scope: str) -> bool:
    return run_id == scope or run_id.startswith(f"{scope}.")
