"""Who may take part in a pattern: an agent, a model, or a function of a text; asked in one way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias, cast

from msgspec import Struct

from lawful.agents.agent import Agent
from lawful.agents.members import ask_member
from lawful.core.errors import ConfigurationError
from lawful.core.messages import Message
from lawful.graph.signature import name_of
from lawful.models.port import ChatModel
from lawful.tools.facts import NOTHING, Facts, flowing
from lawful.tools.members import MemberFailed

Speaker: TypeAlias = "Agent[Any] | ChatModel[Any] | Callable[[str], str] | Callable[[str], Awaitable[str]]"


class Said(Struct, frozen=True):
    """What a speaker said, and what was seen on the way to it."""

    text: str
    facts: Facts = NOTHING


async def ask(speaker: Speaker, prompt: str, seen: Facts = NOTHING) -> Said:
    """What the speaker says to ``prompt``; an agent inside a graph runs in it, so that its pauses are the graph's.

    ``seen`` is what those have seen whose words are in the prompt. An agent that is asked has seen it too, so its gates
    hold over the whole team; and so has whoever is told what it says.
    """
    if isinstance(speaker, Agent):
        try:
            found = await ask_member(speaker.graph, prompt, seen, _last)
        except MemberFailed as error:
            raise error.inner from error.inner.__cause__
        return Said(found.value, found.facts)
    if isinstance(speaker, ChatModel):
        return Said((await speaker.ainvoke(prompt)).text, flowing(seen))
    said: Any = cast("Any", speaker)(prompt)
    return Said(str(await said) if hasattr(said, "__await__") else str(said), flowing(seen))


def _last(messages: Sequence[Message]) -> str:
    return messages[-1].text


def named(speakers: Sequence[Speaker]) -> dict[str, Speaker]:
    """The speakers by name: their own, numbered where two share one.

    Raises: ConfigurationError, where there is none.
    """
    if not speakers:
        raise ConfigurationError("a pattern needs somebody who speaks", component="patterns", operation="build")
    out: dict[str, Speaker] = {}
    for speaker in speakers:
        own = _name(speaker)
        name, n = own, 1
        while name in out:
            n += 1
            name = f"{own}_{n}"
        out[name] = speaker
    return out


def _name(speaker: Speaker) -> str:
    if isinstance(speaker, Agent):
        return speaker.name
    if isinstance(speaker, ChatModel):
        return "".join(c if c.isalnum() else "_" for c in speaker.name)
    found = name_of(speaker)
    return found if found.isidentifier() else "speaker"
