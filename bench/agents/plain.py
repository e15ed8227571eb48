"""Plain Python: a loop that appends to a list, calls the function and does nothing else."""

from __future__ import annotations

import asyncio
import platform
from typing import Any

from bench.agents.work import ANSWER, add
from bench.jobs import Job

NAME = "plain Python"


def version() -> str:
    """Python's."""
    return platform.python_version()


async def _ask(calls: int) -> str:
    said: list[Any] = ["go"]
    while True:
        at = len(said) // 2
        if at >= calls:
            return ANSWER
        said.append({"a": at, "b": 1})
        said.append(add(**said[-1]))


def loop(calls: int) -> Job:
    """One turn with so many calls, one after the other."""
    return Job(calls, ANSWER, acall=lambda: _ask(calls))


def concurrent(agents: int, calls: int) -> Job:
    """So many turns at once."""

    async def acall() -> Any:
        found = await asyncio.gather(*(_ask(calls) for _ in range(agents)))
        return len(set(found)), len(found)

    return Job(agents * calls, (1, agents), acall=acall)
