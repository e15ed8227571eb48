"""Debate: several speakers argue side by side, round by round, and a judge decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypedDict

from msgspec import Struct

from lawful.agents.members import facts_of
from lawful.agents.patterns.speaker import Speaker, ask, named
from lawful.core.errors import ConfigurationError
from lawful.core.reducers import append
from lawful.graph.builder import StateGraph
from lawful.graph.command import END, START
from lawful.graph.compiled import CompiledStateGraph
from lawful.tools.facts import Facts, add_facts


class Argument(Struct, frozen=True):
    """What one speaker said in one round, from 1."""

    speaker: str
    round: int
    text: str


class DebateState(TypedDict):
    question: str
    arguments: Annotated[list[Argument], append]
    verdict: str
    facts: Annotated[Facts, add_facts]
    """What was seen by those whose words are in here."""


Converged = Callable[[list[Argument]], bool]
"""Of the arguments of the last round, whether there is nothing left to argue about."""


def agreed(last: list[Argument]) -> bool:
    """All said the same."""
    return len({one.text.strip().casefold() for one in last}) == 1


def debate(
    debaters: Sequence[Speaker],
    judge: Speaker,
    *,
    rounds: int = 2,
    converged: Converged = agreed,
    checkpointer: Any = None,
) -> CompiledStateGraph[DebateState]:
    """A graph over `DebateState`: give it a ``question``, read its ``verdict``.

    The debaters of a round run at once and see what was said in the rounds before; after ``rounds`` of them, or as soon as
    ``converged``, the judge is given all arguments.

    Raises: ConfigurationError, for fewer than two debaters or fewer than one round.
    """
    members = named(debaters)
    if len(members) < 2 or rounds < 1:
        raise ConfigurationError("a debate needs two debaters and a round", component="patterns", operation="debate")
    graph = StateGraph(DebateState, name="debate")

    def opening(state: DebateState) -> None:
        return None

    graph.add_node("round", opening).add_edge(START, "round")
    for name, speaker in members.items():
        graph.add_node(name, _debater(name, speaker)).add_edge("round", name)

    async def decide(state: DebateState) -> dict[str, Any]:
        said = "\n\n".join(f"{one.speaker}, round {one.round}: {one.text}" for one in state["arguments"])
        prompt = f"Question: {state['question']}\n\n{said}\n\nDecide, and say why in brief."
        found = await ask(judge, prompt, facts_of(state))
        return {"verdict": found.text, "facts": found.facts}

    def over(state: DebateState) -> str:
        done = _round(state)
        last = [one for one in state["arguments"] if one.round == done]
        return "judge" if done >= rounds or converged(last) else "round"

    graph.add_node("heard", opening).add_edge(list(members), "heard")
    graph.add_node("judge", decide).add_edge("judge", END)
    graph.add_conditional_edges("heard", over, ["round", "judge"])
    return graph.compile(checkpointer=checkpointer, name="debate")


def _round(state: DebateState) -> int:
    return max((one.round for one in state.get("arguments") or []), default=0)


def _debater(name: str, speaker: Speaker) -> Any:
    async def speak(state: DebateState) -> dict[str, Any]:
        before = state.get("arguments") or []
        heard = "\n\n".join(f"{one.speaker}: {one.text}" for one in before)
        prompt = (
            f"Question: {state['question']}\n\n{heard}\n\nYou are {name}. Argue in brief."
            if heard
            else state["question"]
        )
        found = await ask(speaker, prompt, facts_of(state))
        return {"arguments": [Argument(name, _round(state) + 1, found.text)], "facts": found.facts}

    return speak
