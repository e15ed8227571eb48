"""What a node or a run may be told of caching, time, failure and bounds: plain values; the retry policy is core's."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Literal, TypeAlias, cast

from msgspec import Struct
from msgspec.structs import force_setattr

from lawful.core.errors import GraphBuildError, nearest

Share: TypeAlias = Literal["run", "thread", "shared"]
SHARES = ("run", "thread", "shared")


class CachePolicy(Struct, frozen=True):
    """Answer a node from its last result on equal input, where the graph was compiled with ``cache=``.

    Raises: GraphBuildError (a ValueError) for a ``ttl`` that is not positive, or an unknown ``scope``.
    """

    key_func: Callable[..., str | bytes] | None = None
    """Of the node's input, what tells one call from another; None: a hash of the input (and of the run's context)."""
    ttl: float | None = None
    """Seconds that a result may be used; None: for ever."""
    scope: Share = "run"
    """Who may use a result: this run, every run of this thread, or (``"shared"``) every run of the tenant."""

    def __post_init__(self) -> None:
        if self.ttl is not None:
            force_setattr(self, "ttl", seconds(self.ttl, "CachePolicy: ttl"))
        if self.scope not in SHARES:
            raise _refuse(f"CachePolicy: unknown scope {self.scope!r}.{nearest(str(self.scope), SHARES)}", "scope")
        if self.key_func is not None and not callable(self.key_func):
            raise _refuse(f"CachePolicy: key_func must be a function, got {self.key_func!r:.80}", "key_func")


class TimeoutPolicy(Struct, frozen=True):
    """How long an async node may run, and how long it may give no sign of life; in seconds, or as timedelta.

    Raises: GraphBuildError (a ValueError) for a limit that is not positive, or an unknown ``refresh_on``.
    """

    run_timeout: float | None = None
    """From the attempt's start; nothing extends it."""
    idle_timeout: float | None = None
    """From the last sign of life."""
    refresh_on: Literal["auto", "heartbeat"] = "auto"
    """What is one: whatever the node streams or starts, or only ``runtime.heartbeat()``."""

    def __post_init__(self) -> None:
        for name in ("run_timeout", "idle_timeout"):
            told: Any = getattr(self, name)
            if told is not None:
                force_setattr(self, name, seconds(told, f"TimeoutPolicy: {name}"))
        if self.refresh_on not in ("auto", "heartbeat"):
            hint = nearest(str(self.refresh_on), ("auto", "heartbeat"))
            raise _refuse(f"TimeoutPolicy: unknown refresh_on {self.refresh_on!r}.{hint}", "refresh_on")


Limit = float | timedelta | TimeoutPolicy | None


def seconds(told: Any, what: str) -> float:
    """A positive, finite number of seconds. Raises: GraphBuildError."""
    value = told.total_seconds() if isinstance(told, timedelta) else told
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise _refuse(f"{what} is a positive number of seconds, got {told!r:.80}", what)
    return value


def _refuse(message: str, option: str) -> GraphBuildError:
    return GraphBuildError(message, component="graph", operation="policy", details={"option": option})


def timeout_of(told: Any, what: str = "timeout") -> TimeoutPolicy | None:
    """A policy from any form of one: a number (the run's limit), a timedelta, a policy, or a stored one.

    Raises: GraphBuildError (a ValueError).
    """
    if told is None or isinstance(told, TimeoutPolicy):
        return told
    if isinstance(told, list):
        return TimeoutPolicy(*cast("list[Any]", told))
    return TimeoutPolicy(run_timeout=seconds(told, what))


def limited(policy: TimeoutPolicy | None) -> TimeoutPolicy | None:
    """The policy, unless it says nothing."""
    return None if policy is None or policy.run_timeout is policy.idle_timeout is None else policy


def stored_timeout(told: Any) -> Any:
    """A packet's limit as it is stored: None, a number, or the policy's fields."""
    return [told.run_timeout, told.idle_timeout, told.refresh_on] if isinstance(told, TimeoutPolicy) else told


class Limits(Struct, frozen=True):
    """What one run may use; None: no limit of its own. Give it to ``compile(limits=...)``, or to one call.

    A limit that is reached ends the run with a typed error; what its finished steps and tasks did is kept.
    Raises: GraphBuildError (a ValueError) for a limit that is not positive.
    """

    steps: int | None = None
    """Steps of one call: GraphRecursionError. The same as ``recursion_limit`` in a config, which wins."""
    seconds: float | None = None
    """Time from the call to its end: RunTimeoutError. Graphs inside nodes take part in it."""
    concurrency: int | None = None
    """Tasks of a step that run at once. The same as ``max_concurrency`` in a config, which wins."""
    state_bytes: int | None = None
    """The state's stored size: StateTooLarge, and the step that would pass it is not applied."""

    def __post_init__(self) -> None:
        if self.seconds is not None:
            force_setattr(self, "seconds", seconds(self.seconds, "Limits: seconds"))
        for name in ("steps", "concurrency", "state_bytes"):
            told: Any = getattr(self, name)
            if told is not None and (isinstance(told, bool) or not isinstance(told, int) or told < 1):
                raise _refuse(f"Limits: {name} is an int of at least 1, got {told!r:.80}", name)

    def within(self, outer: Limits) -> Limits:
        """These limits, and of ``outer`` those that these do not name."""
        if self is NO_LIMITS or outer is NO_LIMITS:
            return outer if self is NO_LIMITS else self
        found = {n: getattr(self, n) for n in self.__struct_fields__}
        return Limits(**{n: getattr(outer, n) if told is None else told for n, told in found.items()})


NO_LIMITS = Limits()


class NodeError(Struct, frozen=True):
    """What an error handler is told: declare a parameter of this type."""

    node: str
    """The node that failed, its retries used up."""
    error: BaseException
    """What it raised; after a crash an exception of the library is rebuilt, any other is an `Exception` of equal text."""


def checked_cache_policy(told: Any, what: str) -> CachePolicy | None:
    """``told``, if it is a cache policy or None. Raises: GraphBuildError."""
    if told is None or isinstance(told, CachePolicy):
        return told
    raise _refuse(f"{what}: cache_policy takes a CachePolicy, got {told!r:.80}", "cache_policy")
