"""How often which tool was called in a turn: kept in the state and added to, so that no gate has to count the turn anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct, field

from lawful.core import codec
from lawful.core.canonical import digest
from lawful.core.messages import Message, ToolCall
from lawful.core.reducers import reducer


class Tally(Struct, frozen=True, omit_defaults=True):
    """The counts of one turn; an update holds what one answer of the model adds."""

    turn: str = ""
    """The id of the message that began the turn; an update with another one begins anew."""
    rounds: int = 0
    """Answers of the model."""
    alike: dict[str, int] = field(default_factory=dict[str, int])
    """By digest of name and arguments: how often that very call was made."""
    named: dict[str, int] = field(default_factory=dict[str, int])
    """By tool: its calls."""
    at: int = 0
    """The place in the conversation where the turn begins."""
    size: int = 0
    """The length of the conversation when this was counted."""

    @property
    def calls(self) -> int:
        """All tool calls."""
        return sum(self.named.values())

    def without(self, answer: Message) -> Tally:
        """The counts before this answer."""
        mine = counted([answer])
        return Tally(self.turn, self.rounds - 1, _less(self.alike, mine.alike), _less(self.named, mine.named))


@reducer(unit=Tally, laws=("associative",), version=1)
def add_tally(held: Tally, new: Tally) -> Tally:
    """Sums within a turn; a new turn counts from nothing."""
    if new.turn != held.turn:
        return new
    alike, named = _more(held.alike, new.alike), _more(held.named, new.named)
    return Tally(held.turn, held.rounds + new.rounds, alike, named, new.at, new.size)


def args_digest(call: ToolCall) -> str:
    """16 hex digits over the tool's name and its whole arguments: what an approval is bound to."""
    return digest("lawful.tools/call", [call.name, call.args]).hex()[:16]


def counted(messages: Iterable[Message], turn: str = "", at: int = 0, size: int = 0) -> Tally:
    """The counts of these messages."""
    rounds = 0
    alike: Counter[str] = Counter()
    named: Counter[str] = Counter()
    for message in messages:
        rounds += message.role == "assistant"
        for call in message.calls:
            alike[args_digest(call)] += 1
            named[call.name] += 1
    return Tally(turn, rounds, dict(alike), dict(named), at, size)


def _more(held: dict[str, int], new: dict[str, int]) -> dict[str, int]:
    out = dict(held)
    for key, times in new.items():
        out[key] = out.get(key, 0) + times
    return out


def _less(held: dict[str, int], mine: dict[str, int]) -> dict[str, int]:
    if not mine:
        return held
    out = dict(held)
    for key, times in mine.items():
        left = out.pop(key, 0) - times
        if left > 0:
            out[key] = left
    return out


codec.register(Tally, id="lawful.tools.Tally", version=1)
