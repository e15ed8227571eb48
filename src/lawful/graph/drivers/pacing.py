"""Back-pressure for async nodes: a coroutine that is held back at its awaits while the stream's buffer is full."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from typing import Any

from lawful.graph.outbox import Outbox


class Paced:
    """Awaited like the coroutine it wraps; between two of its awaits it waits for room."""

    __slots__ = ("_outbox", "_work")

    def __init__(self, work: Coroutine[Any, Any, Any], outbox: Outbox) -> None:
        self._work = work
        self._outbox = outbox

    def __await__(self) -> Generator[Any, Any, Any]:
        work, outbox = self._work, self._outbox
        error: BaseException | None = None
        try:
            while True:
                try:
                    waits_for = work.throw(error) if error is not None else work.send(None)
                except StopIteration as done:
                    return done.value
                error = None
                try:
                    yield waits_for
                    if outbox.full:
                        yield from outbox.room().__await__()
                except BaseException as thrown:  # noqa: BLE001 - handed on to the work itself, as a plain await would
                    error = thrown
        finally:
            work.close()


async def held_back(outbox: Outbox, start: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Await what ``start`` gives, held back at each of its awaits while ``outbox`` is full."""
    return await Paced(start(), outbox)
