"""The streams to a server by the official SDK's transports, with a word when they end and the last lines it complained with."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, assert_never

from lawful.core.lazy import late
from lawful.core.secret import redact
from lawful.mcp import keeper
from lawful.mcp.address import Address, Command, Url, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    import anyio
    import httpx2
    from mcp.client import stdio
    from mcp.client import streamable_http as http
else:
    anyio = late("anyio", extra="mcp")
    stdio = late("mcp.client.stdio", extra="mcp")
    http = late("mcp.client.streamable_http", extra="mcp")
    httpx2 = late("httpx2", extra="mcp")

_log = logging.getLogger("lawful.mcp")

LINES = 20
"""How many lines of its standard error are kept."""


class Watched:
    """A stream of messages that says when it has ended."""

    def __init__(self, inner: Any, over: asyncio.Event) -> None:
        self._inner = inner
        self._over = over

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Any:
        try:
            return await self._inner.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._over.set()
            raise

    async def aclose(self) -> None:
        await self._inner.aclose()

    def close(self) -> None:
        self._inner.close()

    def __aiter__(self) -> Watched:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Watched:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class Complaints:
    """The last lines that a server wrote to its standard error."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lines: deque[str] = deque(maxlen=LINES)

    @property
    def last(self) -> str:
        return redact("\n".join(self._lines))

    def open(self) -> Any:
        """A file for the server to write to; a thread reads it until nobody has it open."""
        reading, writing = os.pipe()
        threading.Thread(target=self._read, args=(reading,), name=f"lawful mcp {self._name}", daemon=True).start()
        return os.fdopen(writing, "w", encoding="utf-8")

    def _read(self, reading: int) -> None:
        with os.fdopen(reading, "rb") as told:
            while line := told.readline(4096):
                text = line.decode(errors="replace").rstrip()
                self._lines.append(text)
                _log.debug("%s: %s", self._name, text)


@asynccontextmanager
async def opened(
    address: Address, over: asyncio.Event, complaints: Complaints, auth: Any = None
) -> AsyncGenerator[tuple[Any, Any]]:
    """The two streams to the server; ``over`` is set when it will say no more."""
    match address:
        case Command():
            with complaints.open() as told:
                async with stdio.stdio_client(_started(address), errlog=told) as (read, write):
                    told.close()
                    yield Watched(read, over), write
        case Url(url, headers):
            held = {name: shown(text) for name, text in headers.items()}
            limits = httpx2.Timeout(30.0, read=300.0)  # a server may hold an answer open
            async with (
                httpx2.AsyncClient(headers=held, auth=auth, timeout=limits) as client,
                http.streamable_http_client(url, http_client=client) as (read, write),
            ):
                yield Watched(read, over), write
        case _:
            assert_never(address)


def _started(address: Command) -> Any:
    env = {name: shown(text) for name, text in address.env.items()}
    words = list(address.words)
    if os.name == "posix":
        words = [sys.executable, "-I", "-S", str(Path(keeper.__file__)), str(os.getpid()), *words]
    return stdio.StdioServerParameters(command=words[0], args=words[1:], env=env, cwd=address.cwd)
