"""Case A10, by nodes and by an agent: of three calls one fails; the others are kept, a resume repeats the one that failed."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Any, TypedDict

import pytest

from lawful.agents import Agent
from lawful.core.errors import NetworkError, ToolError
from lawful.core.messages import Message, ToolCall
from lawful.effects import Natural, effect
from lawful.graph import START, Done, Failed, StateGraph
from lawful.journal.memory import MemoryJournal
from lawful.journal.port import Journal
from lawful.models.fake import Scripted
from lawful.testing.provider import FakeCommand, FakeProvider, assert_effects
from lawful.tools import tool
from support.graphs import Drive, concat, on

pytestmark = pytest.mark.integration


class State(TypedDict, total=False):
    told: Annotated[list[str], concat]


def test_a_resume_repeats_only_what_failed(drive: Drive, journal: Journal) -> None:
    """Cases: A10"""
    provider = FakeProvider()
    pay = provider.effect("pay")
    calls: list[str] = []

    def paying(state: State) -> State:
        calls.append("pay")
        return {"told": [pay.sync(FakeCommand("order-1", "paid"))]}

    def weather(state: State) -> State:
        calls.append("weather")
        time.sleep(0.05)
        if calls.count("weather") == 1:
            raise NetworkError("the weather is unreachable")
        return {"told": ["sunny"]}

    def search(state: State) -> State:
        calls.append("search")
        time.sleep(0.1)
        return {"told": ["found"]}

    graph: Any = StateGraph(State)
    for node in (paying, weather, search):
        graph.add_node(node).add_edge(START, node.__name__)
    built = graph.compile(checkpointer=journal)
    failed = drive.run(built, {"told": []}, on("t"))
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, NetworkError)
    done = drive.run(built, None, on("t"))
    assert isinstance(done, Done)
    assert sorted(done.state["told"]) == ["found", "paid", "sunny"]  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType, reportIndexIssue, reportUnknownArgumentType]
    assert calls.count("weather") == 2
    assert_effects(provider, {"order-1": 1})


class Shop:
    """Three tools, of which `pay` is an effect and `weather` fails at first; and what was called."""

    def __init__(self, failures: int) -> None:
        self.called: list[str] = []
        self.failures = failures

        @effect("order", capability=Natural())
        async def pay(order: str) -> str:
            """Pay an order."""
            self.called.append("pay")
            return f"paid {order}"

        @tool
        async def weather() -> str:
            """Today's weather."""
            self.called.append("weather")
            await asyncio.sleep(0.05)
            if self.called.count("weather") <= self.failures:
                raise ConnectionError("unreachable")
            return "sunny"

        @tool
        async def search() -> str:
            """Search the shop."""
            self.called.append("search")
            await asyncio.sleep(0.1)
            return "found"

        self.tools = [pay, weather, search]

    def agent(self, on_error: Any, *turns: Any) -> Agent[str]:
        asked = [ToolCall(id="c1", name="pay", args={"order": "7"})]
        asked += [ToolCall(id=f"c{n}", name=name, args={}) for n, name in ((2, "weather"), (3, "search"))]
        three = Message(role="assistant", content=tuple(asked))
        return Agent(Scripted(three, *turns), tools=self.tools, journal=MemoryJournal(), on_error=on_error)


def outcomes(messages: Any) -> list[tuple[str, str]]:
    return [(m.role, m.text) for m in messages if m.role == "tool"]


def test_all_three_outcomes_reach_the_model() -> None:
    """Cases: A10"""
    shop = Shop(failures=1)
    answer = shop.agent("tell", "done").invoke("go", thread="t")
    paid, failed, found = outcomes(answer.messages)
    assert (paid[1], found[1]) == ("paid 7", "found")
    assert "unreachable" in failed[1]
    assert sorted(shop.called) == ["pay", "search", "weather"]


def test_an_agent_that_stops_on_an_error_repeats_only_what_failed() -> None:
    """Cases: A10"""
    shop = Shop(failures=1)
    agent = shop.agent("stop", "done")
    failed = agent.run_sync("go", thread="t")
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, ToolError)
    done = agent.resume_sync("t")
    assert isinstance(done, Done)
    assert done.state == "done"
    assert [text for _, text in outcomes(agent.get_state("t").values["messages"])] == ["paid 7", "sunny", "found"]
    assert sorted(shop.called) == ["pay", "search", "weather", "weather"]
