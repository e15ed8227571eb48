"""Two thin drivers for the ledger's steps: one that blocks, one on asyncio; neither knows a rule."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import Any, TypeVar, cast

from lawful.core.errors import ConfigurationError, Failure, StoreError
from lawful.effects.capability import Seen, Unavailable
from lawful.effects.replies import Ended
from lawful.effects.sightings import believed, stands
from lawful.effects.steps import Call, Do, Look, Step, Steps
from lawful.journal.port import Journal

R = TypeVar("R")

GRACE = 1.0
"""Seconds for which a cancelled call between claim and outcome may run on."""
_TRIES = 4
"""How often an outcome is offered to a store in trouble."""
_PAUSE = 0.05


def run_sync(steps: Steps[R]) -> R:
    """Drive ``steps`` in this thread; a coroutine function gets an event loop of its own for its call."""
    got: Any = None
    torn: BaseException | None = None
    try:
        step = next(steps)
        while True:
            match step:
                case Do(work, retry):
                    try:
                        got = _tried(work) if retry else work()
                    except Failure as error:
                        step = steps.throw(error)
                        continue
                case Call():
                    got = _called(step)
                    torn = got.error if got.stop else torn
                case Look():
                    got = _looked(step)
            step = steps.send(got)
    except StopIteration as end:
        if torn is not None:
            raise torn from None
        return cast("R", end.value)


def no_loop_here(what: str) -> None:
    """Raises: ConfigurationError, if an event loop runs in this thread and would be blocked."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise ConfigurationError(
        f"{what} is async and an event loop runs in this thread: await it instead of calling .sync()",
        component="effects",
        operation=what,
    )


def _tried(work: Callable[[], R]) -> R:
    for left in range(_TRIES - 1, -1, -1):
        try:
            return work()
        except StoreError:
            if not left:
                raise
            time.sleep(_PAUSE * (_TRIES - left))
    raise AssertionError("unreachable")


def _dispatched(work: Callable[[], Any], seconds: float, read: Callable[[Any], Any]) -> Ended:
    """The tool-dispatch seam: whatever an effect's code raises, its claim gets an outcome."""
    try:
        found = work()
        if inspect.isawaitable(found):
            found = asyncio.run(_within(found, seconds))
        return Ended(read(found))
    except BaseException as error:  # noqa: BLE001 - the seam; what is no Exception is raised once this is settled
        return Ended(error=error, stop=not isinstance(error, Exception))


def _called(call: Call[Any, Any]) -> Ended:
    intent = call.intent
    return _dispatched(lambda: intent.effect.attempt(intent.command, call.ctx), intent.record.timeout, lambda it: it)


async def _within(work: Awaitable[R], seconds: float) -> R:
    async with asyncio.timeout(seconds):
        return await work


def _looked(look: Look[Any, Any]) -> Seen[Any]:
    seconds = look.intent.record.timeout
    return _seen(_dispatched(lambda: _sought(look), seconds, lambda seen: _as_seen(look, seen)))


def _seen(ended: Ended) -> Seen[Any]:
    """What a look-up found: one that failed has seen nothing."""
    if ended.error is None:
        return ended.value
    if ended.stop:
        raise ended.error
    return Unavailable(f"{type(ended.error).__name__}: {ended.error}"[:300].encode(errors="replace").decode())


def _sought(look: Look[Any, Any]) -> Any:
    effect = look.intent.effect
    match look.at:
        case "effect":
            ask: Callable[[Any, Any], Any] = effect.seek
        case "fence":
            ask = effect.bar
        case "revision":
            ask = effect.present
    return ask(look.intent.command, look.ctx)


def _as_seen(look: Look[Any, Any], seen: Any) -> Seen[Any]:
    effect = look.intent.effect
    return stands(effect, seen) if look.at == "revision" else believed(effect, seen)


# asyncio


