"""What an agent's call gives: the text, the typed output, the conversation, what it took, what it waits for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from lawful.agents.callbacks import TurnStats
from lawful.core.events import Usage
from lawful.core.messages import Message
from lawful.core.questions import Question
from lawful.tools.facts import NOTHING, Facts
from lawful.tools.sources import Source

Out = TypeVar("Out")
_NONE: Final = TurnStats(0, 0, 0.0, False)


@dataclass(frozen=True)
class Answer(Generic[Out]):
    """The end of a turn, or a pause in it."""

    text: str
    """The plain answer; empty while the agent waits."""
    messages: tuple[Message, ...]
    usage: Usage
    """Of the whole thread so far: the answers, what agents that are its tools took, and calls aside, as of a classifier."""
    thread: str | None
    questions: tuple[Question, ...] = ()
    """What a person must answer before it goes on: ``agent.resume(answer.thread, question.answer(True))``."""
    value: Out | None = None
    stats: TurnStats = _NONE
    """What the turn took: rounds and tool calls of all of it, seconds of this call."""
    facts: Facts = NOTHING
    """What the thread has seen so far: give it as ``seen=`` to an agent that is told this answer."""
    sources: tuple[Source, ...] = ()
    """Of the turn's tool results, those of which a tool's code said where they came from or how far to rely on them."""

    @property
    def output(self) -> Out:
        """The answer in the agent's output type. Raises: ValueError while the agent waits."""
        if self.questions or self.value is None:
            raise ValueError(
                "there is no output yet: the agent waits for " + ", ".join(q.name or q.id for q in self.questions)
            )
        return self.value
