"""What a turn took, and its moments as they come."""

from __future__ import annotations

from typing import Any

from lawful import Agent, tool
from lawful.agents import AgentCallbacks, TurnStats


@tool
def weather(city: str) -> str:
    """Today's weather in one city."""
    return f"fair in {city}"


class Watch(AgentCallbacks):
    def on_action(self, tool: str, args: dict[str, Any]) -> None:
        print("calls", tool, args)

    def on_observation(self, tool: str, output: Any, ok: bool) -> None:
        print("gave", output)

    def on_finish(self, stats: TurnStats) -> None:
        print("finished" if stats.success else "did not finish")


answer = Agent("demo", tools=[weather]).invoke("What is the weather in Oslo?", on_event=Watch())
print(answer.stats.rounds, "rounds,", answer.stats.tool_calls, "tool call, in time:", answer.stats.seconds < 60)

# prints: calls weather {'city': 'Oslo'}
# prints: gave fair in Oslo
# prints: finished
# prints: 2 rounds, 1 tool call, in time: True
