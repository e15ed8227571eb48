"""The gates before each call: they stand in no middleware, and none can be left out."""

from __future__ import annotations

from lawful import Agent, tool
from lawful.core.messages import ToolCall
from lawful.models.fake import Scripted
from lawful.tools import Rules


@tool
def look(at: str) -> str:
    """Look at something."""
    return f"nothing at {at}"


again = [ToolCall(id=str(n), name="look", args={"at": "door"}) for n in range(3)]
wrong = [ToolCall(id="a", name="lok", args={"at": "door"}), ToolCall(id="b", name="look", args={"it": "door"})]
model = Scripted(*again, *wrong, "I do not know.")
answer = Agent(model, tools=[look], rules=Rules(budget=10)).invoke("What is at the door?")
for message in answer.messages:
    if message.role == "tool":
        print(message.text[:75])

# prints: nothing at door
# prints: nothing at door
# prints: You have called look with these very arguments 3 times; it was not run agai
# prints: There is no tool 'lok'. Did you mean 'look'? Tools: look.
# prints: look has no argument 'it'. Did you mean 'at'? Nothing was run; call it agai
