"""A pipeline is described, looked at, and only then run; a script answers in place of its steps."""

from __future__ import annotations

import asyncio

from lawful import Err, Ok, Result
from lawful.core.errors import Error, NetworkError
from lawful.pipeline import Pipeline, explain, names, optimise, pure, run_sync, step
from lawful.testing import Script


@step(effects=["http.get"])
async def fetch(name: str) -> Result[str, NetworkError]:
    return Err(NetworkError(f"{name} is down"))


@step
def kept(name: str) -> str:
    return f"what was kept of {name}"


def longest(words: list[str]) -> str:
    return max(words, key=len)


words = pure(str.strip) >> (fetch | kept) >> pure(str.split)
summary: Pipeline[str, tuple[int, str]] = words >> (pure(len) & pure(longest))

print(*names(summary))
print(explain(summary).effects, explain(fetch).escapes)
print(optimise(pure(str.strip) >> pure(str.upper)))


def show(result: Result[tuple[int, str], Error]) -> str:
    match result:
        case Ok((count, word)):
            return f"{count} words, the longest is {word}"
        case Err(error):
            return error.message


print(show(run_sync(summary, " rome ")))


async def test_a_page_that_is_up_is_not_asked_of_the_cache() -> None:
    script = Script().answer(fetch, Ok("all roads"))
    assert await script.run(summary, "rome") == Ok((2, "roads"))
    assert script.trace == ["fetch"]


asyncio.run(test_a_page_that_is_up_is_not_asked_of_the_cache())

# prints: strip fetch kept split len longest
# prints: ('http.get',) ('NetworkError',)
# prints: <Lambda strip >> upper>
# prints: 5 words, the longest is what
