"""Which trouble wins where several come at once, and what no fallback, retry or cache may make of it."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Any, TypedDict

import pytest

from lawful import (
    START,
    Done,
    Err,
    MemoryJournal,
    Ok,
    OutcomeUnknown,
    Paused,
    StateGraph,
    append,
    effect,
    interrupt,
)
from lawful.core.errors import ConfigurationError, NetworkError, ParsingError
from lawful.pipeline import MemoryCache, Pipeline, cached, each, prim, pure, retry, run, step

pytestmark = pytest.mark.unit

BLIND: Pipeline[Any, Any] = pure(repr)


@step
async def fails(_: Any) -> Any:
    await asyncio.sleep(0)
    raise NetworkError("down")


@step
async def breaks_on_its_way_out(_: Any) -> Any:
    try:
        await asyncio.sleep(60)
    finally:
        raise ZeroDivisionError


async def test_a_bug_beats_the_error_that_cancelled_it() -> None:
    for tree in (breaks_on_its_way_out & fails, fails & breaks_on_its_way_out):
        with pytest.raises(ZeroDivisionError):
            await run(tree | BLIND, 1)


async def test_an_unknown_outcome_of_a_thread_beats_the_error_that_cancelled_it() -> None:
    @step(blocking=True)
    def lost(_: Any) -> Any:
        time.sleep(0.05)
        raise OutcomeUnknown("op")

    for tree in (lost & fails, fails & lost):
        with pytest.raises(OutcomeUnknown):
            await run(retry(tree) | BLIND, 1)


async def test_each_error_of_a_row_of_fallbacks_is_the_cause_of_the_next() -> None:
    def parse(_: Any) -> Any:
        return Err(ParsingError("no form"))

    end = await run((fails >> BLIND) | (BLIND >> step(parse)), 1)
    assert end == Err(ParsingError("no form"))
    assert isinstance(end, Err)
    assert end.error.__cause__ == NetworkError("down")


@effect("key")
async def charge(key: str) -> str:
    return key


async def test_an_effect_outside_a_graph_ends_the_run_whatever_stands_around_it() -> None:
    @step
    async def act(_: Any) -> str:
        return await charge("a")

    end = await run(retry(act & BLIND) | BLIND, 1)
    assert isinstance(end, Err)
    assert isinstance(end.error, ConfigurationError)
    assert end.error.details["step"] == "act"


class State(TypedDict, total=False):
    text: str
    log: Annotated[list[str], append]


def only(_: State) -> int:
    return 1


async def test_what_a_person_or_an_effect_said_is_not_kept_for_others() -> None:
    @step(cacheable=True)
    def ask(_: State) -> State:
        return {"text": interrupt("name?")}

    @step(cacheable=True)
    async def act(_: State) -> State:
        return {"log": [await charge("a")]}

    for part in (ask, act):
        cache = MemoryCache()
        kept = cached(part, cache, name="said", key=only)
        graph = StateGraph(State).add_node("work", kept).add_edge(START, "work").compile(MemoryJournal())
        end = await graph.run({}, thread="1")
        if isinstance(end, Paused):
            end = await graph.resume("1", end.questions[0].answer("Ann"))
        assert isinstance(end, Done)
        assert len(cache) == 0


async def test_questions_of_graphs_that_run_at_once_are_each_answered() -> None:
    """Rows: S0-104."""

    def ask(state: State) -> State:
        return {"text": interrupt(f"{state.get('text')}?")}

    def three(_: State) -> list[State]:
        return [{"text": name} for name in "abc"]

    def texts(found: list[Any]) -> State:
        return {"log": [one["text"] for one in found]}

    inner = StateGraph(State, name="inner").add_node(ask).add_edge(START, "ask").compile()
    many: Pipeline[State, State] = prim(inner)
    tree = pure(three) >> each(many) >> pure(texts)
    graph = StateGraph(State).add_node("work", tree).add_edge(START, "work").compile(MemoryJournal())
    end = await graph.run({}, thread="1")
    for _ in range(3):
        assert isinstance(end, Paused)
        question = end.questions[-1]
        end = await graph.resume("1", question.answer(f"{question.value} yes"))
    assert isinstance(end, Done)
    assert end.state.get("log") == ["a? yes", "b? yes", "c? yes"]


async def test_a_value_that_is_ok_is_not_mistaken_for_an_end() -> None:
    """A pure function's Result is its value; a step's is how it ended."""

    def says(n: int) -> Ok[int]:
        return Ok(n)

    assert await run(pure(says), 1) == Ok(Ok(1))
    assert await run(step(says), 1) == Ok(1)
