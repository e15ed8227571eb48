"""How one step is done: its forms, its exceptions, its thread, its chunks, and what is told of it to who listens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from contextvars import copy_context
from typing import Any, cast

from lawful.core import events as ev
from lawful.core.context import Run as SlotRun
from lawful.core.context import Slot, current_task
from lawful.core.errors import ConfigurationError, NotInRun
from lawful.core.failure import Failure
from lawful.core.result import Err, Ok, Result
from lawful.core.signals import ControlSignal, GraphInterrupt, find_signal
from lawful.core.telling import Stream
from lawful.pipeline.nodes import Fold, Lambda, Prim, name_of
from lawful.pipeline.scene import Adrift, Leaf, Scene


def perform(leaf: Leaf, value: Any, scene: Scene, span: str) -> Any:
    """The step's own function or component, called."""
    if isinstance(leaf, Prim):
        component: Any = leaf.component
        if getattr(component, "wants_run", False):
            component = _with_run(component, scene, leaf)
        return _component(leaf, component, value, scene) if scene.heard else component(value)
    function = leaf.run
    if leaf.wants_run:
        function = _with_run(function, scene, leaf)
    if leaf.fold is not None:
        return _folded(function(value), leaf.fold, scene, leaf.name)
    return _in_thread(function, value, scene) if leaf.blocking else function(value)


def _with_run(function: Callable[..., Any], scene: Scene, leaf: Leaf) -> Callable[[Any], Any]:
    run = scene.run_of(leaf)
    return lambda value: function(value, run)


async def leaf_end(leaf: Leaf, value: Any, scene: Scene, span: str = "") -> Result[Any, Any]:
    """How the step ends on ``value``.

    Raises: control signals, bugs; Adrift, where it did outside a graph's run what only such a run can do.
    """
    try:
        answer = scene.perform(leaf, value, scene, span)
        if hasattr(answer, "__await__"):
            answer = await answer
    except Failure as error:
        if isinstance(error, NotInRun) and current_task.get() is None:
            raise Adrift(_adrift(leaf, error)) from error
        return Err(error)
    except caught_by(leaf) as error:
        return Err(_mapped(leaf, error))
    except GraphInterrupt:
        scene.asked.append(name_of(leaf))
        raise
    return cast("Result[Any, Any]", answer) if isinstance(answer, Ok | Err) else Ok(answer)


async def told_end(leaf: Leaf, value: Any, scene: Scene) -> Result[Any, Any]:
    """The same, with its start and its end told to who listens; a pure function's value is what it returns."""
    span, name = scene.span(), name_of(leaf)
    await scene.tell(ev.NodeStarted(node=name, span=span))
    try:
        if isinstance(leaf, Lambda) and leaf.pure:
            end: Result[Any, Any] = Ok(leaf.run(value))
        else:
            end = await leaf_end(leaf, value, scene, span)
    except BaseException as error:
        scene.say(ev.NodeFailed(node=name, span=span, code=code_of(error), message=str(error)))
        raise
    if isinstance(end, Err):
        await _at_end(scene, ev.NodeFailed(node=name, span=span, code=code_of(end.error), message=str(end.error)))
    else:
        await _at_end(scene, ev.NodeEnded(node=name, span=span))
    return end


async def _at_end(scene: Scene, event: Any) -> None:
    """Tell the end first and wait for room then: a run that is cancelled while it waits has told it all the same."""
    scene.say(event)
    await scene.room()


def code_of(error: BaseException) -> str:
    """What an event says of an exception: a Failure's code, a signal's class, else "cancelled" or "exception"."""
    if isinstance(error, Failure):
        return error.code
    if isinstance(error, ControlSignal):
        return type(error).__name__
    return "cancelled" if isinstance(error, asyncio.CancelledError) else "exception"


def caught_by(leaf: Leaf) -> tuple[type[Exception], ...]:
    """The exceptions of this step that are errors and not bugs."""
    return leaf.catch if isinstance(leaf, Lambda) else ()


def _mapped(leaf: Leaf, error: Exception) -> Failure:
    kind = leaf.error if isinstance(leaf, Lambda) else None
    assert kind is not None
    name = name_of(leaf)
    return kind(
        f"{name}: {type(error).__name__}: {error}",
        component="pipeline",
        operation=name,
        details={"step": name, "exception": type(error).__qualname__},
        cause=error,
    )


