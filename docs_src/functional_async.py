"""Async tasks are awaited, alone or gathered; their chunks stream while the entrypoint still runs."""

from __future__ import annotations

import asyncio

from lawful import entrypoint, task


@task
async def double(number: int) -> int:
    await asyncio.sleep(0.05 * number)
    return number * 2


@entrypoint()
async def doubled(numbers: list[int]) -> list[int]:
    return list(await asyncio.gather(*(double(n) for n in numbers)))


async def main() -> None:
    async for chunk in doubled.astream([2, 1]):
        print(chunk)


asyncio.run(main())

# prints: {'double': 2}
# prints: {'double': 4}
# prints: {'doubled': [4, 2]}
