"""Retry and timeout around a part: errors only, every attempt on the same input, nothing left running."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from lawful.core.errors import ConfigurationError, NetworkError, NodeTimeoutError, ParsingError
from lawful.core.result import Err, Ok
from lawful.core.retry import RetryPolicy
from lawful.core.signals import OutcomeUnknown
from lawful.pipeline import (
    Pipeline,
    draw,
    explain,
    from_json,
    identity,
    optimise,
    pure,
    retry,
    run,
    step,
    timeout,
    to_json,
)
from lawful.pipeline import names as names_of
from support.pipelines import REGISTRY

pytestmark = pytest.mark.unit

SOON = RetryPolicy(initial_interval=0, jitter=False)
SAME: Pipeline[Any, Any] = identity()


def after(n: int) -> int:
    return n + 1


def failing(times: int, error: BaseException, seen: list[Any]) -> Pipeline[Any, Any]:
    def act(value: Any) -> Any:
        seen.append(value)
        if len(seen) <= times:
            raise error
        return value

    return step(name="act")(act)


async def test_a_retry_tries_the_whole_part_again_on_its_own_input() -> None:
    seen: list[Any] = []
    part = pure(after) >> failing(2, NetworkError("down"), seen)
    assert await run(retry(part, SOON), 1) == Ok(2)
    assert seen == [2, 2, 2]


async def test_a_retry_ends_with_the_error_when_attempts_are_used_up() -> None:
    seen: list[Any] = []
    down = NetworkError("down")
    assert await run(retry(failing(9, down, seen), SOON), 1) == Err(down)
    assert len(seen) == SOON.max_attempts


@pytest.mark.parametrize("error", [ParsingError("bad"), OutcomeUnknown("op"), ZeroDivisionError()])
async def test_what_no_retry_can_cure_is_tried_once(error: BaseException) -> None:
    seen: list[Any] = []
    tree = retry(failing(9, error, seen), SOON)
    if isinstance(error, ParsingError):
        assert await run(tree, 1) == Err(error)
    else:
        with pytest.raises(type(error)):
            await run(tree | SAME, 1)
    assert seen == [1]


async def test_a_retry_waits_as_its_policy_says() -> None:
    seen: list[Any] = []
    policy = RetryPolicy(initial_interval=0.03, backoff_factor=2, jitter=False)
    began = time.monotonic()
    await run(retry(failing(2, NetworkError("down"), seen), policy), 1)
    assert time.monotonic() - began >= 0.03 + 0.06 - 0.005


async def test_a_timeout_cancels_and_awaits() -> None:
    ended: list[str] = []

    async def long(_: Any) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            ended.append("long")

    end = await run(timeout(step(long), 0.02), 1)
    assert isinstance(end, Err)
    assert isinstance(end.error, NodeTimeoutError)
    assert ended == ["long"]
    assert await run(timeout(step(long), 0.02) | pure(str), 1) == Ok("1")
    twice = retry(timeout(step(long), 0.01), RetryPolicy(initial_interval=0, jitter=False, max_attempts=2))
    assert isinstance(await run(twice, 1), Err)
    assert ended == ["long"] * 4


async def test_an_unknown_outcome_on_the_way_out_beats_the_timeout() -> None:
    async def lost(_: Any) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            raise OutcomeUnknown("op")

    with pytest.raises(OutcomeUnknown):
        await run(retry(timeout(step(lost), 0.02), SOON) | SAME, 1)


async def test_in_time_is_in_time() -> None:
    assert await run(timeout(pure(str), 5), 1) == Ok("1")
    with pytest.raises(ConfigurationError, match="above 0"):
        timeout(SAME, 0)


def test_policies_are_told_drawn_and_kept() -> None:
    @step(errors=[NetworkError])
    def fetch(name: str) -> str:
        return name

    tree = timeout(retry(fetch), 2)
    assert explain(tree).escapes == ("NetworkError", "NodeTimeoutError")
    assert draw(tree) == "within 2 s\n  up to 3 attempts\n    fetch"
    assert names_of(optimise(timeout(pure(str), 2) | fetch)) == ["str", "fetch"]
    assert names_of(optimise(retry(pure(str)) | fetch)) == ["str"]
    told = to_json(timeout(retry(SAME), 2))
    assert to_json(from_json(told, REGISTRY)) == told
    with pytest.raises(ConfigurationError, match="retry_on"):
        to_json(retry(SAME, RetryPolicy(retry_on=OSError)))
    with pytest.raises(ConfigurationError, match="a policy has either"):
        from_json({"version": 1, "nodes": [{"kind": "Id"}, {"kind": "Guarded", "parts": [0]}]}, REGISTRY)
