"""A turn that fails is gone on with where it stood, and leaves nothing when it ends."""

from __future__ import annotations

from lawful import Agent, Done, MemoryJournal, tool
from lawful.agents import TurnOpen, Turns
from lawful.core.errors import NetworkError
from lawful.core.messages import ToolCall
from lawful.models.fake import Scripted


@tool
def trains(to: str) -> str:
    """The next train."""
    print("looked once")
    return f"9:04 to {to}"


journal = MemoryJournal()  # or "turns.db", which another process can go on with
model = Scripted(
    ToolCall("trains", {"to": "Oslo"}, id="a"), NetworkError("no line", component="models"), "Take the 9:04."
)
turns = Turns(Agent(model, tools=[trains], journal=journal))

print(type(turns.run_sync("ada", "How do I get to Oslo?")).__name__)
try:
    turns.run_sync("ada", "And what is the time?")
except TurnOpen as error:
    print(error.details["thread"].startswith("ada:"), "is unfinished")
print(turns.resume_sync("ada") == Done("Take the 9:04."))
print(list(journal.threads()), turns.book("ada").unfinished)

# prints: looked once
# prints: Failed
# prints: True is unfinished
# prints: True
# prints: [] ()
