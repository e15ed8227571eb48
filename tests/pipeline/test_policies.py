"""Circuit breaker, rate limit, cache and guard around a part, by a clock that moves when told."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest

from lawful.core.clock import FixedClock
from lawful.core.errors import ConfigurationError, Error, NetworkError, ParsingError, ValidationError
from lawful.core.result import Err, Ok, Result
from lawful.core.retry import RetryPolicy
from lawful.core.signals import OutcomeUnknown
from lawful.pipeline import (
    CircuitBreaker,
    MemoryCache,
    Pipeline,
    RateLimiter,
    Registry,
    breaker,
    cached,
    draw,
    explain,
    from_json,
    guard,
    identity,
    optimise,
    pure,
    rate_limit,
    retry,
    run,
    step,
    timeout,
    to_json,
)
from lawful.pipeline import names as names_of
from lawful.pipeline.circuits import Permit
from lawful.testing import Script

pytestmark = pytest.mark.unit

SAME: Pipeline[Any, Any] = identity()
DOWN = NetworkError("down")


def down(_: int) -> Result[int, Error]:
    return Err(DOWN)


class Service:
    """A step that does what it is told next."""

    def __init__(self) -> None:
        self.calls = 0
        self.next: Any = Ok("up")

    async def __call__(self, _: Any) -> Any:
        self.calls += 1
        if isinstance(self.next, BaseException):
            raise self.next
        return self.next


async def test_a_breaker_opens_probes_once_and_closes() -> None:
    """Rows: S0-180, S4-057."""
    clock, service = FixedClock(), Service()
    circuit = CircuitBreaker("api", failures=3, reset=30, clock=clock)
    tree = breaker(step(service), circuit)
    service.next = Err(DOWN)
    for _ in range(3):
        assert await run(tree, 1) == Err(DOWN)
    assert circuit.state == "open"
    end = await run(tree, 1)
    assert isinstance(end, Err)
    assert isinstance(end.error, NetworkError)
    assert end.error.details == {"circuit": "api", "retry_after": "30.000"}
    assert service.calls == 3
    clock.advance(29)
    assert isinstance(await run(tree, 1), Err)
    assert service.calls == 3
    clock.advance(1)
    assert await run(tree, 1) == Err(DOWN)  # the probe fails: open for another 30 s
    assert (service.calls, circuit.state) == (4, "open")
    clock.advance(30)
    service.next = Ok("up")
    assert await run(tree, 1) == Ok("up")
    assert circuit.state == "closed"


def test_ten_threads_at_a_half_open_circuit_make_one_call() -> None:
    """Rows: S0-180."""
    clock = FixedClock()
    circuit = CircuitBreaker(failures=1, reset=5, clock=clock)
    permit = circuit.enter()
    assert isinstance(permit, Permit)
    circuit.leave(permit, DOWN)
    clock.advance(5)
    barrier, got = threading.Barrier(10), list[Any]()

    def call() -> None:
        barrier.wait()
        got.append(circuit.enter())

    threads = [threading.Thread(target=call) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(isinstance(one, Permit) for one in got) == 1


async def test_only_errors_in_a_row_that_another_try_may_cure_open_a_circuit() -> None:
    service = Service()
    circuit = CircuitBreaker(failures=2, clock=FixedClock())
    tree = breaker(step(service), circuit)
    for error in (DOWN, ParsingError("bad"), DOWN):
        service.next = Err(error)
        await run(tree, 1)
    assert circuit.state == "closed"
    await run(tree, 1)
    assert circuit.state == "open"


async def test_a_retry_around_an_open_circuit_waits_until_it_may_be_tried() -> None:
    clock = FixedClock()
    circuit = CircuitBreaker(failures=1, reset=30, clock=clock)
    script = Script()
    once_more = RetryPolicy(initial_interval=0, jitter=False, max_attempts=3)
    await script.run(retry(breaker(step(acts=False)(down), circuit), once_more), 1)
    assert script.waits == [0.0, 30.0]


@pytest.mark.parametrize("trouble", [OutcomeUnknown("op"), ZeroDivisionError(), asyncio.CancelledError()])
async def test_a_probe_that_tells_nothing_leaves_the_place_to_the_next(trouble: BaseException) -> None:
    clock, service = FixedClock(), Service()
    circuit = CircuitBreaker(failures=1, reset=1, clock=clock)
    tree = SAME >> breaker(SAME >> step(service), circuit) >> SAME
    service.next = DOWN
    await run(tree, 1)
    clock.advance(1)
    service.next = trouble
    with pytest.raises(type(trouble)):
        await run(tree, 1)
    assert circuit.state == "half_open"
    service.next = Ok("up")
    assert await run(tree, 1) == Ok("up")


async def test_a_probe_that_is_cancelled_leaves_the_place_to_the_next() -> None:
    clock = FixedClock()
    circuit = CircuitBreaker(failures=1, reset=1, clock=clock)
    await run(breaker(step(down), circuit), 1)
    clock.advance(1)

    async def stay(_: int) -> None:
        await asyncio.sleep(60)

    await run(timeout(breaker(step(stay), circuit), 0.01), 1)
    assert await run(breaker(SAME, circuit), 1) == Ok(1)
    assert circuit.state == "closed"


async def test_a_late_answer_from_before_tells_nothing_about_now() -> None:
    clock = FixedClock()
    circuit = CircuitBreaker(failures=1, reset=1, clock=clock)
    old, bad = circuit.enter(), circuit.enter()
    assert isinstance(old, Permit)
    assert isinstance(bad, Permit)
    circuit.leave(bad, DOWN)
    circuit.leave(old)
    assert circuit.state == "open"
    clock.advance(1)
    probe = circuit.enter()
    assert isinstance(probe, Permit)
    circuit.leave(old, DOWN)
    assert circuit.state == "half_open"
    circuit.leave(probe)
    assert circuit.state == "closed"


async def test_two_good_probes_may_be_asked_for() -> None:
    """Rows: S4-057."""
    clock = FixedClock()
    circuit = CircuitBreaker(failures=1, reset=1, successes=2, clock=clock)
    await run(breaker(step(down), circuit), 1)
    clock.advance(1)
    assert await run(breaker(SAME, circuit), 1) == Ok(1)
    assert circuit.state == "half_open"
    assert await run(breaker(SAME, circuit), 1) == Ok(1)
    assert circuit.state == "closed"


async def test_a_rate_limit_waits_as_its_bucket_says() -> None:
    """Rows: S0-186."""
    clock = FixedClock()
    tree = rate_limit(SAME, RateLimiter(2, per=1, burst=2, clock=clock))
    script = Script()
    for n in range(4):
        assert await script.run(tree, n) == Ok(n)
    assert script.waits == [0.5, 1.0]
    clock.advance(10)
    await script.run(tree, 1)
    assert script.waits == [0.5, 1.0]


async def test_a_rate_limit_may_count_what_a_call_costs_and_refuse_to_wait_long() -> None:
    """Rows: S0-186."""
    clock = FixedClock()
    limiter = RateLimiter(100, per=60, burst=100, max_wait=5, clock=clock)
    tree = rate_limit(pure(len), limiter, cost=len)
    script = Script()
    assert await script.run(tree, "x" * 105) == Ok(105)
    assert script.waits == [pytest.approx(3.0)]
    end = await script.run(tree, "x" * 50)
    assert isinstance(end, Err)
    assert isinstance(end.error, NetworkError)
    clock.advance(60)
    assert await script.run(tree, "x" * 95) == Ok(95)
    with pytest.raises(ConfigurationError, match="above 0"):
        RateLimiter(0)


async def test_who_is_cancelled_in_the_queue_gives_his_place_back() -> None:
    clock = FixedClock()
    limiter = RateLimiter(1, per=60, burst=1, clock=clock)
    assert limiter.reserve() == 0
    await run(timeout(rate_limit(SAME, limiter), 0.01), 1)
    assert limiter.reserve() == 60


async def test_a_cache_answers_what_it_has_seen_and_keeps_no_error() -> None:
    """Rows: S0-032, S0-186."""
    calls: list[Any] = []

    @step(cacheable=True)
    def look(value: Any) -> Result[list[Any], Error]:
        calls.append(value)
        return Err(DOWN) if value == "bad" else Ok([value])

    clock = FixedClock()
    cache = MemoryCache(max_entries=3, clock=clock)
    tree = cached(look, cache, name="look.v1", ttl=60)
    first = (await run(tree, 1)).unwrap()
    first.append("changed")
    assert await run(tree, 1) == Ok([1])
    assert await run(tree, True) == Ok([True])  # equal, and of another type
    assert await run(tree, "bad") == Err(DOWN)
    assert await run(tree, "bad") == Err(DOWN)
    assert calls == [1, True, "bad", "bad"]
    clock.advance(60)
    await run(tree, 1)
    assert calls[4:] == [1]
    assert await run(cached(look, cache, name="look.v2"), 1) == Ok([1])
    assert calls[5:] == [1]
    for n in range(9):
        await run(tree, n)
    assert len(cache) == 3


def test_only_what_may_share_an_answer_can_be_cached() -> None:
    """Rows: S0-032."""

    @step
    def act(n: int) -> int:
        return n

    with pytest.raises(ConfigurationError, match="'act' may act each time"):
        cached(pure(abs) >> act, MemoryCache(), name="x")
    with pytest.raises(ConfigurationError, match="neither independent nor cacheable"):
        step(cacheable=True, effects=["mail"])
    registry = Registry()
    with pytest.raises(ConfigurationError, match="neither"):
        registry.component("mail", effects=["mail"], cacheable=True)
    with pytest.raises(ConfigurationError, match="needs a name"):
        cached(SAME, MemoryCache(), name="")


async def test_an_input_that_no_codec_knows_needs_a_key() -> None:
    class Odd:
        n = 1

    end = await run(cached(SAME, MemoryCache(), name="odd"), Odd())
    assert isinstance(end, Err)
    assert "key=" in end.error.message
    odd: Pipeline[Odd, Any] = SAME
    assert isinstance(await run(cached(odd, MemoryCache(), name="odd", key=lambda odd: odd.n), Odd()), Ok)


def no_secret(text: str) -> Result[str, ParsingError]:
    return Err(ParsingError("a secret")) if "secret" in text else Ok(text.strip())


async def polite(text: str) -> str:
    return f"{text}, please"


def short(text: str) -> str:
    if len(text) > 20:
        raise ValidationError("too long")
    return text


async def test_a_guard_changes_or_refuses_on_the_way_in_and_out() -> None:
    """Rows: S0-184."""
    calls: list[str] = []

    @step
    def echo(text: str) -> str:
        calls.append(text)
        return text * 2

    tree = guard(echo, before=[no_secret, polite], after=[short])
    assert await run(tree, " a ") == Ok("a, pleasea, please")
    end = await run(tree, "secret")
    assert isinstance(end, Err)
    assert isinstance(end.error, ValidationError)
    assert end.error.details["check"] == "no_secret"
    assert isinstance(end.error.__cause__, ParsingError)
    assert calls == ["a, please"]
    assert await run(tree, "much longer") == Err(ValidationError("too long"))
    with pytest.raises(ConfigurationError, match="a check"):
        guard(echo)


def test_policies_are_drawn_explained_and_never_pruned() -> None:
    tree = guard(
        cached(rate_limit(breaker(pure(str), CircuitBreaker("api")), RateLimiter(1)), MemoryCache(), name="s"),
        before=[no_secret],
        after=[short],
    )
    assert draw(tree).splitlines() == [
        "guard, before: no_secret; after: short",
        "  cached as s",
        "    rate limit",
        "      circuit breaker api",
        "        str",
    ]
    assert explain(tree).escapes == ("NetworkError", "ValidationError")
    assert names_of(optimise(tree | SAME >> pure(repr))) == ["str", "repr"]


def test_policies_go_to_json_by_the_names_of_what_they_share() -> None:
    """Rows: S0-021."""
    registry = Registry()
    circuit = registry.keep(CircuitBreaker("api"))
    limiter, cache = registry.keep(RateLimiter(1, component_id="slow")), registry.keep(MemoryCache("mem"))
    key, check = registry.choice("key")(len), registry.choice("check")(short)
    inner = rate_limit(breaker(SAME, circuit), limiter, cost=key)
    tree = guard(cached(inner, cache, name="n", key=key, ttl=3), before=[check])
    told = json.loads(json.dumps(to_json(tree)))
    back = from_json(told, registry)
    assert to_json(back) == told
    with pytest.raises(ConfigurationError, match="circuit breaker without a name"):
        to_json(breaker(SAME, CircuitBreaker()))
    with pytest.raises(ConfigurationError, match="check 'short' without a name"):
        to_json(guard(SAME, before=[short]))
    told["nodes"][1]["policy"] = {"breaker": "slow"}
    with pytest.raises(ConfigurationError, match="'slow' is no CircuitBreaker"):
        from_json(told, registry)
