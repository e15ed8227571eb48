"""Branches at once share nothing: each gets the input and gives a value, joined in a fixed order."""

from __future__ import annotations

import asyncio
import random

from lawful.pipeline import Pipeline, par, run, step


def agent(name: str) -> Pipeline[tuple[str, ...], str]:
    @step(name=name)
    async def think(notes: tuple[str, ...]) -> str:
        await asyncio.sleep(random.random() / 1000)
        return f"{name} saw {len(notes)}"

    return think


team = par(*(agent(f"agent{n}") for n in range(8)))


async def main() -> None:
    given = ("a", "b")
    ends = {(await run(team, given)).unwrap() for _ in range(50)}
    print(len(ends), "outcome of 50 runs:", *ends.pop()[:2])


asyncio.run(main())
# prints: 1 outcome of 50 runs: agent0 saw 2 agent1 saw 2
