"""Hand-written asyncio: a loop of awaits, `asyncio.gather`; the floor, not a rival."""

from __future__ import annotations

import asyncio
import platform
from typing import Any

from bench.jobs import Job
from bench.pipes.work import add, bump, sleeper

NAME = "plain Python"


def version() -> str:
    """Python's."""
    return platform.python_version()


def chain(steps: int) -> Job:
    """A loop over coroutine functions."""
    functions = [bump] * steps

    async def acall() -> int:
        value = 0
        for function in functions:
            value = await function(value)
        return value

    return Job(steps, steps, acall=acall)


def told(steps: int) -> Job:
    """The same; it tells nobody anything."""
    return chain(steps)


def pure_chain(steps: int) -> Job:
    """A loop over functions."""
    functions = [add] * steps

    async def acall() -> int:
        value = 0
        for function in functions:
            value = function(value)
        return value

    return Job(steps, steps, acall=acall)


def fused(steps: int) -> Job:
    """The same."""
    return pure_chain(steps)


def optimising(steps: int) -> None:
    """It has nothing to optimise."""


def fanout(branches: int, pause: float) -> Job:
    """`gather` of sleepers."""
    wait = sleeper(pause)

    async def acall() -> Any:
        return sum(await asyncio.gather(*(wait(0) for _ in range(branches))))

    return Job(branches, branches, acall=acall)


def debate(agents: int, pause: float) -> Job:
    """The same."""
    return fanout(agents, pause)
