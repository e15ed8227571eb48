"""How often which tool was called in a turn: kept in the state and added to, so that no gate has to count the turn anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from lawful.core import codec
from lawful.core.canonical import digest
from lawful.core.messages import InvalidToolCall, Message, ToolCall
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
    most: int = 0
    """How often the call was made that was made most often."""

    @property
    def calls(self) -> int:
        """All tool calls."""
        return sum(self.named.values())

    def times(self, digest: str) -> int:
        """How often the call of that digest was made."""
        return self.alike.get(digest, 0)

    def of(self, tool: str) -> int:
        """How often that tool was called."""
        return self.named.get(tool, 0)


class Before(Struct, frozen=True):
    """The counts before the newest answer: nothing is copied, so that a long turn's calls cost no more than a short one's."""

    held: Tally
    """With the answer."""
    digests: Sequence[str]
    """Of the answer's calls."""
    names: Sequence[str]
    """Of the tools that it calls."""

    @property
    def calls(self) -> int:
        """As `Tally.calls`."""
        return self.held.calls - len(self.names)

    def times(self, digest: str) -> int:
        """As `Tally.times`."""
        return self.held.times(digest) - self.digests.count(digest)

    def of(self, tool: str) -> int:
        """As `Tally.of`."""
        return self.held.of(tool) - self.names.count(tool)


def before(held: Tally, calls: Sequence[ToolCall | InvalidToolCall], digests: Sequence[str]) -> Before:
    """The counts of ``held`` before an answer with these calls."""
    return Before(held, digests, [call.name for call in calls if isinstance(call, ToolCall)])


@reducer(unit=Tally, laws=("associative",), version=1)
def add_tally(held: Tally, new: Tally) -> Tally:
    """Sums within a turn; a new turn counts from nothing."""
    if new.turn != held.turn:
        return new
    alike, named = _more(held.alike, new.alike), _more(held.named, new.named)
    most = max((alike[key] for key in new.alike), default=0)
    return Tally(held.turn, held.rounds + new.rounds, alike, named, new.at, new.size, max(held.most, most))


def args_digest(call: ToolCall) -> str:
    """16 hex digits over the tool's name and its whole arguments: what an approval is bound to."""
    return digest("lawful.tools/call", [call.name, call.args]).hex()[:16]


def counted(messages: Iterable[Message], turn: str = "", at: int = 0, size: int = 0) -> Tally:
    """The counts of these messages."""
    rounds = 0
    alike: dict[str, int] = {}
    named: dict[str, int] = {}
    for message in messages:
        rounds += message.role == "assistant"
        for call in message.calls:
            own = args_digest(call)
            alike[own] = alike.get(own, 0) + 1
            named[call.name] = named.get(call.name, 0) + 1
    return Tally(turn, rounds, alike, named, at, size, max(alike.values(), default=0))


def _more(held: dict[str, int], new: dict[str, int]) -> dict[str, int]:
    out = dict(held)
    for key, times in new.items():
        out[key] = out.get(key, 0) + times
    return out


codec.register(Tally, id="lawful.tools.Tally", version=1)
