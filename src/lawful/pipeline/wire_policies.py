"""A policy to JSON and back: its numbers as they are, what it shares by the name under which it is registered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from lawful.core.failure import JSON
from lawful.core.retry import RetryPolicy, default_retry_on
from lawful.pipeline.build import retry, timeout
from lawful.pipeline.circuits import CircuitBreaker
from lawful.pipeline.guarding import Checked, cached, guard
from lawful.pipeline.limits import RateLimiter
from lawful.pipeline.nodes import Breaker, Cached, Guard, Guarded, Lambda, Pipeline, Policy, RateLimit, Timeout, name_of
from lawful.pipeline.registry import Registry, refuse

T = TypeVar("T")

_WAITS = ("initial_interval", "backoff_factor", "max_interval", "max_attempts", "jitter")


def policy_told(policy: Policy) -> dict[str, JSON]:
    """The policy as JSON. Raises: ConfigurationError, for a function or a shared part that has no registered name."""
    match policy:
        case Timeout(seconds):
            return {"seconds": seconds}
        case RetryPolicy():
            if policy.retry_on is not default_retry_on:
                raise refuse("a retry with a retry_on of its own cannot be written to JSON", "retry")
            return {name: getattr(policy, name) for name in _WAITS}
        case Breaker(circuit):
            return {"breaker": _name(circuit, "circuit breaker")}
        case RateLimit(limiter, cost):
            told: dict[str, JSON] = {"rate_limit": _name(limiter, "rate limiter")}
            return told if cost is None else {**told, "cost": _name(cost, "cost of a rate limit")}
        case Cached(cache, name, key, ttl):
            told = {"cache": _name(cache, "cache"), "name": name, "ttl": ttl}
            return told if key is None else {**told, "key": _name(key, "key of a cache")}
        case Guard(before, after):
            return {"before": list(map(_check, before)), "after": list(map(_check, after))}


def policy_read(said: Any, inner: Pipeline[Any, Any], registry: Registry, place: str) -> Pipeline[Any, Any]:
    """``inner`` under the policy. Raises: ConfigurationError, naming the place."""
    if isinstance(said, Mapping):
        told = cast("Mapping[str, Any]", said)
        keys = set(told)
        if keys == {"seconds"}:
            return timeout(inner, _number(told["seconds"], place))
        if keys == set(_WAITS) and isinstance(told["jitter"], bool):
            return retry(inner, RetryPolicy(**told))
        if keys <= {"breaker", "rate_limit", "cost", "cache", "name", "ttl", "key", "before", "after"}:
            found = _shared(told, inner, registry, place)
            if found is not None:
                return found
    raise refuse(
        f"{place}: a policy has either {', '.join(_WAITS)}, or seconds, breaker, rate_limit, cache with name, or before"
        f" and after, not {said!r:.200}",
        place,
    )


def _shared(
    told: Mapping[str, Any], inner: Pipeline[Any, Any], registry: Registry, place: str
) -> Pipeline[Any, Any] | None:
    keys = set(told)
    if keys == {"breaker"}:
        return Guarded(inner, Breaker(_found(registry, told["breaker"], CircuitBreaker, place)))
    if keys - {"cost"} == {"rate_limit"}:
        cost = registry.function(str(told["cost"]), place) if "cost" in told else None
        return Guarded(inner, RateLimit(_found(registry, told["rate_limit"], RateLimiter, place), cost))
    if keys - {"key"} == {"cache", "name", "ttl"} and isinstance(told["name"], str):
        key = registry.function(str(told["key"]), place) if "key" in told else None
        cache = registry.find(str(told["cache"]))
        if not hasattr(cache, "put"):
            raise refuse(f"{place}: {told['cache']!r} is no cache", place)
        ttl = None if told["ttl"] is None else _number(told["ttl"], place)
        return cached(inner, cache, name=told["name"], key=key, ttl=ttl)
    if keys == {"before", "after"} and all(isinstance(told[side], list) for side in keys):
        before, after = ([registry.function(str(name), place) for name in told[side]] for side in ("before", "after"))
        return guard(inner, before=before, after=after)
    return None


def _found(registry: Registry, name: Any, kind: type[T], place: str) -> T:
    found = registry.find(str(name))
    if not isinstance(found, kind):
        raise refuse(f"{place}: {name!r} is no {kind.__name__}", place)
    return found


def _number(value: Any, place: str) -> float:
    if type(value) not in (int, float):
        raise refuse(f"{place}: {value!r} is no number of seconds", place)
    return value


def _name(thing: Any, what: str) -> str:
    name = getattr(thing, "component_id", "")
    if not name:
        raise refuse(f"a {what} without a name cannot be written to JSON: give it a component_id and register it", what)
    return str(name)


def _check(node: Pipeline[Any, Any]) -> str:
    checked = node.run if isinstance(node, Lambda) else None
    assert isinstance(checked, Checked)
    return _name(checked.function, f"check {name_of(node)!r}")
