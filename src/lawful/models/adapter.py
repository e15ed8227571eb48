"""What every adapter of an official SDK shares: a client for each event loop, its errors as ours, and one reader an answer."""

from __future__ import annotations

import asyncio
import json
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Final, Generic, Protocol, TypeVar
from weakref import WeakKeyDictionary

import msgspec

from lawful.core.errors import Failure, ForeignException
from lawful.core.retry import RetryPolicy
from lawful.models.failures import broken, late, malformed, redacted, refused
from lawful.models.pieces import Piece, TextPiece
from lawful.models.plain_json import items, table
from lawful.models.port import ChatModel
from lawful.models.settings import ModelConfig
from lawful.models.values import Request

ConfigT = TypeVar("ConfigT", bound=ModelConfig)
ClientT = TypeVar("ClientT")

RETRY: Final = RetryPolicy(initial_interval=0.5, max_interval=60.0, max_attempts=3)
"""What an adapter tries again by itself; the SDK's own retries are off, for they do not know what a run allows."""


_LONGEST: Final = 2_000


class Reader(Protocol):
    """Makes pieces of a wire's chunks, for one answer."""

    def feed(self, chunk: dict[str, Any], /) -> list[Piece]: ...


class Clients(Generic[ClientT]):
    """One client for each event loop, since a connection belongs to the loop that opened it; closed with the loop at last.

    A sync call of an agent has a loop of its own, which nobody could close a client on afterwards.
    """

    def __init__(
        self, make: Callable[[], ClientT], close: Callable[[ClientT], Awaitable[Any]], given: ClientT | None = None
    ) -> None:
        self._make = make
        self._close = close
        self._given = given
        """The caller's own, used on every loop and never closed here."""
        self._by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[ClientT, AsyncGenerator[None]]]
        self._by_loop = WeakKeyDictionary()

    def get(self) -> ClientT:
        """The running loop's client."""
        if self._given is not None:
            return self._given
        loop = asyncio.get_running_loop()
        held = self._by_loop.get(loop)
        if held is None:
            client = self._make()
            guard = self._kept(client)
            with suppress(StopIteration):
                guard.asend(None).send(
                    None
                )  # begun, it is known to the loop, which ends what is begun before it closes
            held = self._by_loop[loop] = client, guard
        return held[0]

    async def _kept(self, client: ClientT) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            await self._close(client)

    async def aclose(self) -> None:
        """Close the running loop's client."""
        held = self._by_loop.pop(asyncio.get_running_loop(), None)
        if held is not None:
            await held[1].aclose()


class Adapter(ChatModel[ConfigT]):
    """A model behind an SDK; an adapter says how its stream is opened, how read, and what its SDK raises."""

    retry: RetryPolicy | None = RETRY
    tag: str
    """Whose private bytes are sent back: the provider, and the server where it is not the provider's own."""
    secrets: tuple[str, ...] = ()
    raised: tuple[type[Exception], ...] = ()
    """What the SDK and what is beneath it raise."""

    @abstractmethod
    def opened(self, request: Request, config: ConfigT) -> AbstractAsyncContextManager[AsyncIterable[dict[str, Any]]]:
        """The chunks of one answer as plain data, while the block is open."""
        ...

    @abstractmethod
    def reader(self) -> Reader: ...

    async def pieces(self, request: Request, config: ConfigT) -> AsyncIterator[Piece]:
        reader = self.reader()
        said: list[str] = []
        begun = False
        failed: Failure | None = None
        try:
            async with self.opened(request, config) as chunks:
                async for chunk in chunks:
                    begun = True
                    for piece in self._read(reader, chunk):
                        if isinstance(piece, TextPiece):
                            said.append(piece.text)
                        yield piece
        except self.raised as error:
            failed = failure_of(error, self.component_id, begun, "".join(said), self.secrets)
        if failed is not None:
            # Raised out here, so that nothing leads back to the SDK's error, which holds the request and its key.
            raise failed

    def _read(self, reader: Reader, chunk: dict[str, Any]) -> list[Piece]:
        try:
            return reader.feed(chunk)
        except (KeyError, TypeError, AttributeError, ValueError, msgspec.MsgspecError) as error:
            told = malformed(self.component_id, f"{type(error).__name__}: {error}", secrets=self.secrets)
            raise told from error


def failure_of(error: Exception, where: str, begun: bool, text: str, secrets: tuple[str, ...]) -> Failure:
    """Our error for what an SDK, or the HTTP library beneath it, raised; its cause is that one's name and redacted text."""
    failed = _failure_of(error, where, begun, text, secrets)
    failed.__cause__ = ForeignException(type(error).__qualname__, redacted(str(error), secrets)[:_LONGEST])
    return failed


def _failure_of(error: Exception, where: str, begun: bool, text: str, secrets: tuple[str, ...]) -> Failure:
    """Told by the status, else by the names of the error's classes."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    status = _status(error)
    if status is not None:
        # Ollama's client hides the response behind its own error.
        response = getattr(error, "response", None) or getattr(error.__context__, "response", None)
        headers = {**_retry_info(error), **dict(getattr(response, "headers", None) or {})}
        return refused(where, status, _words(error), code=_code(error), headers=headers, secrets=secrets)
    if kinds & {"APITimeoutError", "TimeoutException", "TimeoutError"}:
        return late(where, type(error).__name__)
    if kinds & {"JSONDecodeError", "UnicodeDecodeError", "ValidationError", "DecodingError", "ValueError"}:
        return malformed(where, f"{type(error).__name__}: {error}", secrets=secrets)
    if kinds & {"APIConnectionError", "TransportError", "ConnectionError", "ClientError"}:
        cause = error.__cause__ or error
        return broken(where, begun, f"{type(cause).__name__}: {cause}", text=text, secrets=secrets)
    # An error event within the stream has no status.
    return refused(where, 500, _words(error), code=_code(error), secrets=secrets)


def _status(error: Exception) -> int | None:
    for name in ("status_code", "code"):
        found = getattr(error, name, None)
        if isinstance(found, int) and 100 <= found < 600:
            # The SDKs of OpenAI and Anthropic give an error event within a stream the status of its 200 response.
            return found if found >= 400 else None
    return None


def _body(error: Exception) -> dict[str, Any]:
    for name in ("body", "details"):
        body = table(getattr(error, name, None))
        if body:
            return table(body.get("error")) or body
    return {}


def _code(error: Exception) -> str:
    body = _body(error)
    for name in ("code", "type", "status"):
        found = body.get(name)
        if isinstance(found, str) and found:
            return found
    return ""


def _words(error: Exception) -> str:
    told = _body(error).get("message") or getattr(error, "message", None) or str(error)
    return told if isinstance(told, str) else json.dumps(told)


def _retry_info(error: Exception) -> dict[str, str]:
    """Gemini says in the body how long to wait."""
    for one in items(_body(error).get("details")):
        delay = table(one).get("retryDelay")
        if isinstance(delay, str) and delay.endswith("s"):
            return {"retry-after": delay[:-1]}
    return {}
