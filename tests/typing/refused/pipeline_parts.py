"""A wrong field of the environment, values that do not fit a policy or a prompt, and chunks that do not fold are refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from lawful.core.result import Err, Ok
from lawful.pipeline import Run, guard, in_turn, pure, run_sync, step, streamed, switch
from lawful.pipeline.parsers import structured
from lawful.pipeline.prompts import prompt


@dataclass(frozen=True)
class Env:
    limit: int


@dataclass(frozen=True)
class Ask:
    question: str


@step
def limited(text: str, run: Run[Env]) -> str:
    return text[: run.env.limt]  # expect: Cannot access attribute "limt" for class "Env"


@step
def changed(text: str, run: Run[Env]) -> str:
    run.env.limit = 3  # expect: Attribute "limit" is read-only
    return text


@step
def count(found: list[str]) -> int:
    return len(found)


async def chunks(text: str) -> AsyncIterator[bytes]:
    yield text.encode()


joined = streamed(chunks)  # expect: No overloads for "streamed"
asked = prompt(Ask, "{question}") >> count  # expect: Operator ">>" not supported
run_sync(prompt(Ask, "{question}"), "a text")  # expect: is not assignable to "Ask"
parsed = structured(Env) >> pure(str.upper)  # expect: Operator ">>" not supported
turns = in_turn(limited, count)  # expect: Argument of type "Pipeline[list[str], int]"
checked = guard(count, before=[str.strip])  # expect: is not assignable to
chosen = switch(str.isdecimal, {True: limited}, otherwise=count)  # expect: Argument of type "Pipeline[list[str], int]"


def shown(text: str) -> str:
    match run_sync(limited, text, env=Env(3)):
        case Ok(value):
            return value + 1  # expect: Operator "+" not supported
        case Err(error):
            return error.reason  # expect: Cannot access attribute "reason"
