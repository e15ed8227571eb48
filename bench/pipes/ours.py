"""lawful's pipelines: `run` without a listener, `stream` with every event taken."""

from __future__ import annotations

from functools import reduce
from typing import Any

import lawful
from bench.jobs import Job
from bench.pipes.work import add, bump, sleeper
from lawful.pipeline import Pipeline, identity, optimise, par, pure, run, step, stream

NAME = "lawful"


def version() -> str:
    """The library's."""
    return lawful.__version__


def _line(one: Pipeline[Any, Any], steps: int) -> Pipeline[Any, Any]:
    return reduce(lambda a, b: a >> b, [one] * steps, identity())


def _job(tree: Pipeline[Any, Any], units: int, expect: Any) -> Job:
    async def acall() -> Any:
        return (await run(tree, 0)).unwrap()

    return Job(units, expect, acall=acall)


def chain(steps: int) -> Job:
    """Async steps one after another."""
    return _job(_line(step(bump), steps), steps, steps)


def told(steps: int) -> Job:
    """The same, two events a step taken by a reader."""
    tree = _line(step(bump), steps)

    async def acall() -> Any:
        async with stream(tree, 0) as events:
            async for _ in events:
                pass
        return events.result.unwrap()

    return Job(steps, steps, acall=acall)


def pure_chain(steps: int) -> Job:
    """Functions declared pure, as they were written."""
    return _job(_line(pure(add), steps), steps, steps)


def fused(steps: int) -> Job:
    """The same after `optimise`."""
    return _job(optimise(_line(pure(add), steps)), steps, steps)


def optimising(steps: int) -> Job:
    """`optimise` itself."""
    tree = _line(pure(add), steps)
    return Job(1, "Lambda", call=lambda: type(optimise(tree)).__name__)


def fanout(branches: int, pause: float) -> Job:
    """`par` of sleepers."""
    return _job(par(*[step(sleeper(pause))] * branches) >> pure(sum), branches, branches)


def debate(agents: int, pause: float) -> Job:
    """Agents at once, then a judge."""
    return _job(par(*[step(sleeper(pause))] * agents) >> pure(sum), agents, agents)
