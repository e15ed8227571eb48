"""The reader's end of a model's stream: a bounded buffer, filled by one task that opens and closes the provider's side."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Final, Self

from lawful.core.errors import LLMError
from lawful.models.deltas import Completed, Delta, TextDelta
from lawful.models.driving import Put
from lawful.models.portal import Portal
from lawful.models.values import Reply

BUFFER: Final = 64
"""Deltas that may wait for a reader; when so many wait, the provider is read no further."""

Start = Callable[[Put], Awaitable[Reply]]


class _Buffer:
    """What the task that reads the provider and the reader share; it knows neither of them."""

    def __init__(self) -> None:
        self.items: deque[Delta] = deque()
        self.changed: asyncio.Event = asyncio.Event()
        self.room: asyncio.Event = asyncio.Event()
        self.room.set()
        self.over = False

    async def put(self, delta: Delta) -> None:
        while len(self.items) >= BUFFER:
            self.room.clear()
            await self.room.wait()
        self.items.append(delta)
        self.changed.set()

    def end(self) -> None:
        self.over = True
        self.changed.set()

    def take(self) -> Delta:
        delta = self.items.popleft()
        self.room.set()
        return delta


async def _pump(start: Start, buffer: _Buffer) -> None:
    try:
        await start(buffer.put)
    finally:
        buffer.end()


def _complete(reply: Reply | None) -> Reply:
    if reply is None:
        raise LLMError(
            "the answer is not complete: read the stream to its end first",
            component="models",
            operation="stream",
            retryable=False,
        )
    return reply


class Stream:
    """A model's answer while it comes; an async iterator of deltas and an async context manager that closes it."""

    def __init__(self, start: Start) -> None:
        self._start: Start | None = start
        self._buffer: _Buffer | None = None
        self._task: asyncio.Task[None] | None = None
        self._reply: Reply | None = None
        self._closed = False

    @property
    def reply(self) -> Reply:
        """The whole answer, once the stream has come to its end.

        Raises: LLMError before that.
        """
        return _complete(self._reply)

    def begin(self) -> None:
        """Ask the model, if that was not done yet."""
        if self._start is not None and not self._closed:
            self._buffer = _Buffer()
            self._task = asyncio.ensure_future(_pump(self._start, self._buffer))
            self._start = None

    async def __aenter__(self) -> Self:
        self.begin()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delta:
        self.begin()
        buffer, task = self._buffer, self._task
        if self._closed or buffer is None or task is None:
            raise StopAsyncIteration
        while not buffer.items:
            if buffer.over:
                self._closed = True
                await task
                raise StopAsyncIteration
            buffer.changed.clear()
            await buffer.changed.wait()
        delta = buffer.take()
        if isinstance(delta, Completed):
            self._reply = delta.reply
        return delta

    async def take(self, most: int = BUFFER) -> list[Delta]:
        """The next delta and those that wait behind it; an empty list at the end."""
        try:
            found = [await anext(self)]
        except StopAsyncIteration:
            return []
        while self._buffer is not None and self._buffer.items and len(found) < most:
            found.append(await anext(self))
        return found

    async def collect(self) -> Reply:
        """Read to the end: the whole answer."""
        async for _ in self:
            pass
        return self.reply

    async def show(self) -> Reply:
        """Print the text as it comes, read to the end, and give the whole answer."""
        async for text in self.text():
            print(text, end="", flush=True)
        print()
        return self.reply

    async def text(self) -> AsyncIterator[str]:
        """The text alone, piece by piece."""
        async for delta in self:
            if isinstance(delta, TextDelta):
                yield delta.text

    async def aclose(self) -> None:
        """Stop, and wait until the provider's connection is closed."""
        self._closed = True
        task = self._task
        if task is None or task.done():
            return
        task.cancel()
        await asyncio.wait([task])

    def __del__(self) -> None:
        task = self._task
        if task is None or task.done():
            return
        loop = task.get_loop()
        if not loop.is_closed():
            loop.call_soon_threadsafe(task.cancel)


class SyncStream:
    """The same for sync code: an iterator and a context manager; the provider is read in the model's own thread."""

    def __init__(self, portal: Portal, start: Start) -> None:
        self._portal = portal
        self._inner = Stream(start)
        self._ready: deque[Delta] = deque()
        self._reply: Reply | None = None
        self._over = False

    @property
    def reply(self) -> Reply:
        """As `Stream.reply`."""
        return _complete(self._reply)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Delta:
        if not self._ready:
            if self._over:
                raise StopIteration
            self._ready.extend(self._portal.run(self._inner.take()))
            if not self._ready:
                self._over = True
                raise StopIteration
        delta = self._ready.popleft()
        if isinstance(delta, Completed):
            self._reply = delta.reply
        return delta

    def collect(self) -> Reply:
        """As `Stream.collect`."""
        for _ in self:
            pass
        return self.reply

    def show(self) -> Reply:
        """As `Stream.show`."""
        for text in self.text():
            print(text, end="", flush=True)
        print()
        return self.reply

    def text(self) -> Iterator[str]:
        """As `Stream.text`."""
        for delta in self:
            if isinstance(delta, TextDelta):
                yield delta.text

    def close(self) -> None:
        """As `Stream.aclose`."""
        self._over = True
        self._ready.clear()
        if self._portal.usable:
            self._portal.run(self._inner.aclose())
