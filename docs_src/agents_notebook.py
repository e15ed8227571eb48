"""In a notebook a loop is running already: await the async forms."""

from __future__ import annotations

import asyncio

from lawful import Agent

agent = Agent("demo")


async def cell() -> None:
    """What a cell of a notebook would hold."""
    answer = await agent.ainvoke("Hello from a notebook")
    print(answer.text)
    async for piece in agent.astream_text("And again"):
        print(piece, end="")
    print()


asyncio.run(cell())  # a notebook runs its own loop: there, write `await agent.ainvoke(...)` in the cell itself

# prints: You asked: 'Hello from a notebook'. (demo model: no language model, plain rules only)
# prints: You asked: 'And again'. (demo model: no language model, plain rules only)
