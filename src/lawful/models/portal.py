"""How sync code uses a model that speaks asyncio: one thread with an event loop for each model, begun when first needed."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

from lawful.core.errors import ConfigurationError, InternalError

T = TypeVar("T")


def no_loop_here(what: str, instead: str) -> None:
    """Raises: ConfigurationError, if an event loop runs in this thread and would be blocked."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise ConfigurationError(
        f"{what}() would block the event loop that runs in this thread: await {instead}() instead",
        component="models",
        operation=what,
    )


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits, without an event loop.

    Raises: InternalError, if it does wait.
    """
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    work.close()
    raise InternalError("a model that says it is immediate has waited", component="models", operation="invoke")


class Holder(Protocol):
    """What keeps a portal: a model or an embedder."""

    _portal: Portal | None

    @property
    def component_id(self) -> str: ...


_making = threading.Lock()


def portal_of(holder: Holder) -> Portal:
    """The holder's portal; one for all threads of this process, made when it is first needed."""
    kept = holder._portal  # pyright: ignore[reportPrivateUsage]
    if kept is not None and kept.usable:
        return kept
    with _making:
        kept = holder._portal  # pyright: ignore[reportPrivateUsage]
        if kept is None or not kept.usable:
            kept = holder._portal = Portal(holder.component_id)  # pyright: ignore[reportPrivateUsage]
        return kept


class Portal:
    """An event loop in a thread of its own, where a model's connections live over many sync calls."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._pid = os.getpid()
        self._thread = threading.Thread(target=_serve, args=(self._loop,), name=f"lawful {name}", daemon=True)
        self._thread.start()
        self._finalizer = weakref.finalize(self, _stop, self._loop, self._pid)

    @property
    def usable(self) -> bool:
        """Whether its thread is there: a forked child has the object and not the thread."""
        return self._pid == os.getpid() and self._thread.is_alive()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of ``work``, which runs with this thread's context variables; an interrupt cancels it."""
        future = self.submit(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin ``work`` there; what is given can be waited for in any thread or, wrapped, in any loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def stop(self) -> None:
        """Stop the loop without waiting for its thread."""
        self._finalizer()

    def close(self) -> None:
        """Stop the loop and wait for the thread."""
        self._finalizer()
        self._thread.join()


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def _stop(loop: asyncio.AbstractEventLoop, pid: int) -> None:
    if pid == os.getpid() and not loop.is_closed():
        loop.call_soon_threadsafe(loop.stop)
