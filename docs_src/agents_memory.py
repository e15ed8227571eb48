"""What a model is shown of a long conversation: the newest messages, as many as fit, or a summary before them."""

from __future__ import annotations

from lawful import Agent
from lawful.agents.memory import summary, token_budget, window
from lawful.core.messages import assistant, user
from lawful.models.fake import Scripted

talk = [user("I am Ann."), assistant("Hello Ann."), user("It rains."), assistant("Take a coat.")]


def shown(model: Scripted) -> list[str]:
    """What the model was given when it was last asked."""
    return [message.text for message in model.requests[-1].messages]


for memory in (window(2), token_budget(12), summary(Scripted("Ann is here; it rains."), over=3, keep=2)):
    model = Scripted("Yes.")
    answer = Agent(model, memory=memory).invoke([*talk, user("And now?")])
    print(len(shown(model)), "of", len(answer.messages) - 1, "shown:", repr(shown(model)[0]))

# prints: 2 of 5 shown: 'Take a coat.'
# prints: 1 of 5 shown: 'And now?'
# prints: 3 of 5 shown: 'What was said before, summed up:\nAnn is here; it rains.'
