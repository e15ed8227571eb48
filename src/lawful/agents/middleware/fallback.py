"""Another model when one fails, and another try when a failure may pass."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from lawful.agents.middleware.base import Middleware, ModelAsk, ModelHandler
from lawful.core.errors import AgentError, ConfigurationError, Failure, ValidationError
from lawful.core.retry import RetryPolicy, policy_for
from lawful.models.port import ChatModel
from lawful.models.values import Reply


class ModelFallback(Middleware):
    """Asks the next model when one fails; the last one's error is raised, with the one before as its cause.

    What a gate further in refuses (ValidationError, AgentError) is no failure of a model: no other one is asked.
    """

    def __init__(self, *models: ChatModel[Any]) -> None:
        if not models:
            raise ConfigurationError(
                "ModelFallback needs at least one other model", component="agents", operation="middleware"
            )
        self._models = models

    async def wrap_model(self, ask: ModelAsk, handler: ModelHandler) -> Reply:
        failed: Failure | None = None
        for model in (ask.model, *self._models):
            try:
                return await handler(ask.override(model=model))
            except (ValidationError, AgentError):
                raise
            except Failure as error:
                error.__cause__ = error.__cause__ or failed
                failed = error
        assert failed is not None
        raise failed


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
