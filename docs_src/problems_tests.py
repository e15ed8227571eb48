"""A test swaps the interpreter; the program under test is the very one that runs in production, and nothing is patched."""

from __future__ import annotations

import asyncio

from lawful import Err, Ok
from lawful.core.errors import NetworkError
from lawful.pipeline import step
from lawful.testing import Script


@step
async def dear(question: str) -> str:
    raise NotImplementedError("asks a provider")


@step
async def cheap(question: str) -> str:
    raise NotImplementedError("asks another")


answer = dear | cheap


async def test_the_cheap_model_answers_when_the_dear_one_is_down() -> None:
    script = Script().answer(dear, Err(NetworkError("down"))).answer(cheap, "42")
    assert await script.run(answer, "6 x 7") == Ok("42")
    assert script.trace == ["dear", "cheap"]
    assert not script.unused()
    print("tested without a network")


asyncio.run(test_the_cheap_model_answers_when_the_dear_one_is_down())
# prints: tested without a network
