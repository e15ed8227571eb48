"""What an agent's loop keeps, and what can be read of it without anything else: the turn, its rounds, its calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, TypedDict

from lawful.core.events import Usage
from lawful.core.messages import Message, ToolCall
from lawful.core.reducers import add_messages, reducer
from lawful.tools.facts import Facts, add_facts
from lawful.tools.gates import Ruling
from lawful.tools.tally import Tally, add_tally

CHECK: Final = "check"
"""The name of a message in which the loop itself tells the model that its answer does not fit."""


@reducer(unit=Usage, laws=("associative", "commutative"))
def add_usage(held: Usage, more: Usage) -> Usage:
    """Tokens add up."""
    return held + more


class AgentState(TypedDict):
    """The state of an agent's graph; a graph that holds an agent shares ``messages`` with it."""

    messages: Annotated[list[Message], add_messages]
    facts: Annotated[Facts, add_facts]
    usage: Annotated[Usage, add_usage]
    tally: Annotated[Tally, add_tally]


class ToolTask(TypedDict):
    """What one tool task is sent: a call and what the gates said of it."""

    call: ToolCall
    ruling: Ruling
    facts: Facts
    nth: int
    """Which call of this tool it is in this turn, from 1."""
    nth_of_all: int
    """Which call of any tool."""
    answer: str
    """The id of the message that called: providers use a call's id again, so that it alone names no result."""


def this_turn(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages since the user spoke last, theirs included; all of them, if no user spoke."""
    for at in range(len(messages) - 1, -1, -1):
        if messages[at].role == "user" and messages[at].name != CHECK:
            return messages[at:]
    return messages


def turn_at(messages: Sequence[Message], tally: Tally) -> int:
    """Where this turn begins. Only what came since the last count is looked at, unless the conversation was changed."""
    known = tally.turn and tally.size <= len(messages) and messages[tally.at].id == tally.turn
    least = tally.size if known else 0
    for at in range(len(messages) - 1, least - 1, -1):
        if messages[at].role == "user" and messages[at].name != CHECK:
            return at
    return tally.at if known else 0


def rounds(turn: Sequence[Message]) -> int:
    """How often the model has answered in this turn."""
    return sum(message.role == "assistant" for message in turn)


def last_answer(messages: Sequence[Message]) -> int | None:
    """The place of the model's last message, or None."""
    if messages and messages[-1].role == "assistant":
        return len(messages) - 1
    return next((at for at in range(len(messages) - 1, -1, -1) if messages[at].role == "assistant"), None)
