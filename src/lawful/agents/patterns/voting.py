"""Voting: several speakers answer the same question side by side, and the answers are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypedDict

from msgspec import Struct

from lawful.agents.members import facts_of
from lawful.agents.patterns.speaker import Speaker, ask, named
from lawful.core.errors import ConfigurationError
from lawful.core.reducers import append
from lawful.graph.builder import StateGraph
from lawful.graph.command import START
from lawful.graph.compiled import CompiledStateGraph
from lawful.tools.facts import Facts, add_facts


class Vote(Struct, frozen=True):
    speaker: str
    answer: str


class VoteState(TypedDict):
    question: str
    votes: Annotated[list[Vote], append]
    counts: dict[str, int]
    winner: str | None
    """None where no answer has enough votes."""
    facts: Annotated[Facts, add_facts]
    """What was seen by those whose words are in here."""


def plain(answer: str) -> str:
    """Answers that differ in case, space or a closing dot count as one."""
    return answer.strip().rstrip(".").casefold()


def vote(
    voters: Sequence[Speaker],
    *,
    needed: float = 0.5,
    read: Callable[[str], str] = plain,
    checkpointer: Any = None,
) -> CompiledStateGraph[VoteState]:
    """A graph over `VoteState`: give it a ``question``, read its ``winner``: the answer of more than ``needed`` of the
    voters, or None. ``read`` makes of an answer what is counted. The order of the voters decides nothing.
    """
    members = named(voters)
    number = len(members)
    if not 0 <= needed < 1:
        raise ConfigurationError(f"needed is a part from 0 to 1, not {needed}", component="patterns", operation="vote")
    graph = StateGraph(VoteState, name="vote")
    for name, speaker in members.items():
        graph.add_node(name, _voter(name, speaker)).add_edge(START, name)

    def count(state: VoteState) -> dict[str, Any]:
        counts = Counter(read(one.answer) for one in state["votes"])
        best = max(counts.values())
        tops = [answer for answer, n in counts.items() if n == best]
        won = tops[0] if len(tops) == 1 and best > needed * number else None
        return {"counts": dict(sorted(counts.items())), "winner": won}

    graph.add_node("count", count).add_edge(list(members), "count")
    return graph.compile(checkpointer=checkpointer, name="vote")


def _voter(name: str, speaker: Speaker) -> Any:
    async def answer(state: VoteState) -> dict[str, Any]:
        found = await ask(speaker, state["question"], facts_of(state))
        return {"votes": [Vote(name, found.text)], "facts": found.facts}

    return answer
