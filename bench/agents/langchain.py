"""LangChain's `create_agent` over a scripted chat model; no checkpointer, no middleware, tracing off."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from importlib.metadata import version as installed
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool

from bench.agents.work import ANSWER, add
from bench.jobs import Job

NAME = "langchain"


def version() -> str:
    """Its own."""
    return installed("langchain")


class Model(BaseChatModel):
    """Says what was written down, by the number of its answers in the conversation."""

    calls: int

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self

    def _said(self, messages: list[BaseMessage]) -> ChatResult:
        at = len(messages) // 2
        if at >= self.calls:
            return ChatResult(generations=[ChatGeneration(message=AIMessage(ANSWER))])
        call = {"name": "add", "args": {"a": at, "b": 1}, "id": f"c{at}", "type": "tool_call"}
        return ChatResult(generations=[ChatGeneration(message=AIMessage("", tool_calls=[call]))])

    def _generate(self, messages: list[BaseMessage], *_: Any, **options: Any) -> ChatResult:
        return self._said(messages)

    async def _agenerate(self, messages: list[BaseMessage], *_: Any, **options: Any) -> ChatResult:
        return self._said(messages)


@tool("add")
async def _add(a: int, b: int) -> int:
    """Add two numbers."""
    return add(a, b)


def _asking(calls: int) -> Callable[[], Awaitable[str]]:
    agent: Any = create_agent(Model(calls=calls), [_add])
    limit: Any = {"recursion_limit": 3 * calls + 10}

    async def ask() -> str:
        found = await agent.ainvoke({"messages": [("user", "go")]}, limit)
        return str(found["messages"][-1].content)

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
