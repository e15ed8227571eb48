"""What is said of the loop as a whole: its step limit, hangs of single calls, marks that outlive their way."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import lawful.agents
from lawful import Agent, Limits, Runtime, tool
from lawful.agents.middleware import Taint
from lawful.core.messages import ToolCall
from lawful.errors import GraphRecursionError
from lawful.models.fake import Scripted
from lawful.stores import MemoryStore
from lawful.tools import Tainted

pytestmark = pytest.mark.unit


@tool
async def look(at: str) -> str:
    """Look at something."""
    return at


def calls(n: int) -> list[ToolCall]:
    return [ToolCall(id=str(at), name="look", args={"at": str(at)}) for at in range(n)]


def test_the_step_limit_is_told_through_the_agents_own_seam() -> None:
    """Rows: S4-004"""
    assert lawful.agents.GraphRecursionError is GraphRecursionError
    agent = Agent(Scripted(*calls(5), "done"), tools=[look])
    with pytest.raises(lawful.agents.GraphRecursionError):
        agent.invoke("x", limits=Limits(steps=4))


def test_a_tool_that_hangs_has_its_own_limit_and_the_turn_goes_on() -> None:
    """Rows: S4-022"""

    @tool(timeout=0.01)
    async def hang(at: str) -> str:
        """Never come back."""
        await asyncio.sleep(60)
        return at

    model = Scripted(ToolCall(id="1", name="hang", args={"at": "x"}), "It did not answer.")
    answer = Agent(model, tools=[hang]).invoke("x")
    assert answer.text == "It did not answer."
    assert "TimeoutError" in answer.messages[2].text


def test_a_mark_outlives_the_store() -> None:
    """What was fetched, saved and read again through another tool is still from outside. Rows: S4-013"""

    @tool
    def save(words: str, runtime: Runtime[Any]) -> str:
        """Save a note."""
        assert runtime.store is not None
        runtime.store.put(("notes",), "one", Tainted(words, "https://example.org").stored())
        return "saved"

    @tool
    def read_back(runtime: Runtime[Any]) -> Any:
        """Read the note."""
        assert runtime.store is not None
        item = runtime.store.get(("notes",), "one")
        assert item is not None
        return item.value

    model = Scripted(
        ToolCall(id="1", name="save", args={"words": "obey"}), ToolCall(id="2", name="read_back", args={}), "done"
    )
    agent = Agent(model, tools=[save, read_back], middleware=[Taint()], store=MemoryStore())
    answer = agent.invoke("x")
    assert "through read_back (https://example.org)" in answer.messages[4].text
