"""A bounded buffer between a run and who listens to it: the run waits while it is full, the listener while it is empty."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

BUFFER = 64
"""Events that wait at most; ends of what was cancelled may come on top, one for each thing that is open."""


class Pipe:
    """Used on one event loop; `push` never waits, `room` does."""

    def __init__(self, limit: int = BUFFER) -> None:
        self.closed = False
        """Nobody listens any more: what is pushed is dropped, nothing waits."""
        self.most = 0
        """The most that ever waited."""
        self._limit = limit
        self._items: deque[Any] = deque()
        self._reader: asyncio.Future[None] | None = None
        self._writers: deque[asyncio.Future[None]] = deque()
        self._ended = False

    @property
    def full(self) -> bool:
        return len(self._items) >= self._limit and not self.closed

    def push(self, item: Any) -> None:
        if self.closed:
            return
        items = self._items
        items.append(item)
        if len(items) > self.most:
            self.most = len(items)
        self._wake()

    async def room(self) -> None:
        """Wait until it is not full."""
        while self.full:
            place = asyncio.get_running_loop().create_future()
            self._writers.append(place)
            await place

    def end(self) -> None:
        """Nothing comes any more."""
        self._ended = True
        self._wake()

    def close(self) -> None:
        """Nobody listens any more."""
        self.closed = True
        self._items.clear()
        while self._writers:
            self._let_in()
        self._wake()

    async def take(self) -> Any:
        """The next item. Raises: StopAsyncIteration, at the end; RuntimeError, where another already waits for it."""
        if self._reader is not None and not self._reader.done():
            raise RuntimeError("two readers wait for the same stream: start one for each")
        items = self._items
        while not items:
            if self._ended or self.closed:
                raise StopAsyncIteration
            while self._writers:  # one that was let in and then cancelled left its place unused
                self._let_in()
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        item = items.popleft()
        if self._writers and len(items) < self._limit:
            self._let_in()
        return item

    def _wake(self) -> None:
        reader = self._reader
        if reader is not None and not reader.done():
            reader.set_result(None)

    def _let_in(self) -> None:
        while self._writers:
            place = self._writers.popleft()
            if not place.done():
                place.set_result(None)
                return
