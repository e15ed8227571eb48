"""LangChain's runnables, newest langchain-core: `RunnableSequence`, `RunnableParallel`; tracing off, callbacks as they come."""

from __future__ import annotations

from functools import reduce
from importlib.metadata import version as installed
from typing import Any

from langchain_core.runnables import RunnableLambda, RunnableParallel

from bench.jobs import Job
from bench.pipes.work import add, bump, sleeper

NAME = "langchain"


def version() -> str:
    """langchain-core's."""
    return installed("langchain-core")


def _job(made: Any, units: int, expect: Any) -> Job:
    async def acall() -> Any:
        return await made.ainvoke(0)

    return Job(units, expect, acall=acall)


def _line(function: Any, steps: int) -> Any:
    return reduce(lambda a, b: a | b, [RunnableLambda(function) for _ in range(steps)])


def chain(steps: int) -> Job:
    """A sequence of async lambdas."""
    return _job(_line(bump, steps), steps, steps)


def told(steps: int) -> Job:
    """The same under `astream_events`."""
    made = _line(bump, steps)

    async def acall() -> Any:
        last: Any = None
        async for event in made.astream_events(0, version="v2"):
            last = event
        return last["data"]["output"]

    return Job(steps, steps, acall=acall)


def pure_chain(steps: int) -> Job:
    """A sequence of sync lambdas, which `ainvoke` runs in threads."""
    return _job(_line(add, steps), steps, steps)


def fused(steps: int) -> None:
    """It has no optimiser."""


def optimising(steps: int) -> None:
    """It has no optimiser."""


def fanout(branches: int, pause: float) -> Job:
    """A parallel of sleepers."""
    wait = RunnableLambda(sleeper(pause))
    made = RunnableParallel({str(i): wait for i in range(branches)}) | RunnableLambda(_sum)
    return _job(made, branches, branches)


async def _sum(found: dict[str, int]) -> int:
    return sum(found.values())


def debate(agents: int, pause: float) -> Job:
    """The same."""
    return fanout(agents, pause)
