"""An answer as it comes: as text, and as events."""

from __future__ import annotations

from lawful import Agent, tool
from lawful.core.events import LLMChunk, ToolEnded, ToolStarted


@tool
def weather(city: str) -> str:
    """Today's weather in one city."""
    return f"fair in {city}"


agent = Agent("demo", tools=[weather])
print("".join(agent.stream_text("Hello!")))

for event in agent.stream("What is the weather in Oslo?"):
    match event:
        case ToolStarted(tool=name):
            print("calls", name)
        case ToolEnded(output=output):
            print("gave", output)
        case LLMChunk(text="weather "):
            print("begins to answer")
        case _:
            pass

# prints: You asked: 'Hello!'. I may use weather. (demo model: no language model, plain rules only)
# prints: calls weather
# prints: gave fair in Oslo
# prints: begins to answer
