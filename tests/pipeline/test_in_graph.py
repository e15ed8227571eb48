"""A pipeline as a graph's node and a graph as a pipeline's component: questions, effects and the journal go through both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any, TypedDict

import pytest

from lawful import (
    START,
    CompiledStateGraph,
    Done,
    Err,
    Failed,
    MemoryJournal,
    NotFound,
    Ok,
    OutcomeUnknown,
    Paused,
    RetryPolicy,
    StateGraph,
    append,
    effect,
    interrupt,
)
from lawful.core.errors import ConfigurationError, GraphBuildError, NetworkError
from lawful.core.event_rules import unpaired
from lawful.core.events import NodeStarted
from lawful.pipeline import Run, in_turn, prim, pure, retry, run, step, streamed, timeout
from lawful.pipeline.nodes import Pipeline

pytestmark = pytest.mark.unit


class State(TypedDict, total=False):
    text: str
    log: Annotated[list[str], append]


def upper(state: State) -> State:
    return {"text": state.get("text", "").upper()}


def graph_of(pipeline: Pipeline[Any, Any], journal: Any = None, **options: Any) -> CompiledStateGraph[State]:
    return StateGraph(State).add_node("work", pipeline, **options).add_edge(START, "work").compile(journal)


async def test_a_pipeline_is_a_node() -> None:
    """Rows: S0-028."""
    graph = graph_of(pure(upper))
    assert (await graph.ainvoke({"text": "b"}))["text"] == "B"
    assert (await asyncio.to_thread(graph.invoke, {"text": "a"}))["text"] == "A"


async def test_its_error_is_the_nodes_failure_and_the_nodes_retry_sees_it() -> None:
    calls: list[int] = []

    @step
    def shaky(state: State) -> State:
        calls.append(1)
        if len(calls) < 3:
            raise NetworkError("down")
        return {"text": "up"}

    policy = RetryPolicy(initial_interval=0, jitter=False)
    end = await graph_of(shaky, retry_policy=policy).run({"text": ""})
    assert isinstance(end, Done)
    assert len(calls) == 3
    calls.clear()
    end = await graph_of(shaky).run({"text": ""})
    assert isinstance(end, Failed)
    assert end.error == NetworkError("down")


def ask(state: State) -> State:
    return {"text": f"{state.get('text')} {interrupt('go on?')}"}


async def test_a_question_goes_through_fallback_and_retry_and_is_answered() -> None:
    """Rows: S0-104."""
    begun: list[str] = []

    @step
    def before(state: State) -> State:
        begun.append("before")
        return state

    other: Pipeline[State, State] = pure(upper)
    tree = before >> (retry(step(ask)) | other)
    graph = graph_of(tree, MemoryJournal())
    paused = await graph.run({"text": "x"}, thread="1")
    assert isinstance(paused, Paused)
    [question] = paused.questions
    assert question.value == "go on?"
    done = await graph.resume("1", question.answer("yes"))
    assert isinstance(done, Done)
    assert done.state.get("text") == "x yes"
    assert begun == ["before", "before"]  # the node runs again from its start, as every node does


PAID: dict[str, int] = {}


@effect("key")
async def pay(key: str, cents: int) -> str:
    PAID[key] = PAID.get(key, 0) + cents
    return f"paid {key}"


@pay.lookup
async def find(key: str, cents: int) -> str | NotFound:
    return f"paid {key}" if key in PAID else NotFound()


async def test_an_effect_in_a_pipeline_is_journaled_and_happens_once() -> None:
    """Rows: S0-028."""
    PAID.clear()

    @step(effects=["pay"])
    async def charge(state: State) -> State:
        return {"log": [await pay(state.get("text", ""), 5)]}

    @step
    def then_ask(state: State) -> State:
        interrupt("sure?")
        return state

    journal = MemoryJournal()
    graph = graph_of(charge >> then_ask, journal)
    paused = await graph.run({"text": "ch_1"}, thread="1")
    assert isinstance(paused, Paused)
    done = await graph.resume("1", paused.questions[0].answer(None))
    assert isinstance(done, Done)
    assert done.state.get("log") == ["paid ch_1"]
    assert PAID == {"ch_1": 5}


@effect()
async def unkeyed(note: str) -> str:
    PAID[note] = PAID.get(note, 0) + 1
    return note


async def test_an_effect_without_a_key_is_not_performed_again_by_a_retry_in_the_pipeline() -> None:
    PAID.clear()

    @step
    async def act(state: State) -> State:
        await unkeyed("note")
        raise NetworkError("lost after the effect")

    end = await graph_of(retry(act, RetryPolicy(initial_interval=0, jitter=False)), MemoryJournal()).run({}, thread="1")
    assert isinstance(end, Failed)
    assert end.error == NetworkError("lost after the effect")
    assert PAID == {"note": 1}


@effect("key")
async def slow_pay(key: str) -> str:
    await asyncio.sleep(0.1)
    PAID[key] = PAID.get(key, 0) + 1
    return f"paid {key}"


@slow_pay.lookup
async def find_slow(key: str) -> str | NotFound:
    return f"paid {key}" if key in PAID else NotFound()


@pytest.mark.parametrize("how", ["timeout", "sibling"])
async def test_nothing_is_done_instead_of_an_effect_that_was_cancelled_on_its_way(how: str) -> None:
    """The node fails; when it goes on, the ledger knows what became of the effect."""
    PAID.clear()

    @step
    async def act(state: State) -> State:
        return {"text": await slow_pay("once")}

    @step
    async def fails(state: State) -> State:
        await asyncio.sleep(0.03)
        raise NetworkError("down")

    first = timeout(act, 0.03) if how == "timeout" else (act & fails) >> pure(first_of)
    graph = graph_of(retry(first, RetryPolicy(initial_interval=0, jitter=False)) | pure(upper), MemoryJournal())
    end = await graph.run({"text": "x"}, thread="1")
    assert isinstance(end, Failed)
    assert PAID == {"once": 1}
    done = await graph.run(None, thread="1")
    if how == "timeout":
        assert isinstance(done, Done)
        assert done.state.get("text") == "paid once"
    assert PAID == {"once": 1}


def first_of(pair: tuple[State, State]) -> State:
    return pair[0]


async def test_an_unknown_outcome_passes_a_fallback_inside_a_node() -> None:
    def lost(_: State) -> State:
        raise OutcomeUnknown("op-1", "pay", "no reply")

    end = await graph_of(step(lost) | pure(upper), MemoryJournal()).run({"text": "x"}, thread="1")
    assert isinstance(end, Paused)
    assert end.questions[0].kind == "effect_recovery"


async def test_the_environment_is_the_runs_context_and_chunks_are_the_nodes() -> None:
    """Rows: S0-060."""

    @step
    async def greet(state: State, run: Run[dict[str, str]]) -> str:
        await run.write("hello")
        return f"{run.env['greeting']} {state.get('text')}"

    async def words(text: str) -> AsyncIterator[str]:
        for word in text.split():
            yield word

    def put(text: str) -> State:
        return {"text": text}

    graph = graph_of(greet >> streamed(words) >> pure(put))
    chunks = [c async for c in graph.astream({"text": "you"}, context={"greeting": "hi"}, stream_mode="custom")]
    assert chunks == ["hello", "hi", "you"]
    assert (await graph.ainvoke({"text": "you"}, context={"greeting": "hi"}))["text"] == "hiyou"


async def test_its_steps_are_among_the_runs_events() -> None:
    told = [e async for e in graph_of(pure(upper) >> step(upper)).astream({"text": "a"}, stream_mode="events")]
    assert [e.node for e in told if isinstance(e, NodeStarted)] == ["work", "upper", "upper"]
    assert unpaired(told) == []


def text_of(state: State) -> str:
    return state.get("text", "")


def inner_graph(node: Any, journal: Any = None) -> CompiledStateGraph[State]:
    return StateGraph(State, name="inner").add_node("n", node).add_edge(START, "n").compile(journal)


async def test_a_graph_is_a_component_of_a_pipeline() -> None:
    """Rows: S0-011, S0-028."""
    tree = prim(inner_graph(upper)) >> pure(text_of)
    assert await run(tree, {"text": "a"}) == Ok("A")

    def fails(_: State) -> State:
        raise NetworkError("down")

    assert await run(prim(inner_graph(fails)) | pure(upper), {"text": "a"}) == Ok({"text": "A"})


async def test_a_graphs_question_in_a_pipeline_by_itself_is_a_typed_error() -> None:
    end = await run(prim(inner_graph(ask)) | pure(upper), {"text": "a"})
    assert isinstance(end, Err)
    assert isinstance(end.error, ConfigurationError)
    assert end.error.details["step"] == "inner"


async def test_a_graph_in_a_pipeline_in_a_node_asks_and_goes_on_in_the_journal_of_the_whole() -> None:
    """Rows: S0-028, S0-104."""
    runs: list[str] = []

    def first(_: State) -> State:
        runs.append("first")
        return {"log": ["first"]}

    inner = StateGraph(State, name="inner").add_sequence([first, ask]).add_edge(START, "first").compile()

    def keep(pair: tuple[Any, Any]) -> State:
        return {"text": pair[1]["text"]}

    tree = in_turn(pure(upper), prim(inner)) >> pure(keep)
    graph = graph_of(tree, MemoryJournal())
    paused = await graph.run({"text": "x"}, thread="1")
    assert isinstance(paused, Paused)
    done = await graph.resume("1", paused.questions[0].answer("yes"))
    assert isinstance(done, Done)
    assert done.state.get("text") == "x yes"
    assert runs == ["first"]  # its checkpoint was in the journal of the whole


def test_a_pipeline_of_several_parts_needs_a_name_as_a_node() -> None:
    graph = StateGraph(State).add_node(pure(upper))
    assert "upper" in graph.nodes
    with pytest.raises(GraphBuildError, match="needs a name"):
        StateGraph(State).add_node(pure(upper) >> step(upper))
    assert set(StateGraph(State).add_sequence([("a", pure(upper) >> step(upper)), ("b", upper)]).nodes) == {"a", "b"}
