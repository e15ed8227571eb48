"""The one way through a model: ask, put together, tell, try again; what ``invoke`` returns and ``stream`` hands on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, Protocol, TypeAlias, TypeVar, cast

from lawful.core.clock import Clock
from lawful.core.context import Slot
from lawful.core.errors import Failure
from lawful.core.llm_errors import ModelTimeout
from lawful.core.retry import RetryPolicy, next_delay, retry_after
from lawful.models.assembler import Assembler
from lawful.models.deltas import Delta
from lawful.models.pieces import Piece
from lawful.models.settings import ModelConfig
from lawful.models.telling import Teller, answers_nobody, clock_of, here
from lawful.models.values import Reply, Request

Put: TypeAlias = Callable[[Delta], Awaitable[None]]
"""Hands a delta on; waits while the reader is slow."""

ConfigT_contra = TypeVar("ConfigT_contra", bound=ModelConfig, contravariant=True)
ConfigT = TypeVar("ConfigT", bound=ModelConfig)


class Source(Protocol[ConfigT_contra]):
    """What is driven: the part of a `ChatModel` that this file knows."""

    @property
    def provider(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def retry(self) -> RetryPolicy | None: ...
    @property
    def tags(self) -> tuple[str, ...]: ...
    def pieces(self, request: Request, config: ConfigT_contra, /) -> AsyncIterator[Piece]: ...


async def drive(source: Source[ConfigT], request: Request, config: ConfigT, put: Put | None = None) -> Reply:
    """The whole answer; each delta is told, and handed to ``put`` if there is one.

    The provider's stream is opened and closed in the task that runs this.

    Raises: what `ChatModel` says.
    """
    slot = here()
    answers_nobody(slot, f"{source.provider}:{source.name}")
    clock = clock_of(slot)
    deadline = _deadline(config.timeout, slot, clock)
    if deadline is None:
        return await _tries(source, request, config, put, slot)
    left = deadline - clock.monotonic()
    limit = asyncio.timeout(max(left, 0.0))
    try:
        async with limit:
            return await _tries(source, request, config, put, slot)
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise ModelTimeout(
            f"{source.provider}:{source.name} did not answer within {max(left, 0.0):g} s",
            component="models",
            operation=f"{source.provider}:{source.name}",
            details={"seconds": f"{max(left, 0.0):g}"},
        ) from error


def _deadline(timeout: float | None, slot: Slot | None, clock: Clock) -> float | None:
    """The earlier of the call's own end and the run's, on the clock's monotonic scale."""
    own = None if timeout is None else clock.monotonic() + timeout
    runs = None if slot is None else slot.run.deadline
    return own if runs is None else runs if own is None else min(own, runs)


async def _tries(
    source: Source[ConfigT], request: Request, config: ConfigT, put: Put | None, slot: Slot | None
) -> Reply:
    clock = clock_of(slot)
    handed = False

    async def hand(delta: Delta) -> None:
        nonlocal handed
        handed = True
        if put is not None:
            await put(delta)

    attempt = 1
    while True:
        try:
            return await _once(source, request, config, None if put is None else hand, slot)
        except Failure as error:
            # What a reader has seen cannot be taken back: then the error is his.
            wait = None if handed else next_delay(source.retry, error, attempt, clock.random())
            if wait is None or (source.retry is not None and (retry_after(error) or 0) > source.retry.max_interval):
                raise
            await asyncio.sleep(wait)
            attempt += 1


async def _once(
    source: Source[ConfigT], request: Request, config: ConfigT, put: Put | None, slot: Slot | None
) -> Reply:
    assembler = Assembler(clock_of(slot).token(), source.provider, source.name)
    teller = Teller(slot, assembler.message_id, f"{source.provider}:{source.name}", source.tags, quiet=request.quiet)
    try:
        # An async generator by the port's word; aclosing wants its aclose.
        stream = cast("AsyncGenerator[Piece, Any]", source.pieces(request, config))
        async with aclosing(stream):
            async for piece in stream:
                delta = assembler.feed(piece)
                if delta is not None:
                    teller.delta(delta)
                    await teller.room()
                    if put is not None:
                        await put(delta)
        ended = assembler.end()
        teller.delta(ended)
    except BaseException as error:
        teller.failed(error)
        raise
    if put is not None:
        await put(ended)
    return ended.reply
