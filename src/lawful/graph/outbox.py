"""The bounded buffer between a run and whoever reads its stream."""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final

LIMIT: Final = 64
"""Chunks that may wait for a reader before nodes are held back."""


class Outbox(deque[Any]):
    """Chunks in order. The engine never waits for room; nodes do: in a thread at once, in a loop at their next await."""

    def __init__(self) -> None:
        super().__init__()
        self.wake: Callable[[], None] | None = None
        """Tells a driver that waits that something came; safe to call from any thread."""
        self.awaited = False
        """Whether that driver waits: the next chunk wakes it."""
        self.left = False
        """Whether nobody reads any more."""
        self._room = threading.Condition()
        self._asked = False
        """Whether somebody waits for room, and has not been told of it yet."""
        self._sleepers: list[Any] = []

    def give(self, chunk: Any) -> None:
        """Add one, from any thread."""
        if self.left:
            return
        self.append(chunk)
        if self.awaited:
            self.awaited = False
            if self.wake is not None:
                self.wake()

    def offer(self, chunk: Any) -> None:
        """Add one, from a node, which is held back where it is far ahead of the reader."""
        self.give(chunk)
        if len(self) >= LIMIT:
            self.press()

    def await_one(self) -> bool:
        """Have the next chunk wake the driver; False where there is one already."""
        self.awaited = True  # first, so that a chunk that comes now either is seen here or sees this
        if self:
            self.awaited = False
        return self.awaited

    @property
    def full(self) -> bool:
        return len(self) >= LIMIT and not self.left

    def popleft(self) -> Any:
        """The next one, for the reader; those who wait go on once half of the buffer is free."""
        chunk = super().popleft()
        if self._asked and len(self) <= LIMIT // 2:
            self._release()
        return chunk

    def clear(self) -> None:
        """The reader has left: what waits is dropped, and nobody is held back any more."""
        self.left = True
        super().clear()
        self._release()

    def _release(self) -> None:
        with self._room:
            self._asked = False
            sleepers, self._sleepers = self._sleepers, []
            self._room.notify_all()
        for loop, sleeper in sleepers:
            try:
                loop.call_soon_threadsafe(_rouse, sleeper)
            except RuntimeError:  # that loop is closed, and with it whoever waited
                continue

    def press(self) -> None:
        """Wait for room, in a thread of a node's own; in an event loop, where that would stop everything, do nothing."""
        if not self.full or _in_loop():
            return
        with self._room:
            while True:
                self._asked = True  # first, so that a reader who makes room now either is seen here or sees this
                if len(self) <= LIMIT // 2 or self.left:
                    return
                self._room.wait()

    async def room(self) -> None:
        """Wait for room, in an event loop; without one, as `press` does."""
        if not self.full:
            return
        if not _in_loop():
            self.press()
            return
        asyncio = sys.modules["asyncio"]
        while self.full:
            loop = asyncio.get_running_loop()
            sleeper = loop.create_future()
            with self._room:
                self._sleepers.append((loop, sleeper))
                self._asked = True
            if not self.full:  # it was emptied just before we lay down
                return
            await sleeper


def _rouse(sleeper: Any) -> None:
    if not sleeper.done():
        sleeper.set_result(None)


def _in_loop() -> bool:
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
