"""How a region is timed: warmed up, garbage collected before and allowed during, small jobs looped, one event loop for all."""

from __future__ import annotations

import asyncio
import gc
import math
from collections.abc import Callable
from time import perf_counter
from typing import Any

from bench.jobs import Job, Unfit

SMALL = 300
"""Jobs of at most this many units are invoked at least `MIN_LOOPS` times inside one timed region."""
MIN_LOOPS = 10
REGION = 0.03
"""A timed region lasts at least about so many seconds, for every contestant."""
TOO_SLOW = 60.0
"""A contestant whose single invocation takes longer, in seconds, is left out of the row and named."""

_runner = asyncio.Runner()


def on_loop(make: Callable[[], Any]) -> Any:
    """Run ``make()``'s coroutine on the one loop that all async contestants share."""

    async def main() -> Any:
        return await make()

    return _runner.run(main())


def end_loop() -> None:
    """Close the shared loop, and with it its default executor."""
    _runner.close()


def once(job: Job) -> Any:
    """One invocation, by whichever driver the job has."""
    if job.call is not None:
        return job.call()
    assert job.acall is not None
    return on_loop(job.acall)


def shut(job: Job) -> None:
    """Let go of the job's files and connections."""
    if job.aclose is not None:
        on_loop(job.aclose)
    job.close()


def region(job: Job, loops: int) -> float:
    """Seconds for ``loops`` invocations one after another; the call into the event loop is outside the clock."""
    if (call := job.call) is not None:
        start = perf_counter()
        for _ in range(loops):
            call()
        return perf_counter() - start
    acall = job.acall
    assert acall is not None

    async def timed() -> float:
        start = perf_counter()
        for _ in range(loops):
            await acall()
        return perf_counter() - start

    return _runner.run(timed())


def warmed(job: Job) -> int:
    """Check the job's answer, warm it up, and return how many loops a timed region of it needs."""
    start = perf_counter()
    answer = once(job)
    first = perf_counter() - start
    if answer != job.expect:
        raise Unfit(f"returned {answer!r:.80}, not {job.expect!r:.80}")
    if job.peak is not None and (peak := job.peak()) != job.units:
        raise Unfit(f"only {peak} of {job.units} tasks were in flight at once")
    if first > TOO_SLOW:
        raise Unfit(f"one invocation takes {first:.0f} s")
    # The first invocation pays for caches; a short second one is the better guess.
    guess = first if first > 1 else min(first, region(job, 1))
    least = MIN_LOOPS if job.units <= SMALL else 1
    return max(least, min(20_000, math.ceil(REGION / max(guess, 1e-7))))


def per_unit(job: Job, loops: int) -> float:
    """Microseconds per unit, from one timed region.

    The collector runs before the region, and stays on inside it: the garbage that a contestant makes is its cost. What
    was alive before the rounds is frozen (`gc.freeze`), so that nobody pays for walking another's graphs. One untimed
    invocation follows the collection, since the caches are cold after it.
    """
    gc.collect()
    if loops > 1:
        once(job)
    return region(job, loops) / (loops * job.units) * 1e6
