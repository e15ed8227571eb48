"""Independent checks of one revision, joined: one after the other, or at once where the caller asks for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from lawful.core.lazy import late
from lawful.core.result import Err, Ok, Result

S = TypeVar("S")
A = TypeVar("A")
E = TypeVar("E", bound=Exception)


async def collect_checks(
    subject: S, *checks: Callable[[S], Awaitable[Result[A, E]]], concurrent: bool = False
) -> Result[list[A], E]:
    """What each check found of ``subject``, in the order of ``checks``, or the first error in that order.

    One check runs after the other, and none after an error. With ``concurrent`` all start at once and the result is the
    same: an error stops the checks after it, and those before it are waited for, since theirs would come first. When this
    returns or raises, no check runs any more. For sync checks: ``collect(check(subject) for check in checks)``.

    Raises: what a check raises.
    """
    if concurrent:
        return await _at_once(subject, checks)
    values: list[A] = []
    for check in checks:
        match await check(subject):
            case Ok(value):
                values.append(value)
            case Err() as failed:
                return failed
    return Ok(values)


async def _at_once(subject: S, checks: Sequence[Callable[[S], Awaitable[Result[A, E]]]]) -> Result[list[A], E]:
    asyncio = late("asyncio")
    tasks: list[Any] = []

    def ended(task: Any) -> None:
        if task.cancelled() or task.exception() is not None or not task.result().is_ok():
            for later in tasks[tasks.index(task) + 1 :]:
                later.cancel()

    values: list[A] = []
    try:
        for check in checks:
            task = asyncio.ensure_future(check(subject))
            task.add_done_callback(ended)
            tasks.append(task)
        for task in tasks:
            result: Result[A, E] = await task
            match result:
                case Ok(value):
                    values.append(value)
                case Err():
                    return result
        return Ok(values)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
