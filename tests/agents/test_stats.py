"""What a turn took, on the answer and by the five moments of a turn; every call is told, whatever came of it."""

from __future__ import annotations

from typing import Any

import pytest

from lawful import Agent, tool
from lawful.agents import AgentCallbacks, TurnStats
from lawful.agents.middleware import CacheReads, Guardrails, KeywordRail
from lawful.core.clock import FixedClock
from lawful.core.errors import AgentError
from lawful.core.event_rules import unpaired
from lawful.core.events import Event, ToolEnded, ToolFailed
from lawful.core.messages import ToolCall, assistant
from lawful.journal.memory import MemoryJournal
from lawful.models.fake import Scripted
from lawful.tools import Toolset

pytestmark = pytest.mark.unit


class Heard(AgentCallbacks):
    """Writes down what it hears."""

    def __init__(self, clock: FixedClock) -> None:
        super().__init__(clock=clock)
        self.told: list[Any] = []

    def on_start(self, thread: str | None) -> None:
        self.told.append(("start", thread))

    def on_step(self, number: int) -> None:
        self.told.append(("step", number))

    def on_action(self, tool: str, args: dict[str, Any]) -> None:
        self.told.append(("action", tool, args))

    def on_observation(self, tool: str, output: Any, ok: bool) -> None:
        self.told.append(("observation", tool, output, ok))

    def on_finish(self, stats: TurnStats) -> None:
        self.told.append(("finish", stats))


def weather_of(clock: FixedClock) -> Any:
    @tool(pure_read=True)
    def weather(city: str) -> str:
        """The weather."""
        clock.advance(2.5)
        return f"fair in {city}"

    return weather


def calls(city: str, id: str) -> ToolCall:
    return ToolCall("weather", {"city": city}, id=id)


def test_an_answer_tells_what_the_turn_took_by_the_clock_that_was_given() -> None:
    """Rows: S0-135"""
    clock = FixedClock()
    model = Scripted(assistant(calls("Lyon", "a"), calls("Oslo", "b")), calls("Rome", "c"), "fair", "still")
    agent = Agent(model, tools=[weather_of(clock)], clock=clock, journal=MemoryJournal())
    assert agent.invoke("where?", thread="t").stats == TurnStats(3, 3, 7.5, True)
    assert agent.invoke("and now?", thread="t").stats == TurnStats(1, 0, 0.0, True)


async def test_a_pause_is_no_success_and_what_follows_counts_on() -> None:
    """Rows: S0-135"""
    clock = FixedClock()
    kit = Toolset([weather_of(clock).with_(approval=True)])
    model = Scripted(calls("Lyon", "a"), "fair")
    heard = Heard(clock)
    agent = Agent(model, tools=kit, clock=clock, journal=MemoryJournal())
    waiting = await agent.ainvoke("where?", thread="t")
    assert waiting.stats == TurnStats(1, 1, 0.0, False)
    await agent.resume("t", waiting.questions[0].answer(True), on_event=heard)
    assert heard.told[-1] == ("finish", TurnStats(1, 1, 2.5, True))


def test_the_five_moments_come_in_order() -> None:
    """Rows: S0-135"""
    clock = FixedClock()
    heard = Heard(clock)
    model = Scripted(calls("Lyon", "a"), ToolCall("wether", {"city": "Oslo"}, id="b"), "fair", chunks=3)
    Agent(model, tools=[weather_of(clock)]).invoke("where?", on_event=heard)
    said = heard.told[6][2]
    assert "There is no tool 'wether'" in said
    assert heard.told == [
        ("start", None),
        ("step", 1),
        ("action", "weather", {"city": "Lyon"}),
        ("observation", "weather", "fair in Lyon", True),
        ("step", 2),
        ("action", "wether", {"city": "Oslo"}),
        ("observation", "wether", said, False),
        ("step", 3),
        ("finish", TurnStats(3, 2, 2.5, True)),
    ]


def test_a_turn_that_fails_is_finished_without_success() -> None:
    """Rows: S0-135"""
    clock = FixedClock()
    heard = Heard(clock)
    agent = Agent(Scripted(calls("Lyon", "a"), "late"), tools=[weather_of(clock)], max_rounds=1)
    with pytest.raises(AgentError):
        agent.invoke("where?", on_event=heard)
    # The second round began, and the limit ended it.
    assert heard.told[-1] == ("finish", TurnStats(2, 1, 2.5, False))


def test_agents_inside_are_not_heard_and_a_callback_that_fails_stops_nothing() -> None:
    clock = FixedClock()

    class Bad(Heard):
        def on_step(self, number: int) -> None:
            super().on_step(number)
            raise ValueError("a bug in a callback")

    heard = Bad(clock)
    inner = Agent(Scripted(calls("Lyon", "x"), "fair"), tools=[weather_of(clock)], name="scout")
    outer = Agent(Scripted(ToolCall("scout", {"task": "look"}, id="a"), "it is fair"), tools=[inner.as_tool()])
    assert outer.invoke("where?", on_event=heard).text == "it is fair"
    assert [one[1] for one in heard.told if one[0] == "action"] == ["scout"]
    assert [one[1] for one in heard.told if one[0] == "step"] == [1, 2]


@pytest.mark.parametrize("how", ["gate", "person", "answered", "rail", "cache"])
def test_every_call_that_was_told_of_ends_with_what_came_of_it(how: str) -> None:
    """Rows: S4-056"""
    clock = FixedClock()
    kit: Any = weather_of(clock)
    middleware: list[Any] = []
    second = "Lyon"
    match how:
        case "rail":
            middleware, second = [Guardrails(tool=[KeywordRail("Oslo")])], "Oslo"
        case "cache":
            middleware = [CacheReads()]
        case "person" | "answered":
            kit = kit.with_(approval=True)
        case _:
            pass
    name = "wether" if how == "gate" else "weather"
    model = Scripted(calls("Lyon", "a"), ToolCall(name, {"city": second}, id="b"), "done")
    agent = Agent(model, tools=[kit], middleware=middleware, journal=MemoryJournal())
    heard: list[Event] = []
    ended: Any = agent.invoke("where?", thread="t", on_event=heard.append)
    answers: list[Any] = [True, False if how == "person" else {"action": "respond", "content": "rain"}]
    while agent.loop.questions("t"):
        ended = agent.resume_sync("t", agent.loop.questions("t")[0].answer(answers.pop(0)), on_event=heard.append)
    assert ended is not None
    [end] = [one for one in heard if isinstance(one, ToolEnded | ToolFailed) and one.span == "b" and _known(one)]
    if how in ("cache", "answered"):
        assert isinstance(end, ToolEnded)
    else:
        assert isinstance(end, ToolFailed)
        assert end.code == {"gate": "tool_refused", "person": "tool_denied", "rail": "tool_denied"}[how]
    assert unpaired(heard) == []


def _known(end: ToolEnded | ToolFailed) -> bool:
    """A run that pauses closes what is open, so that each run's events are whole."""
    return isinstance(end, ToolEnded) or end.code not in ("abandoned", "interrupt")
