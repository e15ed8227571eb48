"""The kill in Pydantic AI: the payment is a tool of a durable agent (its DBOS capability), and a step, as advised.

Contract: it leaves durability to the engine below; a tool that does I/O is to be a step of that engine, with its contract.
"""

from __future__ import annotations

import asyncio
import sys
from importlib.metadata import version as installed

from dbos import DBOS, SetWorkflowID
from pydantic_ai import Agent
from pydantic_ai.durable_exec.dbos import DBOSDurability
from pydantic_ai.models.test import TestModel

from bench.kills.dbos import launched
from bench.kills.world import ask, pay

NAME = "pydantic-ai"
KILL = "bench.kills.pydantic_ai"


def version() -> str:
    return installed("pydantic-ai-slim")


def main(folder: str, life: int) -> None:
    """Run the agent, or wait for the recovered run."""
    launched(folder)

    @DBOS.step()
    def payment() -> str:
        return pay(folder, life)

    agent = Agent(TestModel(), name="payer", tools=[payment], capabilities=[DBOSDurability()])

    @DBOS.workflow()
    async def work() -> str:
        return (await agent.run("pay the order")).output

    async def begin() -> None:
        with SetWorkflowID("w"):
            await work()

    DBOS.launch()
    if life == 1:
        asyncio.run(begin())
    DBOS.retrieve_workflow("w").get_result()
    ask("done")
    DBOS.destroy()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
