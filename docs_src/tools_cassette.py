"""What a tool gave once is recorded, and given again without it."""

from __future__ import annotations

from lawful import Agent, tool
from lawful.tools import ToolRecorder, ToolReplayer


@tool
def weather(city: str) -> str:
    """Today's weather in one city."""
    print("looked out of the window")
    return f"fair in {city}"


Agent("demo", tools=ToolRecorder("tools.jsonl").over([weather])).invoke("What is the weather in Oslo?")
replayer = ToolReplayer("tools.jsonl")
answer = Agent("demo", tools=replayer.over([weather])).invoke("What is the weather in Oslo?")
print(answer.messages[-2].text, replayer.left)

# prints: looked out of the window
# prints: fair in Oslo 0
