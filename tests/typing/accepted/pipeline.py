"""A pipeline's type is worked out from its steps, whichever form they have."""

from __future__ import annotations

from typing import assert_type

from lawful.core.errors import Error, ParsingError
from lawful.core.result import Err, Ok, Result
from lawful.pipeline import Pipeline, branch, each, identity, par, pure, run, step


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
