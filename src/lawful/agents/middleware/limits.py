"""Limits of one turn: model calls, calls of a tool, tokens, money, time; reaching one is a typed end that keeps the state."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from lawful.agents.middleware.base import Middleware, ModelAsk, ModelHandler, ToolAsk, ToolHandler
from lawful.agents.state import rounds, this_turn
from lawful.core.context import current_task
from lawful.core.errors import AgentError, ConfigurationError
from lawful.models.values import Reply, Usage
from lawful.tools.dispatch import Outcome, refused
from lawful.tools.gates import Refuse


class ModelCallLimit(Middleware):
    """At most so many model calls in a turn. Raises: AgentError at the next one."""

    gate = True

    def __init__(self, calls: int) -> None:
        self._calls = _positive("calls", calls)

    async def wrap_model(self, ask: ModelAsk, handler: ModelHandler) -> Reply:
        done = rounds(this_turn(ask.messages))
        if done >= self._calls:
            raise reached(ask.agent, "model calls", done, self._calls)
        return await handler(ask)


class ToolCallLimit(Middleware):
    """At most so many calls of a tool (or of all tools) in a turn; the model is told, and the turn goes on."""

    gate = True

    def __init__(self, calls: int, *, tool: str | None = None) -> None:
        self._calls = _positive("calls", calls)
        self._tool = tool

    @property
    def name(self) -> str:
        return f"ToolCallLimit({self._tool or 'all'})"

    async def wrap_tool(self, ask: ToolAsk, handler: ToolHandler) -> Outcome:
        if self._tool is not None and ask.call.name != self._tool:
            return await handler(ask)
        if (ask.nth if self._tool is not None else ask.nth_of_all) > self._calls:
            said = f"The limit of {self._calls} calls of {self._tool or 'tools'} in this turn is reached."
            return refused(ask.call, Refuse("budget", said))
        return await handler(ask)


class CostLimit(Middleware):
    """At most so many tokens, or so much money, in a thread; checked before each model call. What agents that are its
    tools took counts, and what summaries, classifiers and counsel did.

    ``price`` gives the cost of a reply's usage, in whatever unit ``most`` is; without it tokens are counted.
    Raises: AgentError.
    """

    gate = True

    def __init__(self, most: float, *, price: Callable[[Usage], float] | None = None) -> None:
        self._most = _positive("most", most)
        self._price: Callable[[Usage], float] = price if price is not None else _tokens
        self._what = "tokens" if price is None else "cost"

    async def wrap_model(self, ask: ModelAsk, handler: ModelHandler) -> Reply:
        spent = self._price(ask.usage)
        if spent >= self._most:
            raise reached(ask.agent, self._what, spent, self._most)
        return await handler(ask)


class TimeLimit(Middleware):
    """At most so many seconds from a run's first model call to the beginning of another. Raises: AgentError."""

    gate = True

    def __init__(self, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = _positive("seconds", seconds)
        self._clock = clock

    async def wrap_model(self, ask: ModelAsk, handler: ModelHandler) -> Reply:
        slot = current_task.get()
        if slot is not None:
            begun: float = slot.run.root.shared.setdefault(f"{self.name}.begun", self._clock())
            if self._clock() - begun >= self._seconds:
                raise reached(ask.agent, "seconds", self._clock() - begun, self._seconds)
        return await handler(ask)


def _tokens(usage: Usage) -> float:
    return float(usage.total)


def reached(agent: str, what: str, value: float, limit: float) -> AgentError:
    """The typed end of a turn that reached a limit."""
    return AgentError(
        f"agent {agent!r} reached its limit of {limit:g} {what}: {value:g}",
        component=agent,
        operation="limits",
        details={"why": "limit", "limit": what, "value": f"{value:g}", "most": f"{limit:g}"},
    )


def _positive(name: str, value: Any) -> Any:
    if not value > 0:
        raise ConfigurationError(f"{name} must be above 0, not {value!r}", component="agents", operation="limits")
    return value
