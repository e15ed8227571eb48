"""The one task that a session with a server lives in: opened, watched, closed and opened anew; callers of any task use it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeVar

from lawful.core.errors import ConfigurationError, Failure, NetworkError, ToolError
from lawful.core.lazy import late
from lawful.core.secret import redact
from lawful.mcp.errors import CallUnknown
from lawful.mcp.transport import Complaints

TYPE_CHECKING = False
if TYPE_CHECKING:
    import httpx2
    import mcp
    import mcp_types as types
else:
    httpx2 = late("httpx2", extra="mcp")
    mcp = late("mcp", extra="mcp")
    types = late("mcp_types", extra="mcp")

T = TypeVar("T")

CLOSING = 8.0
"""Seconds that closing a session may take; the SDK's own escalation from a closed pipe to SIGKILL takes up to 6."""
SETTLING = 0.5
"""Seconds to wait for the reason of a connection's end."""
NOT_DONE = frozenset({types.INVALID_PARAMS, types.METHOD_NOT_FOUND, types.INVALID_REQUEST, types.PARSE_ERROR})
"""Codes by which a server says that it did not begin."""
_NO_ANSWER = frozenset({types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT})


class Steps(Protocol):
    """What a session is made of."""

    def session(self, over: asyncio.Event, complaints: Complaints) -> AbstractAsyncContextManager[Any]:
        """The client of one session, not yet entered."""
        ...

    async def begin(self, client: Any) -> None:
        """Look at the server before anybody uses it. Raises: ServerChanged."""
        ...

    async def watch(self, client: Any) -> None:
        """Hear of changes for as long as the session lasts."""
        ...


class NotSent(NetworkError):
    """The server was not reached: the call did not leave."""

    code = "mcp_not_sent"


class Refused(ToolError):
    """The server answered that it does not do this."""

    code = "mcp_refused"


class Session:
    """One session: its task, which enters and leaves all scopes itself."""

    def __init__(self, name: str, steps: Steps) -> None:
        self.over = asyncio.Event()
        """Set when the server will say no more, or when it is to be closed."""
        self.complaints = Complaints(name)
        self.pending = 0
        self._open = steps.session
        self._steps = steps
        self._ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.task = asyncio.create_task(self._live(), name=f"lawful mcp {name}")
        self.task.add_done_callback(self._ended)

    async def _live(self) -> None:
        async with self._open(self.over, self.complaints) as client:
            await self._steps.begin(client)
            if not self._ready.done():
                self._ready.set_result(client)
            watching = asyncio.create_task(self._steps.watch(client))
            try:
                await self.over.wait()
            finally:
                watching.cancel()
                await asyncio.wait({watching})
                if not watching.cancelled():
                    watching.exception()  # looked at: a server that tells of no changes is used all the same

    def _ended(self, task: asyncio.Task[None]) -> None:
        self.over.set()
        error = None if task.cancelled() else task.exception()
        if not self._ready.done():
            self._ready.set_exception(error or ConnectionError("the session was closed before it began"))
            self._ready.exception()  # looked at: nobody may be waiting any more

    @property
    def client(self) -> Any:
        """The SDK's client, once it has begun."""
        return self._ready.result()

    async def begun(self, timeout: float) -> BaseException | None:
        """Wait until it can be used; why it cannot, if it cannot."""
        await asyncio.wait({self._ready}, timeout=timeout)
        return self._ready.exception() if self._ready.done() else TimeoutError()

    async def why(self) -> BaseException | None:
        """What the session ended with, if it does within a moment."""
        await asyncio.wait({self.task}, timeout=SETTLING)
        return self.task.exception() if self.task.done() and not self.task.cancelled() else None

    def interrupt(self) -> None:
        """Give up connecting, if it still is."""
        if not self._ready.done():
            self.task.cancel()

    async def close(self) -> None:
        self.over.set()
        done, left = await asyncio.wait({self.task}, timeout=CLOSING)
        for task in left:
            task.cancel()
        await asyncio.wait({self.task}, timeout=CLOSING)
        for task in done:
            if not task.cancelled():
                task.exception()  # looked at