def _adrift(leaf: Leaf, error: NotInRun) -> ConfigurationError:
    name = name_of(leaf)
    return ConfigurationError(
        f"step {name!r}: {error.message}; make the pipeline a node of a graph and run that",
        component="pipeline",
        operation=name,
        details={"step": name},
        cause=error,
    )


async def settle(function: Callable[[Any], Any], value: Any) -> Result[Any, Any]:
    """What ``function(value)`` gives, whichever of its forms it has: a value, a Result, an awaitable, a Failure."""
    try:
        answer = function(value)
        if hasattr(answer, "__await__"):
            answer = await cast("Awaitable[Any]", answer)
    except Failure as error:
        return Err(error)
    return cast("Result[Any, Any]", answer) if isinstance(answer, Ok | Err) else Ok(answer)


async def _folded(chunks: AsyncIterator[Any], fold: Fold, scene: Scene, name: str) -> Any:
    """The chunks as one value; each is told as it comes. Whatever ends this early closes where they come from."""
    made = fold.start()
    async with aclosing(cast("Any", chunks)):
        async for chunk in chunks:
            made = fold.add(made, chunk)
            if scene.heard:
                await scene.tell(ev.Custom(value=chunk, node=name, name="chunk"))
    return fold.end(made)


def _component(leaf: Prim[Any, Any], call: Callable[[Any], Any], value: Any, scene: Scene) -> Any:
    """A component that is listened to: by its own events, or by what it tells through the running attempt."""
    component = leaf.component
    events = getattr(component, "events", None)
    if events is not None:
        return _listened(events(value), scene, name_of(leaf))
    if getattr(component, "kind", "") == "model" and current_task.get() is None:
        return _as_attempt(leaf, call, value, scene)
    return call(value)


async def _as_attempt(leaf: Prim[Any, Any], call: Callable[[Any], Any], value: Any, scene: Scene) -> Any:
    """A model outside a graph's run tells its pieces as if in a node's attempt, which here is this step."""
    run = SlotRun(run_id=scene.run_id, clock=scene.clock)
    waiting: Stream = Waiting(scene)
    run.teller, run.hub = Telling(scene), waiting
    slot = Slot(run, name_of(leaf), name_of(leaf), 1)
    token = current_task.set(slot)
    try:
        answer = call(value)
        return await answer if hasattr(answer, "__await__") else answer
    finally:
        slot.closed = True
        current_task.reset(token)


class Telling:
    """Where a model's events go: into the pipeline's stream."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def tell(self, run: SlotRun, event: ev.Event) -> None:
        self._scene.say(event)


class Waiting:
    """The stream of messages, as far as a pipeline has one: its pieces come as events, and its reader is waited for."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def say(self, slot: Slot, message: Any, **_: Any) -> None:
        """The events say it already."""

    def seen(self, slot: Slot, id: str) -> None:
        """No message is told by itself."""

    def press(self) -> None:
        """An event loop cannot be made to wait: `room` does."""

    async def room(self) -> None:
        await self._scene.room()


async def _listened(told: AsyncIterator[Any], scene: Scene, name: str) -> Any:
    """A component's own events, as they come, down to the Result that is the last thing it gives."""
    async with aclosing(cast("Any", told)):
        async for one in told:
            if isinstance(one, Ok | Err):
                return cast("Result[Any, Any]", one)
            await scene.tell(one)
    raise RuntimeError(f"the stream of component {name!r} ended without a Result")


async def _in_thread(function: Callable[[Any], Any], value: Any, scene: Scene) -> Any:
    """``function(value)`` in a thread, in this context; when cancelled meanwhile, it is waited for: nothing runs on."""
    loop = asyncio.get_running_loop()
    scene.on_loop()
    context = copy_context()

    def call() -> Any:
        return context.run(function, value)

    work = loop.run_in_executor(None, call)
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None or _is_signal(work.exception()):
        return work.result()
    raise cancelled


def _is_signal(error: BaseException | None) -> bool:
    return error is not None and find_signal(error) is not None
