"""Pure: whether a turn has lost its way, and what to say; thresholds are data, and the history is all that is looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from lawful.agents.state import rounds
from lawful.core.messages import Message
from lawful.tools.tally import args_digest


class Thresholds(Struct, frozen=True, kw_only=True):
    """From which numbers on a turn counts as lost, looked at in this order."""

    repeats: int = 3
    """The same call with the same arguments."""
    budget: float = 0.85
    """The part of the tool calls' budget that is used."""
    calls: int = 14
    rounds: int = 10
    """Answers of the model."""
    characters: int = 120_000
    """Of text in the conversation."""
    between: int = 4
    """Rounds that lie at least between two nudges."""


HONEST: Final = 'If you cannot find out, "I don\'t know" is a valid, good answer; never make one up to be done.'
_NUDGE: Final = (
    "Pause for a moment. {why} Say in one sentence what you have learnt so far, then either take a truly different route or"
    " answer with what you have. " + HONEST
)


def diagnose(turn: Sequence[Message], used: float, limits: Thresholds = Thresholds()) -> str | None:
    """What is going wrong in this turn, in plain words, or None. ``used`` is the part of the call budget, 0 to 1."""
    calls = [call for message in turn for call in message.calls]
    alike = Counter(args_digest(call) for call in calls)
    name = {args_digest(call): call.name for call in calls}
    most = max(alike, key=lambda key: alike[key], default=None)
    if most is not None and alike[most] >= limits.repeats:
        return f"You have called {name[most]} {alike[most]} times with the same arguments."
    if used >= limits.budget:
        return f"{used:.0%} of your tool calls are used up."
    if len(calls) >= limits.calls:
        return f"You have made {len(calls)} tool calls without an answer."
    answered = rounds(turn)
    if answered >= limits.rounds:
        return f"You have gone {answered} rounds without an answer."
    size = sum(len(message.text) for message in turn)
    if size >= limits.characters:
        return f"The conversation has grown to {size:,} characters."
    return None


def due(turn: Sequence[Message], budget: int, limits: Thresholds = Thresholds()) -> str | None:
    """The diagnosis, if a nudge is due now: the first at once, the next not before ``between`` rounds.

    Nothing is remembered: which nudges were given before is worked out from the history, so that a resumed run and a
    shared middleware see the same.
    """
    ends = [at + 1 for at, message in enumerate(turn) if message.role == "assistant"]
    last: int | None = None
    found: str | None = None
    for number, end in enumerate(ends, 1):
        until = ends[number] - 1 if number < len(ends) else len(turn)
        seen = turn[: max(end, until)]
        used = sum(len(message.calls) for message in seen) / max(budget, 1)
        found = diagnose(seen, used, limits)
        if found is not None and (last is None or number - last >= limits.between):
            last = number
        else:
            found = None
    return found


def static(why: str) -> str:
    """What is said where no other model can be asked."""
    return _NUDGE.format(why=why)


def digest_of(messages: Sequence[Message], last: int = 24, each: int = 300, args: int = 80, total: int = 4_000) -> str:
    """The end of the conversation, cut to a size that another model can be shown."""
    lines: list[str] = []
    for message in messages[-last:]:
        calls = "".join(f" [calls {call.name}({str(call.args)[:args]})]" for call in message.calls)
        lines.append(f"{message.role}: {message.text[:each]}{calls}")
    return "\n".join(lines)[-total:]
