"""A pipeline listened to while it runs: typed events through a bounded buffer, and everything beneath closed on leaving."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable
from typing import Any, Generic, TypeVar, cast, final, overload

from lawful.core import events as ev
from lawful.core.errors import ConfigurationError, Error, RunnableError
from lawful.core.result import Err, Result
from lawful.core.signals import ControlSignal, GraphInterrupt
from lawful.pipeline.build import wants_run
from lawful.pipeline.leaves import code_of, perform
from lawful.pipeline.machine import started
from lawful.pipeline.nodes import Fold, Lambda, Pipeline, function_name
from lawful.pipeline.pipe import BUFFER, Pipe
from lawful.pipeline.scene import Perform, Run, Scene

I = TypeVar("I")
O = TypeVar("O")
O_co = TypeVar("O_co", covariant=True)
A = TypeVar("A")
C = TypeVar("C")
Env = TypeVar("Env")


def stream(
    pipeline: Pipeline[I, O], value: I, *, env: Any = None, buffer: int = BUFFER, perform: Perform = perform
) -> Stream[O]:
    """The run's events as they come: ``async with stream(t, x) as events: async for event in events: ...``.

    Events of a run share its ``run_id``, ``seq`` grows, each start has exactly one end or error. The run waits while
    ``buffer`` events are not taken. Leaving the block cancels what still runs and waits until it is closed. What the run
    comes to is in ``result`` at the end, and is what `run` gives.

    Raises: ConfigurationError, if ``buffer`` is less than 1; while iterating what `run` raises, after the events before it.
    """
    if buffer < 1:
        raise ConfigurationError(
            f"stream: buffer must be at least 1, not {buffer}", component="pipeline", operation="stream"
        )
    return Stream(pipeline, value, Scene(perform, env, pipe=Pipe(buffer)))


@final
class Stream(Generic[O_co]):
    """Made by `stream`. Iterate it once; it starts when it is entered or first asked."""

    def __init__(self, pipeline: Pipeline[Any, O_co], value: Any, scene: Scene) -> None:
        self._what = pipeline, value
        self._scene = scene
        assert scene.pipe is not None
        self._pipe = scene.pipe
        self._task: asyncio.Task[Result[O_co, Error]] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def run_id(self) -> str:
        return self._scene.run_id

    @property
    def waiting(self) -> int:
        """The most events that ever waited."""
        return self._pipe.most

    @property
    def result(self) -> Result[O_co, Error]:
        """What `run` would have given.

        Raises: RunnableError before the end of the stream and after leaving it early; what the run raised.
        """
        task = self._task
        if task is None or not task.done() or task.cancelled():
            why = "has not come to its end" if task is None or not task.done() else "was left before its end"
            raise RunnableError(f"the stream {why}: there is no result", component="pipeline", operation="stream")
        return task.result()

    async def end(self) -> Result[O_co, Error]:
        """The result, once all that is left has been taken and thrown away."""
        async with self:
            async for _ in self:
                pass
        return self.result

    def _start(self) -> asyncio.Task[Result[O_co, Error]]:
        if self._task is None:
            # The task knows the pipe and not this object, which may so be dropped and then stops the run.
            self._task = asyncio.create_task(_played(*self._what, self._scene))
            self._loop = asyncio.get_running_loop()
        return self._task

    def __aiter__(self) -> AsyncIterator[ev.Event]:
        return self

    async def __anext__(self) -> ev.Event:
        if self._task is None and self._pipe.closed:  # left before it began
            raise StopAsyncIteration
        task = self._start()
        try:
            return await self._pipe.take()
        except StopAsyncIteration:
            if not self._pipe.closed:
                await asyncio.wait([task])
                task.result()
            raise

    async def __aenter__(self) -> Stream[O_co]:
        if not self._pipe.closed:
            self._start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop the run if it goes on, and wait until everything beneath is closed, even if cancelled meanwhile.

        Raises: a control signal or a bug that came up meanwhile.
        """
        self._pipe.close()
        task = self._task
        if task is None or task.done():
            return
        cancelled: asyncio.CancelledError | None = None
        task.cancel()
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError as error:
                cancelled = error
        found = None if task.cancelled() else task.exception()
        if found is not None:
            raise found
        if cancelled is not None:
            raise cancelled

    def __del__(self) -> None:
        task, loop = self._task, self._loop
        if task is not None and loop is not None and not task.done() and not loop.is_closed():
            loop.call_soon_threadsafe(_drop, self._pipe, task)


def _drop(pipe: Pipe, task: asyncio.Task[Any]) -> None:
    pipe.close()
    task.cancel()


async def _played(pipeline: Pipeline[Any, O], value: Any, scene: Scene) -> Result[O, Error]:
    """The whole run between its first and its last event."""
    pipe = scene.pipe
    assert pipe is not None
    await scene.tell(ev.RunStarted())
    try:
        end = cast("Result[O, Error]", await started(pipeline, value, scene))
    except GraphInterrupt as signal:
        asked = tuple(str(getattr(question, "id", "")) for question in signal.interrupts)
        scene.say(ev.RunFinished(outcome="interrupt", questions=asked))
        raise
    except BaseException as error:
        code = "run_cancelled" if isinstance(error, asyncio.CancelledError) else code_of(error)
        text = f"{type(error).__name__}: {error}" if not isinstance(error, ControlSignal) else str(error)
        scene.say(ev.RunFailed(code=code, message=text))
        raise
    else:
        if isinstance(end, Err):
            scene.say(ev.RunFailed(code=code_of(end.error), message=str(end.error)))
        else:
            scene.say(ev.RunFinished())
        return end
    finally:
        pipe.end()


def _text() -> Any:
    return []


def _add_text(parts: list[str], chunk: str) -> list[str]:
    parts.append(chunk)
    return parts


def _same(made: Any) -> Any:
    return made


@overload
def streamed(
    f: Callable[[I, Run[Env]], AsyncIterable[str]], /, *, name: str = "", effects: tuple[str, ...] = ()
) -> Pipeline[I, str]: ...
@overload
def streamed(
    f: Callable[[I], AsyncIterable[str]], /, *, name: str = "", effects: tuple[str, ...] = ()
) -> Pipeline[I, str]: ...
@overload
def streamed(
    f: Callable[[I], AsyncIterable[C]],
    /,
    *,
    start: A,
    add: Callable[[A, C], A],
    name: str = "",
    effects: tuple[str, ...] = (),
) -> Pipeline[I, A]: ...
def streamed(
    f: Callable[..., Any],
    /,
    *,
    start: Any = None,
    add: Callable[[Any, Any], Any] | None = None,
    name: str = "",
    effects: tuple[str, ...] = (),
) -> Pipeline[Any, Any]:
    """A step of an async generator: who listens gets each chunk as it comes, the next step gets them as one value.

    Text is joined; else ``add(start, chunk)``, again and again, makes the value, so that the chunks need not be kept.
    ``start`` must be a value that ``add`` does not change. Whoever leaves the run closes the generator, which then closes
    what it reads from: ``async with client.stream(...) as reply: async for line in reply: yield line``. A chunk comes as
    a `Custom` event called "chunk".
    """
    fold = Fold(_text, _add_text, "".join) if add is None else Fold(lambda: start, add, _same)
    return Lambda(f, name or function_name(f), effects=effects, wants_run=wants_run(f), fold=fold)
