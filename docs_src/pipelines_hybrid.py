"""Two searches at once, one prompt of what both found, a second model where the first is down; answered by a script."""

from __future__ import annotations

import asyncio

from lawful import Err, Ok, Pipeline, identity, pure, step
from lawful.core.errors import NetworkError
from lawful.models import chat
from lawful.testing import Script


@step
async def dense(question: str) -> list[str]:
    raise NotImplementedError("asks a vector store")


@step
async def sparse(question: str) -> list[str]:
    raise NotImplementedError("asks a full-text index")


def fuse(found: tuple[list[str], list[str]]) -> list[str]:
    return list(dict.fromkeys(found[0] + found[1]))


def prompt(asked: tuple[str, list[str]]) -> str:
    question, passages = asked
    return "\n".join(["Answer from these passages.", *passages, question])


dear, cheap = chat("openai:gpt-5"), chat("ollama:qwen3")
hybrid = (dense & sparse).map(fuse)
answer: Pipeline[str, str] = (identity(str) & hybrid) >> pure(prompt) >> (dear | cheap)


async def test_the_cheap_model_answers_when_the_dear_one_is_down() -> None:
    script = Script().answer(dense, ["6 × 7 = 42"]).answer(sparse, ["6 × 7 = 42", "7 × 6 = 42"])
    script.answer(dear, Err(NetworkError("down"))).answer(cheap, Ok("42"))
    assert await script.run(answer, "6 × 7?") == Ok("42")
    assert script.trace == ["dense", "sparse", "openai:gpt-5", "ollama:qwen3"]
    print(dict(script.inputs)["ollama:qwen3"].splitlines()[1:])


asyncio.run(test_the_cheap_model_answers_when_the_dear_one_is_down())

# prints: ['6 × 7 = 42', '7 × 6 = 42', '6 × 7?']
