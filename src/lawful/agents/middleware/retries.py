"""Another try of a tool call that failed; never of an effect, whose tries are the ledger's."""

from __future__ import annotations

import asyncio
import random

from lawful.agents.middleware.base import Middleware, ToolAsk, ToolHandler
from lawful.core.errors import ConfigurationError
from lawful.core.retry import RetryPolicy
from lawful.tools.dispatch import Outcome
from lawful.tools.gates import Run


class ToolRetry(Middleware):
    """Calls a tool again when its call ended in an error. Only tools named, or declared ``pure_read``, are tried again:
    of any other nobody knows whether it did its work.

    Raises: ConfigurationError at the call, for a named tool that is an effect.
    """

    gate = True  # what it refuses stays refused

    def __init__(self, *names: str, policy: RetryPolicy = RetryPolicy(max_attempts=3)) -> None:
        self._names = names
        self._policy = policy

    async def wrap_tool(self, ask: ToolAsk, handler: ToolHandler) -> Outcome:
        tool = ask.tool
        if tool is not None and tool.traits.effect and tool.name in self._names:
            raise ConfigurationError(
                f"ToolRetry names {tool.name!r}, which is an effect: only its ledger may try it again",
                component="agents",
                operation="middleware",
            )
        found = await handler(ask)
        if tool is None or not isinstance(ask.ruling, Run) or not (tool.name in self._names or tool.traits.pure_read):
            return found
        for attempt in range(1, self._policy.max_attempts):
            if found.call.state != "error":
                break
            await asyncio.sleep(self._policy.delay(attempt, random.random()))
            found = await handler(ask)
        return found