class Owner:
    """The session of the moment; lives in one event loop, all methods are called there."""

    def __init__(self, name: str, connect_timeout: float, steps: Steps) -> None:
        self._name = name
        self._connect_timeout = connect_timeout
        self._steps = steps
        self._lock = asyncio.Lock()
        self._session: Session | None = None
        self.closed = False
        self.sessions = 0
        """How many were opened."""

    async def session(self) -> tuple[Session, Any]:
        """A session that is alive, opened now if there is none.

        Raises: NotSent, if the server cannot be reached or started, ConfigurationError, if it speaks no version of the
        protocol that we do, or after `close`.
        """
        async with self._lock:
            if self.closed:
                raise self._error(ConfigurationError, "the connection is closed")
            held = self._session
            if held is not None and held.over.is_set():
                self._session = None
                await held.close()
                held = None
            if held is None:
                held = self._session = Session(self._name, self._steps)
                self.sessions += 1
            error = await held.begun(self._connect_timeout)
            if error is None:
                return held, held.client
            self._session = None
            await held.close()
            raise self._unreached(held, error) from bare(error)

    async def ask(
        self, what: str, work: Callable[[Any], Awaitable[T]], *, timeout: float | None, again: bool = False
    ) -> T:
        """What ``work`` gives of the session's client.

        ``again``: a repeat does no harm, so that one is made where the answer of the first was lost.

        Raises: NotSent; Refused, where the server says that it did nothing; CallUnknown; ToolError for any other error
        that the server answers with.
        """
        for last in (False, True):
            session, client = await self.session()
            session.pending += 1
            try:
                async with asyncio.timeout(timeout):
                    return await work(client)
            except (mcp.MCPError, TimeoutError) as error:
                why: Exception = error
                told = await self._told(session, what, error)
            finally:
                session.pending -= 1
            ended = isinstance(told, NotSent) or (isinstance(told, Refused) and session.over.is_set())
            if last or not (ended or (again and isinstance(told, CallUnknown))):
                raise told from why
        raise AssertionError("unreachable")

    async def _told(self, session: Session, what: str, error: Exception) -> Failure:
        """What an unanswered or refused request means."""
        if isinstance(error, TimeoutError):
            return self._unknown(what, "no answer in time")
        assert isinstance(error, mcp.MCPError)
        if error.code in _NO_ANSWER:
            alone = session.pending == 1
            if error.code == types.CONNECTION_CLOSED:
                session.over.set()  # whatever is wrong with it, the next call gets a new one
                cause = await session.why()
                if alone and cause is not None and _never_left(cause):
                    return self._error(NotSent, f"{what}: the server was not reached: {said(cause)}")
            return self._unknown(what, f"{error.message}{_tail(session)}")
        if error.code == types.INVALID_REQUEST and error.message == "Session terminated":
            session.over.set()
        kind = Refused if error.code in NOT_DONE else ToolError
        return self._error(kind, f"{what}: {error.message} ({error.code})", code=str(error.code))

    def _unknown(self, what: str, why: str) -> CallUnknown:
        text = f"{what}: the outcome is not known: {why}"
        return self._error(CallUnknown, text, outcome="unknown")

    def _unreached(self, session: Session, error: BaseException) -> Failure:
        for leaf in leaves(error):
            if isinstance(leaf, Failure):
                return leaf
            if isinstance(leaf, mcp.MCPError) and leaf.code == types.UNSUPPORTED_PROTOCOL_VERSION:
                return self._error(ConfigurationError, f"no version of the protocol in common: {leaf.message}")
            if isinstance(leaf, RuntimeError) and "protocol version" in str(leaf):
                return self._error(ConfigurationError, str(leaf))
        why = "no answer in time" if isinstance(error, TimeoutError) else said(error)
        return self._error(NotSent, f"cannot connect: {why}{_tail(session)}")

    def _error(self, kind: type[Any], why: str, **details: str) -> Any:
        return kind(
            redact(f"MCP server {self._name!r}: {why}"),
            component=f"mcp:{self._name}",
            operation="call" if kind is not ConfigurationError else "connect",
            details={"server": self._name, **details},
        )

    async def close(self) -> None:
        """End the session, if there is one, and open no other."""
        self.closed = True
        if self._session is not None:
            self._session.interrupt()
        async with self._lock:
            held, self._session = self._session, None
            if held is not None:
                await held.close()


def _tail(session: Session) -> str:
    last = session.complaints.last
    return f"; its last words: {last[-600:]}" if last else ""


def leaves(error: BaseException) -> Iterator[BaseException]:
    """The errors of which a group is made, or the error itself."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
            yield from leaves(inner)  # pyright: ignore[reportUnknownArgumentType]
    else:
        yield error


def bare(error: BaseException) -> BaseException:
    """The first error that says anything."""
    return next(leaves(error), error)


def said(error: BaseException) -> str:
    """Its first cause in words."""
    first = bare(error)
    return f"{type(first).__name__}: {first}"[:300]


def _never_left(error: BaseException) -> bool:
    """Whether every reason for the end is that no connection could be made."""
    return all(isinstance(leaf, (httpx2.ConnectError, httpx2.ConnectTimeout)) for leaf in leaves(error))
