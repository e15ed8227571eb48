"""An agent with a tool that needs no key."""

from __future__ import annotations

from lawful import Agent, tool


@tool
def weather(city: str) -> str:
    """Today's weather in one city."""
    return f"fair in {city}"


print(Agent("demo", tools=[weather]).invoke("What is the weather in Lyon?").text)

# prints: weather says: fair in Lyon (demo model: no language model, plain rules only)
