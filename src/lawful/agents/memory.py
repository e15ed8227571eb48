"""How much of a long conversation the model is shown: the newest messages, as many as a budget holds, or a summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lawful.agents.aside import aside
from lawful.agents.loop import Remember
from lawful.agents.middleware.context import closed_cut
from lawful.core.errors import ConfigurationError, ConversationMemoryError
from lawful.core.messages import Message, system
from lawful.models.port import ChatModel


def rough_tokens(message: Message) -> int:
    """About the tokens of a message: a token for four characters, and four for the message itself."""
    return 4 + (len(message.text) + sum(len(call.name) + len(str(call.args)) for call in message.calls)) // 4


def window(most: int) -> Remember:
    """The newest ``most`` messages; system messages always, and never a tool's result without its call."""
    if most < 1:
        raise ConfigurationError(f"a window of {most} messages shows nothing", component="memory", operation="window")

    async def remember(messages: Sequence[Message]) -> Sequence[Message]:
        kept, rest = _parted(messages)
        return [*kept, *rest[_open(rest, len(rest) - most) :]]

    return remember


def token_budget(most: int, *, count: Callable[[Message], int] = rough_tokens) -> Remember:
    """As many of the newest messages as ``most`` tokens hold, the oldest dropped first; system messages always.

    ``count`` says what a message takes; by default a rough measure that needs no tokenizer.

    Raises (when used): ConversationMemoryError, if the newest message alone is too long.
    """
    if most < 1:
        raise ConfigurationError(
            f"a budget of {most} tokens holds nothing", component="memory", operation="token_budget"
        )

    async def remember(messages: Sequence[Message]) -> Sequence[Message]:
        kept, rest = _parted(messages)
        left = most - sum(map(count, kept))
        at = len(rest)
        while at > 0 and count(rest[at - 1]) <= left:
            at -= 1
            left -= count(rest[at])
        at = _open(rest, at)
        if rest and at >= len(rest):
            raise ConversationMemoryError(
                f"the last message takes {count(rest[-1])} tokens, and only {most} are allowed for all",
                component="memory",
                operation="token_budget",
                details={"tokens": str(count(rest[-1])), "most": str(most)},
            )
        return [*kept, *rest[at:]]

    return remember


def summary(model: ChatModel[Any], *, over: int = 40, keep: int = 20) -> Remember:
    """All messages up to ``over``; then the newest ``keep`` with a summary of the others, which ``model`` writes.

    A summary is made of the one before it and of what has come since, so each message is summed up once.
    """
    if not 0 < keep <= over:
        raise ConfigurationError(f"0 < keep <= over, not {keep} and {over}", component="memory", operation="summary")
    known: dict[str, tuple[int, str]] = {}

    async def remember(messages: Sequence[Message]) -> Sequence[Message]:
        kept, rest = _parted(messages)
        cut = closed_cut(rest, len(rest) - keep)
        if len(rest) <= over or cut <= 0:
            return messages
        first = rest[0].id or ""
        done, told = known.get(first, (0, ""))
        if done < cut:
            lines = "\n".join(f"{message.role}: {message.text}" for message in rest[done:cut] if message.text)
            asked = "Sum up this conversation. Keep names, numbers, decisions and open points."
            before = f"\n\nWhat came before, summed up:\n{told}" if told else ""
            told = (await aside(model, f"{asked}{before}\n\n{lines}")).text
            known[first] = (cut, told)
            while len(known) > 256:
                known.pop(next(iter(known)))
        return [*kept, system(f"What was said before, summed up:\n{told}"), *rest[cut:]]

    return remember


def _parted(messages: Sequence[Message]) -> tuple[list[Message], list[Message]]:
    heads = [m for m in messages if m.role in ("system", "developer")]
    return heads, [m for m in messages if m.role not in ("system", "developer")]


def _open(messages: Sequence[Message], at: int) -> int:
    """The first place from ``at`` on that does not begin with a tool's result, whose call would be gone."""
    at = max(at, 0)
    while at < len(messages) and messages[at].role in ("tool", "function"):
        at += 1
    return at
