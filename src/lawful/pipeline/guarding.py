"""How policies are put around a part: circuit breaker, rate limit, cache, guard; each refuses at once what cannot be right."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from lawful.core.errors import ConfigurationError, ValidationError
from lawful.core.result import Err, Result
from lawful.pipeline.caching import Cache
from lawful.pipeline.circuits import CircuitBreaker
from lawful.pipeline.leaves import settle
from lawful.pipeline.limits import RateLimiter
from lawful.pipeline.nodes import (
    Breaker,
    Cached,
    Guard,
    Guarded,
    Lambda,
    Pipeline,
    Prim,
    RateLimit,
    function_name,
    name_of,
    part,
)
from lawful.pipeline.nodes import function as callable_
from lawful.pipeline.walking import walk

I = TypeVar("I")
O = TypeVar("O")


def breaker(inner: Pipeline[I, O], circuit: CircuitBreaker) -> Pipeline[I, O]:
    """``inner`` while the circuit lets calls through; else a NetworkError at once, which says when to try again."""
    return Guarded(part(inner, "breaker()"), Breaker(circuit))


def rate_limit(
    inner: Pipeline[I, O], limiter: RateLimiter, *, cost: Callable[[I], float] | None = None
) -> Pipeline[I, O]:
    """``inner``, each call waiting until the limiter lets it; ``cost`` tells how much an input takes, by default 1."""
    return Guarded(part(inner, "rate_limit()"), RateLimit(limiter, cost))


def cached(
    inner: Pipeline[I, O],
    cache: Cache,
    *,
    name: str,
    key: Callable[[I], Any] | None = None,
    ttl: float | None = None,
) -> Pipeline[I, O]:
    """``inner``, answered from the cache where an equal input has succeeded before; errors are not kept.

    ``name`` says which computation it is and which version of it ("embed.v2"). ``key`` makes of an input what it is
    told apart by, where it is of a class that no codec knows. ``ttl`` is in seconds.

    Raises: ConfigurationError, naming the step, unless every step in it is pure or said to be cacheable; for a name
    that is empty, or a ``ttl`` that is no finite number above 0.
    """
    for node in walk(part(inner, "cached()")):
        if not _repeatable(node):
            raise ConfigurationError(
                f"cached({name!r}): step {name_of(node)!r} may act each time it runs;"
                " if equal inputs may share an answer, say so: step(cacheable=True)",
                component="pipeline",
                operation="cached",
                details={"step": name_of(node), "name": name},
            )
    if not name:
        raise ConfigurationError("cached() needs a name", component="pipeline", operation="cached")
    if ttl is not None and not 0 < ttl <= sys.float_info.max:
        raise ConfigurationError(
            f"cached({name!r}): ttl must be a finite number of seconds above 0, not {ttl!r:.80}",
            component="pipeline",
            operation="cached",
            details={"name": name},
        )
    return Guarded(inner, Cached(cache, name, key, ttl))


def _repeatable(node: Pipeline[Any, Any]) -> bool:
    if isinstance(node, Lambda):
        return node.pure or node.cacheable
    if isinstance(node, Prim):
        component = node.component
        return bool(getattr(component, "cacheable", False)) and not getattr(component, "effects", ())
    return True


def guard(
    inner: Pipeline[I, O],
    *,
    before: Sequence[Callable[[I], Any]] = (),
    after: Sequence[Callable[[O], Any]] = (),
) -> Pipeline[I, O]:
    """``inner`` between checks: each gets the value of the one before and gives it on, as it was or changed, or refuses it.

    A check refuses by an Err or by raising a Failure; the whole then ends in a ValidationError that names the check,
    ``inner`` not called if it was one of ``before``. Checks may be sync or async.

    Raises: ConfigurationError, if there is no check at all.
    """
    if not before and not after:
        raise ConfigurationError("guard() needs a check", component="pipeline", operation="guard")
    return Guarded(part(inner, "guard()"), Guard(tuple(map(_check, before)), tuple(map(_check, after))))


def _check(function: Callable[[Any], Any]) -> Pipeline[Any, Any]:
    callable_(function, "guard()")
    return Lambda(Checked(function), function_name(function), errors=(ValidationError,))


class Checked:
    """A check whose errors are all ValidationErrors."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    async def __call__(self, value: Any) -> Result[Any, Any]:
        end = await settle(self.function, value)
        if not isinstance(end, Err) or isinstance(end.error, ValidationError):
            return end
        name = function_name(self.function)
        return Err(
            ValidationError(
                f"{name}: {end.error}",
                component="pipeline",
                operation="guard",
                details={"check": name},
                cause=end.error,
            )
        )
