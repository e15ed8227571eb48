"""Ours: `Agent` as it comes over a scripted model; no journal, as the others have none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, ClassVar

import lawful
from bench.agents.work import ANSWER, add
from bench.jobs import Job
from lawful.agents import Agent
from lawful.models.pieces import CallPiece, FinishPiece, Piece, TextPiece
from lawful.models.port import ChatModel
from lawful.models.settings import ModelConfig
from lawful.models.values import Request
from lawful.tools import Rules, tool

NAME = "lawful"


def version() -> str:
    """Ours."""
    return lawful.__version__


class Model(ChatModel[ModelConfig]):
    """Says what was written down, by the number of its answers in the conversation."""

    immediate: ClassVar[bool] = True
    config_class = ModelConfig

    def __init__(self, calls: int) -> None:
        self.provider, self.name, self.config = "scripted", "bench", ModelConfig()
        self.calls = calls

    async def pieces(self, request: Request, config: ModelConfig) -> AsyncIterator[Piece]:
        at = len(request.messages) // 2
        if at >= self.calls:
            yield TextPiece(ANSWER)
            yield FinishPiece("stop")
            return
        yield CallPiece(0, f"c{at}", "add", f'{{"a": {at}, "b": 1}}')
        yield FinishPiece("tool_calls")


async def _add(a: int, b: int) -> int:
    """Add two numbers."""
    return add(a, b)


def _agent(calls: int) -> Agent[str]:
    return Agent(Model(calls), tools=[tool(name="add")(_add)], rules=Rules(budget=calls + 1), max_rounds=calls + 2)


def loop(calls: int) -> Job:
    """One turn with so many calls, one after the other."""
    agent = _agent(calls)

    async def acall() -> Any:
        return (await agent.ainvoke("go")).text

    return Job(calls, ANSWER, acall=acall)


def concurrent(agents: int, calls: int) -> Job:
    """So many turns at once, of one agent."""
    agent = _agent(calls)

    async def acall() -> Any:
        found = await asyncio.gather(*(agent.ainvoke("go") for _ in range(agents)))
        return len({one.text for one in found}), len(found)

    return Job(agents * calls, (1, agents), acall=acall)
