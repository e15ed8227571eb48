"""What a newcomer gets wrong first with an agent."""

from __future__ import annotations

from typing import Any

import pytest

from lawful import Agent, MemoryJournal, effect, tool
from lawful.core.errors import ConfigurationError, ParsingError
from lawful.models import model
from lawful.models.fake import Echo, Scripted

pytestmark = pytest.mark.unit


@tool
def weather(city: str) -> str:
    """Today's weather in one city."""
    return f"fair in {city}"


@pytest.mark.parametrize(
    "given",
    [
        "Hello",
        ("user", "Hello"),
        {"role": "user", "content": "Hello"},
        [{"role": "user", "content": "Hello"}],
        {"messages": [{"role": "user", "content": "Hello"}]},
        {"messages": "Hello"},
    ],
)
def test_the_usual_forms_of_a_prompt_are_one_message(given: Any) -> None:
    """A dict of messages is what agents elsewhere take; its keys are no messages."""
    echo = Scripted("Good day.", "Good day.")
    assert Agent(echo).invoke(given).text == "Good day."
    assert [(m.role, m.text) for m in echo.requests[-1].messages] == [("user", "Hello")]
    assert echo.invoke(given).text == "Good day."
    assert [(m.role, m.text) for m in echo.requests[-1].messages] == [("user", "Hello")]


@pytest.mark.parametrize("given", [None, 7, b"Hello", {"mesages": ["Hello"]}])
def test_what_is_no_prompt_is_refused(given: Any) -> None:
    for ask in (Agent(Echo()).invoke, Echo().invoke):
        with pytest.raises(ParsingError):
            ask(given)


def test_what_an_agent_is_made_of_is_checked() -> None:
    with pytest.raises(ConfigurationError, match=r"tools are given in a list: \[\.\.\.\]"):
        Agent("demo", tools=weather)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigurationError, match="tools are given in a list"):
        Agent("demo", tools="weather")
    with pytest.raises(ConfigurationError, match="is a type, not its name 'Advice'"):
        Agent("demo", output="Advice")  # pyright: ignore[reportArgumentType, reportCallIssue]
    nothing: Any = None
    for made in (Agent, model):
        with pytest.raises(ConfigurationError, match="a model is named"):
            made(nothing)
    with pytest.raises(ConfigurationError, match=r"@tool\(name='weather'\)"):
        tool("weather")  # pyright: ignore[reportArgumentType, reportCallIssue]


def test_a_thread_that_was_named_is_kept_while_the_agent_lives() -> None:
    """An agent with an effect has a journal in memory; only threads that nobody named are over with their turn."""

    @effect("to")
    def order_taxi(to: str) -> str:
        """Order a taxi."""
        return f"a taxi to {to}"

    held = Scripted("Hello, Ada.", "You are Ada.", "Good day.")
    agent = Agent(held, tools=[order_taxi])
    agent.invoke("I am Ada.", thread="ada")
    assert agent.invoke("Who am I?", thread="ada").text == "You are Ada."
    assert len(held.requests[-1].messages) == 3
    agent.invoke("Hello")
    assert isinstance(agent.journal, MemoryJournal)
    assert [info.thread for info in agent.journal.threads()] == ["ada"]


def test_an_error_of_an_agent_is_told_alone() -> None:
    """Not as one that arose in handling another: where no loop runs, one is started, which is nobody's error."""
    with pytest.raises(ParsingError) as caught:
        Agent(Scripted(ParsingError("no answer"))).invoke("Hello")
    assert caught.value.__context__ is None
