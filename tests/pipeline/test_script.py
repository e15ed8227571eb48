"""Script: answers in place of steps, strict about what it was not told."""

from __future__ import annotations

import pytest

from lawful.core.errors import Error, NetworkError
from lawful.core.result import Err, Ok, Result
from lawful.core.signals import OutcomeUnknown
from lawful.pipeline import Registry, each, pure, step
from lawful.testing import Script
from lawful.testing.script import Untold

pytestmark = pytest.mark.unit

registry = Registry()


@registry.component("dear")
async def dear(question: str) -> Result[str, Error]:
    raise AssertionError(question)


@registry.component("cheap")
async def cheap(question: str) -> Result[str, Error]:
    raise AssertionError(question)


@step
def shout(text: str) -> str:
    raise AssertionError(text)


DOWN = NetworkError("down")


async def test_the_cheap_model_answers_when_the_dear_one_is_down() -> None:
    """Rows: S0-031."""
    script = Script().answer(dear, Err(DOWN)).answer(cheap, Ok("42"))
    assert await script.run(pure(str.strip) >> (dear | cheap), " 6 × 7 ") == Ok("42")
    assert script.trace == ["dear", "cheap"]
    assert script.inputs == [("dear", "6 × 7"), ("cheap", "6 × 7")]
    assert script.unused() == {}


async def test_what_was_not_told_fails_whatever_would_handle_errors() -> None:
    with pytest.raises(Untold, match="'dear', call 1, input 'q'"):
        await Script().answer(cheap, "x").run(dear | cheap, "q")
    script = Script().answer(dear, "once")
    with pytest.raises(Untold, match="no answer left for 'dear', call 2"):
        await script.run(dear >> dear, "q")


async def test_an_answer_to_no_step_is_told_before_anything_runs() -> None:
    script = Script().answer("deer", "x").answer(cheap, "y")
    with pytest.raises(Untold, match="Did you mean 'dear'"):
        await script.run(dear | cheap, "q")
    assert script.trace == []
    with pytest.raises(Untold, match="is no step"):
        Script().answer(dear >> cheap, "x")


async def test_answers_that_are_left_are_counted() -> None:
    script = Script().answer(dear, "a", "b").answer(cheap, "c")
    assert await script.run(dear | cheap, "q") == Ok("a")
    assert script.unused() == {"dear": 1, "cheap": 1}


async def test_an_answer_may_be_worked_out_or_be_raised() -> None:
    script = Script().compute(shout, str.upper)
    assert await script.run(pure(str.split) >> each(shout), "a b") == Ok(["A", "B"])
    with pytest.raises(OutcomeUnknown):
        await Script().answer(dear, OutcomeUnknown("op")).answer(cheap, "x").run(dear | cheap, "q")
    assert await Script().answer(dear, DOWN).run(dear, "q") == Err(DOWN)


async def test_what_works_on_its_input_alone_is_run_as_it_is_unless_it_was_told() -> None:
    @step(acts=False)
    def parse(text: str) -> int:
        return int(text)

    script = Script().answer(dear, "42")
    assert await script.run(dear >> parse, "q") == Ok(42)
    assert script.trace == ["dear"]
    assert await Script().answer(dear, "42").answer(parse, 1).run(dear >> parse, "q") == Ok(1)
