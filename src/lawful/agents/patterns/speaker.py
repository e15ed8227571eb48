"""Who may take part in a pattern: an agent, a model, or a function of a text; asked in one way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias, cast

from lawful.agents.agent import Agent
from lawful.core.errors import ConfigurationError
from lawful.graph.signature import name_of
from lawful.models.port import ChatModel

Speaker: TypeAlias = "Agent[Any] | ChatModel[Any] | Callable[[str], str] | Callable[[str], Awaitable[str]]"


async def ask(speaker: Speaker, prompt: str) -> str:
    """What the speaker says to ``prompt``; an agent inside a graph runs in it, so that its pauses are the graph's."""
    if isinstance(speaker, Agent):
        found = await speaker.graph.ainvoke({"messages": [prompt]})
        return str(found["messages"][-1].text)
    if isinstance(speaker, ChatModel):
        return (await speaker.ainvoke(prompt)).text
    said: Any = cast("Any", speaker)(prompt)
    return str(await said) if hasattr(said, "__await__") else str(said)


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
