"""Where the async driver hears of what has come, from its own thread and from others, and how it is woken."""

from __future__ import annotations

import asyncio
from _thread import get_ident
from collections import deque
from typing import Any

from lawful.graph.drivers.shared import Deal, Driver
from lawful.graph.machine import Machine


class Listening(Driver):
    """A driver with an inbox, on the thread of one event loop."""

    __slots__ = ("_waking", "inbox", "loop", "sleeper", "thread")

    def __init__(
        self,
        machine: Machine,
        deal: Deal | None,
        chunks: deque[Any],
        *,
        live: bool = False,
        limit: int | None = None,
        step_timeout: float | None = None,
    ) -> None:
        super().__init__(machine, deal, chunks, live=live, limit=limit, step_timeout=step_timeout)
        self.loop = asyncio.get_running_loop()
        self.thread = get_ident()
        self.inbox: deque[Any] = deque()
        """Events, and tasks whose attempt is over."""
        self.sleeper: asyncio.Future[None] | None = None
        """What the driver waits for while there is nothing to do."""
        self._waking = False

    def wake(self) -> None:
        """Something has come; call it on the loop's thread."""
        sleeper = self.sleeper
        if sleeper is not None and not sleeper.done():
            sleeper.set_result(None)

    def wake_from_anywhere(self) -> None:
        """Something was streamed, maybe from another thread."""
        if get_ident() == self.thread:
            self.wake()
        else:
            self.post_from_thread(None)

    def post(self, event: Any) -> None:
        """An event, on the loop's thread."""
        self.inbox.append(event)
        self.wake()

    def post_from_thread(self, event: Any) -> None:
        """An event (or None: only wake up) from any other thread."""
        if event is not None:
            self.inbox.append(event)
        if not self._waking:
            self._waking = True
            try:
                self.loop.call_soon_threadsafe(self._woken)
            except RuntimeError:  # the loop is closed: nobody waits any more
                self._waking = False

    def _woken(self) -> None:
        self._waking = False
        self.wake()
