"""A pipeline whose steps do not fit is refused where they are joined, a wrong input where it is run."""

from __future__ import annotations

from lawful.core.errors import Error
from lawful.core.result import Ok, Result
from lawful.pipeline import Pipeline, branch, each, run, step


@step
async def words(text: str) -> Result[list[str], Error]:
    return Ok(text.split())


@step
def count(found: list[str]) -> int:
    return len(found)


twice = words >> words  # expect: Operator ">>" not supported
other_input = count & words  # expect: Operator "&" not supported
other_fallback = count | words  # expect: Operator "|" not supported
arms: Pipeline[str, int] = branch(str.isdecimal, words, count)  # expect: No overloads for "branch"
not_a_list = words >> each(count)  # expect: Operator ">>" not supported


class Mine(Pipeline[str, int]):
    def run(self) -> int:
        return run(words >> count, 3)  # expect: reportReturnType
