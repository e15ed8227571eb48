"""What the steps of all contestants do: almost nothing, or wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any


async def bump(n: int) -> int:
    """An async step that never waits: what is timed is the machinery around it."""
    return n + 1


def add(n: int) -> int:
    """A plain function."""
    return n + 1


def sleeper(pause: float) -> Callable[[Any], Awaitable[int]]:
    """A step that waits, as for a model."""

    async def wait(_: Any) -> int:
        await asyncio.sleep(pause)
        return 1

    return wait
