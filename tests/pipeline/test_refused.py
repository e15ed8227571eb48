"""What cannot be right is refused where it is said, in a typed error: numbers, classes, stored pipelines, scripts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from lawful.core.errors import ConfigurationError, NetworkError, ParsingError
from lawful.core.result import Err, Ok
from lawful.core.retry import RetryPolicy
from lawful.core.signals import OutcomeUnknown
from lawful.pipeline import (
    CircuitBreaker,
    MemoryCache,
    Pipeline,
    RateLimiter,
    Registry,
    Run,
    branch,
    breaker,
    cached,
    check,
    dry_run,
    each,
    explain,
    from_json,
    guard,
    in_turn,
    par,
    prim,
    pure,
    rate_limit,
    retry,
    run,
    step,
    stream,
    switch,
    timeout,
    to_json,
)
from lawful.testing import Script
from lawful.testing.script import Untold
from support.pipelines import balanced, both, left, right

pytestmark = pytest.mark.unit

HUGE = 10**400
SIZE: Pipeline[Any, int] = pure(abs)


@pytest.mark.parametrize(
    "make",
    [
        lambda: timeout(SIZE, HUGE),
        lambda: RetryPolicy(max_interval=HUGE),
        lambda: CircuitBreaker(reset=HUGE),
        lambda: RateLimiter(HUGE),
        lambda: RateLimiter(1, max_wait=float("nan")),
        lambda: RateLimiter(1, max_wait=-1),
        lambda: cached(SIZE, MemoryCache(), name="x", ttl=float("nan")),
        lambda: cached(SIZE, MemoryCache(), name="x", ttl=-1),
        lambda: stream(SIZE, 1, buffer=0),
    ],
)
def test_a_number_that_would_stop_or_break_a_run_is_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(ConfigurationError, match="must be"):
        make()


@pytest.mark.parametrize("cost", [float("nan"), float("inf"), -1_000.0, HUGE])
async def test_a_cost_that_is_no_cost_takes_nothing_from_the_limiter(cost: float) -> None:
    limiter = RateLimiter(1, burst=1, max_wait=0)
    end = await run(rate_limit(SIZE, limiter, cost=lambda _: cost), 1)
    assert isinstance(end, Err)
    assert isinstance(end.error, ConfigurationError)
    assert limiter.reserve(1) == 0
    assert limiter.reserve(1) is None


async def test_a_probe_whose_error_cannot_be_judged_leaves_the_circuit_to_the_next() -> None:
    judged: list[bool] = []

    def counts(_: Exception) -> bool:
        judged.append(True)
        if len(judged) == 2:
            raise KeyError("judge")
        return True

    @step
    def down(_: int) -> int:
        raise NetworkError("down")

    circuit = CircuitBreaker(failures=1, reset=0, counts=counts)
    await run(breaker(down, circuit), 1)
    with pytest.raises(KeyError, match="judge"):
        await run(breaker(down, circuit), 1)
    assert await run(breaker(SIZE, circuit), -1) == Ok(1)
    assert circuit.state == "closed"


@pytest.mark.parametrize("what", [BaseException, OutcomeUnknown, "OSError", (KeyboardInterrupt,)])
def test_a_step_catches_exceptions_and_never_signals(what: Any) -> None:
    with pytest.raises(ConfigurationError, match="catch takes classes of Exception"):
        step(catch=what)
    wrong: Any = ValueError
    with pytest.raises(ConfigurationError, match="error takes classes of Failure"):
        step(catch=OSError, error=wrong)


class Later:
    """An object whose call is an ``async def``."""

    async def __call__(self, value: int) -> int:
        return value


def test_an_async_function_is_known_in_every_form() -> None:
    for function in (Later(), Later().__call__, functools.partial(Later().__call__), functools.partial(Later())):
        with pytest.raises(ConfigurationError, match="async function"):
            pure(function)
        with pytest.raises(ConfigurationError, match="async function"):
            step(blocking=True)(function)


def plus(extra: int, value: int, run: Run[int]) -> int:
    return value + extra + run.env


def noted(function: Callable[..., Any]) -> Any:
    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return inner


@noted
def wrapped(value: int, run: Run[int]) -> int:
    return value + run.env


async def test_every_form_of_a_function_gets_the_run_and_is_held_against_the_environment() -> None:
    """Rows: S0-060."""
    registry = Registry()

    @registry.component("adds")
    async def adds(value: int, run: Run[int]) -> int:
        await run.write(value)
        return value + run.env

    assert await run(step(functools.partial(plus, 1)), 1, env=5) == Ok(7)
    tree = step(wrapped) >> adds
    assert await run(tree, 1, env=5) == Ok(11)
    assert await stream(tree, 1, env=5).end() == Ok(11)
    assert await run(from_json(to_json(adds), registry), 1, env=5) == Ok(6)
    for part in (step(wrapped), adds):
        end = await run(part, 1, env="five")
        assert isinstance(end, Err)
        assert "needs an environment of int" in end.error.message
    with pytest.raises(ConfigurationError, match="takes the Run"):
        step(acts=False)(wrapped)


async def test_an_answer_that_nobody_would_ask_for_is_told_before_anything_runs() -> None:
    """Rows: S0-031."""

    def big(n: int) -> bool:
        return n > 3

    tree = branch(big, SIZE, SIZE)
    for script in (Script().answer(SIZE, 9), Script().answer("big", True), Script().compute("abs", str)):
        with pytest.raises(Untold, match="runs as it is"):
            await script.run(tree, 1)

    def checked(n: int) -> int:
        raise AssertionError(n)

    assert await Script().answer("checked", -7).run(guard(SIZE, before=[checked]), 1) == Ok(7)


REGISTRY = Registry()
REGISTRY.component("one")(abs)
REGISTRY.keep(MemoryCache("mem"))
REGISTRY.keep(RateLimiter(1, component_id="lim"))


def stored(*nodes: Any) -> dict[str, Any]:
    return {"version": 1, "nodes": list(nodes)}


ID = {"kind": "Id"}


def under(**policy: Any) -> dict[str, Any]:
    return stored(ID, {"kind": "Guarded", "parts": [0], "policy": policy})


WAITS = {"initial_interval": 0, "backoff_factor": 1, "max_interval": 1, "max_attempts": 2}


@pytest.mark.parametrize(
    "told",
    [
        None,
        [],
        stored({"kind": "Prim", "component": "mem"}),
        stored(ID, ID, {"kind": "Branch", "when": "lim", "cases": [True], "parts": [0, 1]}),
        stored(ID, ID),
        stored(ID, ID, {"kind": "Each", "parts": [1], "at_once": 1}),
        stored(ID, {"kind": "Seq", "parts": [0, 0]}),
        stored(ID, {"kind": "Each", "parts": [0], "at_once": 1}, {"kind": "Par", "parts": [0, 1]}),
        under(**WAITS, jitter="no"),
        under(cache="mem", name=None, ttl=None),
        under(cache="mem", name="x", ttl=float("nan")),
        under(cache="mem", name="x", ttl=None, key="lim"),
        under(rate_limit="lim", cost="mem"),
        under(before=["mem"], after=[]),
        under(seconds=HUGE),
    ],
)
def test_a_stored_pipeline_that_is_no_pipeline_is_refused(told: Any) -> None:
    """Rows: S0-021."""
    with pytest.raises(ConfigurationError):
        from_json(told, REGISTRY)


def test_a_short_text_cannot_be_a_vast_pipeline() -> None:
    """A part that is used twice would double the whole at every level."""
    nodes: list[Any] = [{"kind": "Prim", "component": "one"}]
    nodes += [{"kind": "Seq", "parts": [at, at]} for at in range(60)]
    with pytest.raises(ConfigurationError, match="no part yet"):
        from_json(stored(*nodes), REGISTRY)


def test_what_can_escape_is_never_less_than_what_does() -> None:
    def dear(text: str) -> float:
        raise ParsingError(text)

    @step(catch=OSError, errors=[ParsingError])
    def reads(text: str) -> str:
        return text

    assert explain(reads).escapes == ("ParsingError", "ToolError")
    assert explain(cached(pure(str.strip), MemoryCache(), name="x")).escapes == ("ValidationError",)
    assert "Failure" in explain(rate_limit(pure(str.strip), RateLimiter(1), cost=dear)).escapes
    assert "Failure" in explain(cached(pure(str.strip), MemoryCache(), name="x", key=dear)).escapes


class Judge:
    """A model that is asked by a branch or a guard."""

    component_id, kind, effects = "judge", "model", ("openai",)

    async def __call__(self, value: str) -> Any:
        return Ok(value)


def test_models_that_branches_and_guards_ask_are_counted() -> None:
    tree = guard(branch(Judge(), pure(str.strip), pure(str.upper)), before=[Judge()], after=[Judge()])
    told = explain(tree)
    assert told.model_calls == 3
    judge: Pipeline[str, str] = prim(Judge())
    assert explain(branch(bool, judge >> judge, judge)).model_calls == 2  # one arm runs, the dearer one at most
    assert told.models == ("judge",)
    assert told.effects == ("openai",)
    assert dry_run(branch(Judge(), SIZE, SIZE), 1).effects == ("openai",)


def test_annotations_are_held_against_each_other_however_deep_pairs_nest() -> None:
    def same(n: int) -> int:
        return n

    def text(n: str) -> str:
        return n

    leaf = step(same)
    for shape in (left, right, balanced):
        deep = shape(both, leaf, 20_000)
        assert check((deep | deep) >> pure(repr)) == ()
        for wrong in check((deep | deep) >> leaf):
            assert len(wrong.gives) <= 200
    nest: Pipeline[Any, Any] = leaf
    for _ in range(20_000):
        nest = each(nest)
    assert check((nest | nest) >> pure(repr)) == ()
    untyped: Any = step(text)
    [wrong] = check((leaf & leaf) >> untyped)
    assert wrong.gives == "tuple[int, int]"

    def two(pair: tuple[int, str]) -> int:
        return pair[0]

    def fitting(pair: tuple[int, int]) -> int:
        return pair[0]

    crossed: Any = step(two)
    [wrong] = check((leaf & leaf) >> crossed)
    assert wrong.wants == "tuple[int, str]"
    assert check((leaf & leaf) >> step(fitting)) == ()


def plain(n: int) -> int:
    return n


NO_COMPONENT: Any = MemoryCache("mem")
JOINS: list[Callable[[Any], Any]] = [
    lambda x: SIZE >> x,
    lambda x: SIZE & x,
    lambda x: SIZE | x,
    lambda x: par(x, SIZE),
    lambda x: in_turn(SIZE, x),
    each,
    retry,
    lambda x: timeout(x, 1),
    lambda x: breaker(x, CircuitBreaker()),
    lambda x: rate_limit(x, RateLimiter(1)),
    lambda x: cached(x, MemoryCache(), name="x"),
    lambda x: guard(x, before=[plain]),
    lambda x: branch(bool, x, SIZE),
    lambda x: branch(bool, SIZE, x),
    lambda x: switch(abs, {1: x}, otherwise=SIZE),
    lambda x: switch(abs, {}, otherwise=x),
]


@pytest.mark.parametrize("join", JOINS)
def test_what_is_no_pipeline_is_refused_where_it_is_joined(join: Callable[[Any], Any]) -> None:
    """Rows: S0-019, S0-029."""
    with pytest.raises(ConfigurationError, match=r"joins pipelines, not <function plain .*make it one: step"):
        join(plain)
    with pytest.raises(ConfigurationError, match="joins pipelines, not 5"):
        join(5)


TAKES: list[Callable[[Any], Any]] = [
    step,
    pure,
    SIZE.map,
    lambda _: prim(NO_COMPONENT),
    lambda x: branch(x, SIZE, SIZE),
    lambda x: switch(x, {}, otherwise=SIZE),
    lambda x: guard(SIZE, after=[x]),
]


@pytest.mark.parametrize("take", TAKES)
def test_what_cannot_be_called_is_no_step(take: Callable[[Any], Any]) -> None:
    with pytest.raises(ConfigurationError, match="takes functions, not"):
        take(SIZE)
