"""A pipeline's type is worked out from its steps, whichever form they have."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import assert_type

from lawful.core.errors import Error, ParsingError
from lawful.core.result import Err, Ok, Result
from lawful.pipeline import (
    CircuitBreaker,
    Pipeline,
    Run,
    Stream,
    always,
    branch,
    breaker,
    each,
    guard,
    identity,
    in_turn,
    par,
    pure,
    retry,
    run,
    step,
    stream,
    streamed,
    switch,
)
from lawful.pipeline.parsers import structured
from lawful.pipeline.prompts import prompt


@step
async def words(text: str) -> Result[list[str], Error]:
    return Ok(text.split())


@step
def number(text: str) -> Result[int, ParsingError]:
    return Ok(int(text)) if text.isdecimal() else Err(ParsingError("no number"))


@step
async def fetch(name: str) -> bytes:
    return name.encode()


@step(catch=OSError, blocking=True)
def load(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def longest(found: list[str]) -> str:
    return max(found, key=len)


assert_type(words, Pipeline[str, list[str]])
assert_type(number, Pipeline[str, int])
assert_type(fetch, Pipeline[str, bytes])
assert_type(load, Pipeline[str, bytes])
summary = words >> (pure(len) & pure(longest))
assert_type(summary, Pipeline[str, tuple[int, str]])
assert_type(number | fetch, Pipeline[str, int | bytes])
assert_type(identity(str) >> number, Pipeline[str, int])
assert_type(par(number, fetch, words), Pipeline[str, tuple[int, bytes, list[str]]])
assert_type(words >> each(number), Pipeline[str, list[int]])
assert_type(branch(str.isdecimal, number, fetch >> pure(len)), Pipeline[str, int])


async def show(text: str) -> str:
    match await run(summary, text):
        case Ok((count, word)):
            return f"{count} words, the longest is {word}"
        case Err(error):
            return error.message


@dataclass(frozen=True)
class Env:
    limit: int


@step
def limited(text: str, run: Run[Env]) -> str:
    return text[: run.env.limit]


@step(independent=True)
async def looked(text: str, run: Run[Env]) -> Result[int, Error]:
    await run.write(text)
    return Ok(run.env.limit)


async def said(text: str) -> AsyncIterator[str]:
    yield text


async def counted(text: str) -> AsyncIterator[bytes]:
    yield text.encode()


def add(total: int, chunk: bytes) -> int:
    return total + len(chunk)


@dataclass(frozen=True)
class Ask:
    question: str


assert_type(limited >> looked, Pipeline[str, int])
assert_type(in_turn(limited, looked), Pipeline[str, tuple[str, int]])
assert_type((number & fetch).map(len), Pipeline[str, int])
assert_type(streamed(said), Pipeline[str, str])
assert_type(streamed(counted, start=0, add=add), Pipeline[str, int])
assert_type(breaker(retry(guard(number, before=[str.strip])), CircuitBreaker()), Pipeline[str, int])
assert_type(switch(str.isdecimal, {True: number}, otherwise=looked), Pipeline[str, int])
assert_type(branch(always(True), number, looked), Pipeline[str, int])
assert_type(prompt(Ask, "{question}") >> structured(Env), Pipeline[Ask, Env])
assert_type(stream(number, "1"), Stream[int])
