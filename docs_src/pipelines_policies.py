"""Policies around a part: a guard, a cache, a rate limit, a circuit breaker, a time limit, and another try."""

from __future__ import annotations

from lawful import Err, Result, RetryPolicy
from lawful.core.errors import NetworkError, ValidationError
from lawful.pipeline import (
    CircuitBreaker,
    MemoryCache,
    RateLimiter,
    breaker,
    cached,
    draw,
    guard,
    rate_limit,
    retry,
    run_sync,
    step,
    timeout,
)

api = CircuitBreaker("api", failures=1, reset=30)
calls = RateLimiter(10, per=1, max_wait=5)


@step(cacheable=True)
async def look_up(word: str) -> Result[str, NetworkError]:
    return Err(NetworkError("no route to the dictionary"))


def one_word(word: str) -> str:
    if " " in word:
        raise ValidationError("one word at a time")
    return word.lower()


once_more = RetryPolicy(max_attempts=2, initial_interval=0, jitter=False)
careful = cached(
    guard(breaker(retry(timeout(rate_limit(look_up, calls), 5), once_more), api), before=[one_word]),
    MemoryCache(),
    name="dictionary.v1",
    ttl=3600,
)
print(*map(str.strip, draw(careful).splitlines()[1:5]), sep=" / ")
for given in ("Rome", "all roads", "Rome"):
    end = run_sync(careful, given)
    if isinstance(end, Err):
        print(type(end.error).__name__, end.error.message[:19], api.state)
# prints: guard, before: one_word / circuit breaker api / up to 2 attempts / within 5 s
# prints: NetworkError no route to the dic open
# prints: ValidationError one word at a time open
# prints: NetworkError circuit 'api' is op open
