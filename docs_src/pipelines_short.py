"""The shortest pipeline: a step that may fail, two functions on its value, and both ends of a run."""

from __future__ import annotations

import asyncio

from lawful import Err, Error, Ok, Pipeline, Result, pure, run, step
from lawful.core.errors import ParsingError


@step
async def words(text: str) -> Result[list[str], Error]:
    return Ok(text.split()) if text else Err(ParsingError("nothing to read"))


def longest(found: list[str]) -> str:
    return max(found, key=len)


summary: Pipeline[str, tuple[int, str]] = words >> (pure(len) & pure(longest))  # nothing has run


async def show(text: str) -> str:
    match await run(summary, text):
        case Ok((count, word)):
            return f"{count} words, the longest is {word}"
        case Err(error):
            return error.message


print(asyncio.run(show("all roads lead to Rome")))
print(asyncio.run(show("")))

# prints: 5 words, the longest is roads
# prints: nothing to read
