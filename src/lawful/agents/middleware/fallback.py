"""Another model when one fails, and another try when a failure may pass."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from lawful.agents.middleware.base import Middleware, ModelAsk, ModelHandler
from lawful.core.errors import ConfigurationError, Failure
from lawful.core.retry import RetryPolicy, policy_for
from lawful.models.port import ChatModel
from lawful.models.values import Reply


class ModelFallback(Middleware):
    """Asks the next model when one fails with a library error; the last one's error is raised, the others are its causes."""

    def __init__(self, *models: ChatModel[Any]) -> None:
        if not models:
            raise ConfigurationError(
                "ModelFallback needs at least one other model", component="agents", operation="middleware"
            )
        self._models = models

    async def wrap_model(self, ask: ModelAsk, handler: ModelHandler) -> Reply:
        asked: list[ChatModel[Any]] = [ask.model, *self._models]
        for model in asked[:-1]:
            try:
                return await handler(ask.override(model=model))
            except Failure:
                continue
        return await handler(ask.override(model=asked[-1]))


class ModelRetry(Middleware):
    """Asks again after a failure that may pass, with growing delays; every other failure passes at once."""

    def __init__(self, policy: RetryPolicy = RetryPolicy(max_attempts=3)) -> None:
        self._policy = policy

    async def wrap_model(self, ask: ModelAsk, handler: ModelHandler) -> Reply:
        attempt = 1
        while True:
            try:
                return await handler(ask)
            except Failure as error:
                if attempt >= self._policy.max_attempts or policy_for((self._policy,), error) is None:
                    raise
            await asyncio.sleep(self._policy.delay(attempt, random.random()))
            attempt += 1
