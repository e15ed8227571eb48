"""What a node may be told of caching and time: plain values; the retry policy is core's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct


class CachePolicy(Struct, frozen=True):
    """Answer a node from its last result on equal input; ``ttl`` is in seconds, None for ever."""

    key_func: Callable[..., str | bytes] | None = None
    ttl: float | None = None


class TimeoutPolicy(Struct, frozen=True):
    """How long an async node may run, in seconds."""

    run_timeout: float | None = None
    idle_timeout: float | None = None
    refresh_on: str = "auto"


Limit = float | TimeoutPolicy | None


def run_timeout(limit: Any) -> float | None:
    """The seconds that a node may run, from a number or a policy."""
    return limit.run_timeout if isinstance(limit, TimeoutPolicy) else limit
