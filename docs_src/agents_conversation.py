"""Threads: a conversation that goes on, and what the model is shown of it."""

from __future__ import annotations

from lawful import Agent, MemoryJournal
from lawful.agents.memory import window
from lawful.models.fake import Scripted

model = Scripted("Hello, Ada.", "It is four.", "You are Ada.")
agent = Agent(model, journal=MemoryJournal(), instructions="Be brief.", memory=window(3))
for said in ("I am Ada.", "What is 2 + 2?", "Who am I?"):
    answer = agent.invoke(said, thread="ada")
print(len(agent.get_state("ada").values["messages"]), [m.text for m in model.requests[-1].messages])

# prints: 6 ['Be brief.', 'What is 2 + 2?', 'It is four.', 'Who am I?']
