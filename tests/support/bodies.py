"""Bodies of nodes made of drawn acts, each of which leans on the asyncio task that runs it, and a log of what they saw."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

import anyio

Log = list[Any]
Act = Callable[[Log], Coroutine[Any, Any, None]]

COLOUR: ContextVar[str] = ContextVar("colour", default="none")
HELD = [(who, "cancelled") for who in ("child", "guest", "inner", "first", "one", "other", "kept", "within")]
"""What child tasks log when they are cancelled, if they had begun by then."""
NEVER = 60.0
SOON = 0.001


def soon(turns: int = 2) -> asyncio.Future[str]:
    """A future that is done after so many turns of the loop."""
    loop = asyncio.get_running_loop()
    made: asyncio.Future[str] = loop.create_future()

    def turn(left: int) -> None:
        if made.done():
            return
        if left:
            loop.call_soon(turn, left - 1)
        else:
            made.set_result("came")

    turn(turns)
    return made


async def give_way(log: Log) -> None:
    await asyncio.sleep(0)
    log.append("turn")


async def wait(log: Log) -> None:
    log.append(await soon())


async def look(log: Log) -> None:
    me: Any = asyncio.current_task()
    log.append((me.done(), me.cancelled(), me.cancelling(), isinstance(me, asyncio.Task), me in asyncio.all_tasks()))
    await asyncio.sleep(0)
    log.append((asyncio.current_task() is me, me.get_loop() is asyncio.get_running_loop()))


async def name_it(log: Log) -> None:
    me: Any = asyncio.current_task()
    me.set_name("known")
    await soon()
    log.append((me.get_name(), asyncio.current_task() is me, "known" in repr(me), len(me.get_stack())))


async def colour(log: Log) -> None:
    log.append(COLOUR.get())
    COLOUR.set("red")
    await soon()
    log.append(COLOUR.get())


async def in_time(log: Log) -> None:
    async with asyncio.timeout(NEVER):
        await soon()
    log.append("in time")


async def too_late(log: Log) -> None:
    try:
        async with asyncio.timeout(SOON):
            await asyncio.sleep(NEVER)
    except TimeoutError:
        me = asyncio.current_task()
        log.append(("late", me.cancelling() if me is not None else None))


async def waited_for(log: Log) -> None:
    log.append(await asyncio.wait_for(soon(), NEVER))
    try:
        await asyncio.wait_for(asyncio.sleep(NEVER), SOON)
    except TimeoutError:
        log.append("no longer")


async def together(log: Log) -> None:
    log.append(await asyncio.gather(soon(1), soon(3), asyncio.sleep(0, "slept")))
    log.append([type(e).__name__ for e in await asyncio.gather(_fails(), soon(), return_exceptions=True)])


async def grouped(log: Log) -> None:
    async with asyncio.TaskGroup() as group:
        made = [group.create_task(_gives(i)) for i in range(3)]
    log.append([m.result() for m in made])


async def group_fails(log: Log) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_held(log, "child"))
            group.create_task(_fails())
            await asyncio.sleep(NEVER)
    except* KeyError as errors:
        me = asyncio.current_task()
        log.append(([type(e).__name__ for e in errors.exceptions], me.cancelling() if me is not None else None))


async def shielded(log: Log) -> None:
    log.append(await asyncio.shield(soon()))


async def in_thread(log: Log) -> None:
    COLOUR.set("blue")
    log.append(await asyncio.to_thread(lambda: COLOUR.get()))


async def scoped(log: Log) -> None:
    with anyio.move_on_after(SOON) as scope:
        await anyio.sleep(NEVER)
    log.append(scope.cancelled_caught)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await anyio.sleep(0)
    log.append(scope.cancelled_caught)
    async with anyio.create_task_group() as group:
        group.start_soon(_held, log, "guest")
        await anyio.sleep(0)
        group.cancel_scope.cancel()
    await anyio.lowlevel.checkpoint()
    log.append("out of scope")


async def ends_itself(log: Log) -> None:
    me: Any = asyncio.current_task()
    me.cancel("enough")
    log.append(me.cancelling())
    waiting = soon(5)
    try:
        await waiting
    except asyncio.CancelledError as error:
        log.append(("ended", error.args, waiting.cancelled(), me.uncancel()))


async def odd_yield(log: Log) -> None:
    @types.coroutine
    def odd() -> Generator[Any, Any, None]:
        yield "neither a future nor nothing"

    try:
        await odd()
    except RuntimeError as error:
        log.append(str(error).replace(repr(asyncio.current_task()), "")[:24])


async def locked(log: Log) -> None:
    lock, queue = asyncio.Lock(), asyncio.Queue[str]()
    async with lock:
        asyncio.get_running_loop().call_soon(queue.put_nowait, "item")
        log.append(await queue.get())


async def _gives(n: int) -> int:
    await asyncio.sleep(0)
    return n


async def _fails() -> None:
    await asyncio.sleep(0)
    raise KeyError("failed")


async def _held(log: Log, who: str) -> None:
    try:
        await asyncio.sleep(NEVER)
    except asyncio.CancelledError:
        log.append((who, "cancelled"))
        raise


ACTS: dict[str, Act] = {
    act.__name__: act
    for act in (
        give_way, wait, look, name_it, colour, in_time, too_late, waited_for, together, grouped, group_fails, shielded,
        in_thread, scoped, ends_itself, odd_yield, locked,
    )
}  # fmt: skip

# Acts that last until somebody cancels them.


async def for_a_future(log: Log) -> None:
    waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    try:
        await waiting
    finally:
        log.append(waiting.cancelled())


async def turn_by_turn(log: Log) -> None:
    while True:
        await asyncio.sleep(0)


async def looked_at_turn_by_turn(log: Log) -> None:
    me: Any = asyncio.current_task()
    while not me.done():
        await asyncio.sleep(0)


async def for_a_task(log: Log) -> None:
    await asyncio.create_task(_held(log, "inner"))


async def for_a_group(log: Log) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(_held(log, "first"))
        group.create_task(_held(log, "first"))


async def for_all(log: Log) -> None:
    await asyncio.gather(_held(log, "one"), _held(log, "other"))


async def behind_a_shield(log: Log) -> None:
    inner = asyncio.create_task(_held(log, "kept"))
    try:
        await asyncio.shield(inner)
    finally:
        log.append(("shielded", inner.done()))
        inner.cancel()
        with suppress(asyncio.CancelledError):
            await inner


async def in_a_long_timeout(log: Log) -> None:
    async with asyncio.timeout(NEVER):
        await asyncio.wait_for(_held(log, "within"), NEVER)


async def in_a_scope(log: Log) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(_held, log, "guest")
        await anyio.sleep_forever()


LASTING: dict[str, Act] = {
    act.__name__: act
    for act in (
        for_a_future, turn_by_turn, looked_at_turn_by_turn, for_a_task, for_a_group, for_all, behind_a_shield,
        in_a_long_timeout, in_a_scope,
    )
}  # fmt: skip
