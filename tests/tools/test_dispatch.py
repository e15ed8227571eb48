"""Calls inside a run: every one gets one closing result, questions are asked side by side, a failure keeps the others."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, TypedDict

import pytest

from lawful import END, START, Failed, Paused, Send, StateGraph
from lawful.core.errors import ToolError
from lawful.core.messages import Message, ToolCall
from lawful.core.reducers import append
from lawful.journal.memory import MemoryJournal
from lawful.tools import Toolset, tool
from lawful.tools.dispatch import OnError, Outcome, dispatch
from lawful.tools.facts import Facts, add_facts
from lawful.tools.gates import Rules, rule_all

pytestmark = pytest.mark.unit


class State(TypedDict):
    calls: list[ToolCall]
    done: Annotated[list[ToolCall], append]
    facts: Annotated[Facts, add_facts]


class One(TypedDict):
    call: ToolCall
    at: int


def graph(tools: Toolset, on_error: OnError = "tell", journal: MemoryJournal | None = None) -> Any:
    """Each call in a task of its own."""

    def gates(state: State) -> list[Send]:
        return [Send("call", {"call": call, "at": at}) for at, call in enumerate(state["calls"])]

    async def run_one(state: One) -> dict[str, Any]:
        [ruling] = rule_all([state["call"]], tools, Facts(), Rules())
        outcome = await dispatch(state["call"], ruling, tools, Rules(), on_error=on_error)
        return {"done": [outcome.call], "facts": outcome.facts}

    made = StateGraph(State).add_node("call", run_one, input_schema=One)
    made.add_conditional_edges(START, gates, ["call"]).add_edge("call", END)
    return made.compile(checkpointer=journal or MemoryJournal())


def calls(*names: str) -> dict[str, Any]:
    return {"calls": [ToolCall(id=f"c{n}", name=name, args={}) for n, name in enumerate(names)]}


ran: list[str] = []


@pytest.fixture(autouse=True)
def _empty() -> None:  # pyright: ignore[reportUnusedFunction]
    ran.clear()


@tool
async def desk() -> dict[str, int]:
    ran.append("desk")
    return {"paid": 3}


@tool(reads_private=True)
async def weather() -> str:
    ran.append("weather")
    if ran.count("weather") == 1:
        raise ConnectionError("no route")
    return "fair"


@tool(approval=True)
async def fly(to: str = "x") -> str:
    ran.append(f"fly {to}")
    return f"flew to {to}"


TOOLS = Toolset([desk, weather, fly])


async def test_a_failure_is_told_and_the_others_are_kept() -> None:
    """Cases: A10"""
    found = await graph(TOOLS).ainvoke(calls("desk", "weather", "nope"), thread="t")
    assert [(c.state, c.output) for c in found["done"][:2]] == [
        ("ok", {"paid": 3}),
        ("error", "ConnectionError: no route"),
    ]
    assert found["done"][2].state == "error"
    assert "There is no tool 'nope'" in found["done"][2].output
    assert found["facts"] == Facts(private_seen=True)


async def test_stopping_on_an_error_keeps_what_is_done_and_repeats_only_the_one_that_failed() -> None:
    """Cases: A10"""
    made = graph(TOOLS, "stop")
    failed = await made.run(calls("desk", "weather"), thread="t")
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, ToolError)
    assert failed.error.details["tool"] == "weather"
    found = await made.ainvoke(None, thread="t")
    assert [c.output for c in found["done"]] == [{"paid": 3}, "fair"]
    assert ran == ["desk", "weather", "weather"]


async def test_two_calls_ask_in_one_pause_and_answers_reach_their_own() -> None:
    """Cases: A07"""
    made = graph(TOOLS)
    both = {"calls": [ToolCall(id="a", name="fly", args={"to": "a"}), ToolCall(id="b", name="fly", args={"to": "b"})]}
    paused = await made.run(both, thread="t")
    assert isinstance(paused, Paused)
    asked = {q.value["call"]: q for q in paused.questions}
    assert set(asked) == {"a", "b"}
    assert asked["a"].value["reasons"] == ["this tool is always asked about"]
    still = await made.resume("t", asked["b"].answer(True))
    assert isinstance(still, Paused)
    assert [q.value["call"] for q in still.questions] == ["a"]
    await made.resume("t", asked["a"].answer({"action": "reject", "reason": "too far"}))
    done = made.get_state("t").values["done"]
    assert [(c.id, c.state) for c in done] == [("a", "denied"), ("b", "ok")]
    assert "too far" in done[0].output
    assert ran == ["fly b"]


@pytest.mark.parametrize(
    ("answer", "state", "output", "did"),
    [
        (True, "ok", "flew to x", ["fly x"]),
        (False, "denied", "A person refused this call. It was not run.", []),
        ({"action": "approve"}, "ok", "flew to x", ["fly x"]),
        ({"action": "edit", "args": {"to": "y"}}, "ok", "flew to y", ["fly y"]),
        ({"action": "respond", "content": "no need"}, "ok", "no need", []),
    ],
)
async def test_what_a_person_may_say(answer: Any, state: str, output: str, did: list[str]) -> None:
    """Rows: S1-H06"""
    made = graph(TOOLS)
    paused = await made.run(calls("fly"), thread="t")
    assert isinstance(paused, Paused)
    await made.resume("t", paused.questions[0].answer(answer))
    [done] = made.get_state("t").values["done"]
    assert (done.state, done.output, ran) == (state, output, did)


async def test_an_edit_to_another_tool_asks_again() -> None:
    """Rows: S1-H06"""
    made = graph(TOOLS)
    paused = await made.run(calls("fly"), thread="t")
    assert isinstance(paused, Paused)
    again = await made.resume("t", paused.questions[0].answer({"action": "edit", "tool": "desk", "args": {}}))
    assert isinstance(again, Paused)
    [question] = again.questions
    assert question.value["tool"] == "desk"
    assert question.id != paused.questions[0].id
    assert ran == []
    await made.resume("t", question.answer(True))
    [done] = made.get_state("t").values["done"]
    assert (done.id, done.name, done.state, ran) == ("c0", "fly", "ok", ["desk"])


async def test_an_answer_that_is_none_of_the_four_is_told_so_and_asked_anew() -> None:
    made = graph(TOOLS)
    paused = await made.run(calls("fly"), thread="t")
    assert isinstance(paused, Paused)
    again = await made.resume("t", paused.questions[0].answer({"action": "aprove"}))
    assert isinstance(again, Paused)
    [question] = again.questions
    assert "Did you mean 'approve'" in question.value["problem"]
    assert ran == []
    await made.resume("t", question.answer({"action": "approve"}))
    assert ran == ["fly x"]


async def test_calls_of_one_answer_run_at_once() -> None:
    both = asyncio.Barrier(2)

    @tool
    async def meet() -> str:
        await both.wait()
        return "met"

    found = await asyncio.wait_for(graph(Toolset([meet])).ainvoke(calls("meet", "meet"), thread="t"), 5)
    assert [c.output for c in found["done"]] == ["met", "met"]


async def test_a_result_that_json_cannot_say_is_the_calls_error() -> None:
    @tool
    async def odd() -> object:
        return object()

    found = await graph(Toolset([odd])).ainvoke(calls("odd"), thread="t")
    assert found["done"][0].state == "error"
    assert "cannot be told to a model" in found["done"][0].output


def test_the_closing_message_answers_its_call() -> None:
    message = Outcome(ToolCall(id="c1", name="look", args={}).settled("ok", {"a": 1})).message
    assert isinstance(message, Message)
    assert (message.role, message.tool_call_id, message.name, message.text) == ("tool", "c1", "look", '{"a":1}')
