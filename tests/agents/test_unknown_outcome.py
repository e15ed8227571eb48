"""A tool's effect whose outcome nobody knows: no middleware and no further call of the model gets hold of it."""

from __future__ import annotations

import pytest

from lawful import Agent, Paused, effect
from lawful.agents.middleware import Middleware
from lawful.agents.middleware.base import ToolAsk, ToolHandler
from lawful.core.errors import NetworkError
from lawful.core.messages import ToolCall
from lawful.journal.memory import MemoryJournal
from lawful.models.fake import Scripted
from lawful.tools.dispatch import Outcome

pytestmark = pytest.mark.unit


class Greedy(Middleware):
    """Asks twice and lets nothing through, as a careless retry would."""

    def __init__(self) -> None:
        self.caught: list[str] = []

    async def wrap_tool(self, ask: ToolAsk, handler: ToolHandler) -> Outcome:
        try:
            return await handler(ask)
        except BaseException as error:
            self.caught.append(type(error).__name__)
            return await handler(ask)


class GreedyGate(Greedy):
    """The same, as a gate."""

    gate = True


@pytest.mark.parametrize("greedy", [Greedy, GreedyGate])
def test_middleware_that_catches_everything_neither_repeats_nor_hides_it(greedy: type[Greedy]) -> None:
    """Ledger: L4; Rows: S2-019"""
    sent: list[str] = []

    @effect("to")
    def send(to: str) -> str:
        """Send a mail."""
        sent.append(to)
        raise NetworkError("the reply was lost")

    around = greedy()
    model = Scripted(ToolCall(id="c1", name="send", args={"to": "ann"}), "It is sent.")
    agent = Agent(model, tools=[send], middleware=[around], journal=MemoryJournal())
    ended = agent.run_sync("Write to Ann.")
    assert isinstance(ended, Paused)
    assert [question.kind for question in ended.questions] == ["effect_recovery"]
    assert around.caught != [], "it was let near enough to try"
    assert sent == ["ann"]
    assert len(model.requests) == 1