async def run_async(journal: Journal, steps: Steps[R]) -> R:
    """Drive ``steps`` on the running loop.

    Work on the store is never broken off: a cancellation that arrives meanwhile is raised once the outcome of what was
    claimed is written down. A call gets `GRACE` seconds to end after a cancellation.
    """
    torn: BaseException | None = None
    try:
        step: Step = next(steps)
        while True:
            match step:
                case Do():
                    try:
                        got, hit = await _done(journal, step)
                    except Failure as error:
                        step = steps.throw(error)
                        continue
                    torn = torn or hit
                case Call():
                    if torn is not None:
                        got = Ended(cause="not_started", stop=True)
                    else:
                        got, torn = await _call(step)
                case Look():
                    if torn is not None:
                        raise torn
                    got = await _look(step)
            step = steps.send(got)
    except StopIteration as end:
        if torn is not None:
            raise torn from None
        return cast("R", end.value)


async def _done(journal: Journal, do: Do) -> tuple[Any, BaseException | None]:
    work = (lambda: _tried(do.work)) if do.retry else do.work
    if not journal.blocking:
        return work(), None
    running = asyncio.ensure_future(_in_thread(work))
    torn: BaseException | None = None
    while not running.done():
        try:
            await asyncio.shield(running)
        except asyncio.CancelledError as hit:
            torn = hit
        except StoreError:
            break
    return running.result(), torn


async def _in_thread(work: Callable[[], R]) -> R:
    """``work`` in a thread of its own, with this task's context."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[R] = loop.create_future()
    context = copy_context()

    def tell(value: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)

    def body() -> None:
        value: Any = None
        failed: BaseException | None = None
        try:
            value = context.run(work)
        except BaseException as error:  # noqa: BLE001 - handed to the waiting task as it is
            failed = error
        try:
            loop.call_soon_threadsafe(tell, value, failed)
        except RuntimeError:  # the loop is closed: nobody waits any more
            return

    threading.Thread(target=body, name="lawful-effect", daemon=True).start()
    return await future


async def _call(call: Call[Any, Any]) -> tuple[Ended, BaseException | None]:
    """How the call ended, and what is to be raised once that is written down."""
    running = asyncio.ensure_future(_ended(_performed(call)))
    torn: BaseException | None = None
    try:
        await asyncio.wait({running}, timeout=call.intent.record.timeout)
    except asyncio.CancelledError as hit:
        torn = hit
    cause = "cancel" if torn is not None else "exception"
    if not running.done():
        call.ctx.cancelled = True
        if torn is None:
            cause = "timeout"
            running.cancel()
        await _grace(running)
    if not running.done() or running.cancelled():
        return Ended(cause=cause, stop=torn is not None), torn
    ended = running.result()
    if torn is not None:
        return Ended(ended.value, ended.error, ended.cause, True), torn
    return ended, ended.error if ended.stop else None


async def _grace(running: asyncio.Future[Ended]) -> None:
    """Let the call run on for the grace time, whatever else is cancelled meanwhile; then it is cancelled."""
    loop = asyncio.get_running_loop()
    until = loop.time() + GRACE
    while not running.done() and loop.time() < until:
        try:
            await asyncio.wait({running}, timeout=until - loop.time())
        except asyncio.CancelledError:
            continue
    running.cancel()


async def _ended(work: Awaitable[Any]) -> Ended:
    """The tool-dispatch seam of the async driver; a cancellation is no outcome."""
    try:
        return Ended(await work)
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 - the seam; what is no Exception is raised once this is settled
        return Ended(error=error, stop=not isinstance(error, Exception))


async def _performed(call: Call[Any, Any]) -> Any:
    if call.intent.effect.needs_loop:
        return await cast("Any", call.intent.effect.attempt(call.intent.command, call.ctx))
    return await _in_thread(lambda: _heard(call))


def _heard(call: Call[Any, Any]) -> Any:
    """A sync performer in its thread; a reply that nobody waits for any more is still written down."""
    value = call.intent.effect.attempt(call.intent.command, call.ctx)
    if call.ctx.cancelled:
        call.late(Ended(value))
    return value


async def _look(look: Look[Any, Any]) -> Seen[Any]:
    return _seen(await _ended(_sighted(look)))


async def _sighted(look: Look[Any, Any]) -> Seen[Any]:
    needs_loop = look.intent.effect.needs_loop
    seeking = cast("Awaitable[Any]", _sought(look)) if needs_loop else _in_thread(lambda: _sought(look))
    return _as_seen(look, await _within(seeking, look.intent.record.timeout))
