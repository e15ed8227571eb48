"""Tell a watcher, before and after each model call, that the loop still steps."""

from __future__ import annotations

from collections.abc import Callable

from lawful.agents.middleware.base import Middleware, ModelAsk, ModelHandler
from lawful.models.values import Reply


class Heartbeat(Middleware):
    """Calls ``touch("model", round)`` when a model call begins and when it ends, in whatever way."""

    def __init__(self, touch: Callable[[str, int], object]) -> None:
        self._touch = touch

    async def wrap_model(self, ask: ModelAsk, handler: ModelHandler) -> Reply:
        self._touch("begins", ask.round)
        try:
            return await handler(ask)
        finally:
            self._touch("ends", ask.round)
