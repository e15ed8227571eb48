"""Pydantic AI's `Agent` over its `FunctionModel`; no instrumentation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from importlib.metadata import version as installed
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import UsageLimits

from bench.agents.work import ANSWER, add
from bench.jobs import Job

NAME = "pydantic-ai"


def version() -> str:
    """Its own."""
    return installed("pydantic-ai-slim")


async def _add(a: int, b: int) -> int:
    """Add two numbers."""
    return add(a, b)


def _asking(calls: int) -> Callable[[], Awaitable[str]]:
    def said(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        at = len(messages) // 2
        if at >= calls:
            return ModelResponse(parts=[TextPart(ANSWER)])
        return ModelResponse(parts=[ToolCallPart("add", {"a": at, "b": 1}, f"c{at}")])

    agent: Any = Agent(FunctionModel(said))
    agent.tool_plain(name="add")(_add)
    limits = UsageLimits(request_limit=None)

    async def ask() -> str:
        return str((await agent.run("go", usage_limits=limits)).output)

    return ask


def loop(calls: int) -> Job:
    """One turn with so many calls, one after the other."""
    return Job(calls, ANSWER, acall=_asking(calls))


def concurrent(agents: int, calls: int) -> Job:
    """So many turns at once, of one agent."""
    ask = _asking(calls)

    async def acall() -> Any:
        found = await asyncio.gather(*(ask() for _ in range(agents)))
        return len(set(found)), len(found)

    return Job(agents * calls, (1, agents), acall=acall)
