"""Hand-off: agents that pass one conversation to each other by a tool, without anybody above them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lawful.agents.agent import Agent
from lawful.agents.loop import build_agent_loop
from lawful.agents.patterns.speaker import named
from lawful.agents.state import AgentState, last_answer, this_turn
from lawful.core.errors import AgentError, ConfigurationError
from lawful.graph.builder import StateGraph
from lawful.graph.command import END, START
from lawful.graph.compiled import CompiledStateGraph
from lawful.tools.definition import AnyTool, tool

_PREFIX = "transfer_to_"


def hand_off(
    agents: Sequence[Agent[Any]], *, start: str | None = None, most: int = 8, checkpointer: Any = None
) -> CompiledStateGraph[AgentState]:
    """A graph over `AgentState` that begins with the first agent (or ``start``): each has a tool ``transfer_to_NAME`` for
    every other, and whoever is asked to take over sees the whole conversation.

    Raises: ConfigurationError; the run fails with an AgentError after ``most`` hand-offs in one turn.
    """
    members: dict[str, Agent[Any]] = dict(zip(named(list(agents)), agents, strict=True))
    first = start or next(iter(members))
    if first not in members or len(members) < 2:
        raise ConfigurationError(
            f"hand_off needs two agents, and {first!r} among them", component="patterns", operation="hand_off"
        )
    graph = StateGraph(AgentState, name="hand_off").add_edge(START, first)

    def following(state: AgentState) -> str:
        wanted = handed(state)
        if wanted is None:
            return END
        turn = this_turn(state["messages"])
        times = sum(message.name is not None and message.name.startswith(_PREFIX) for message in turn)
        if times > most:
            raise AgentError(
                f"the conversation was handed on {times} times without an answer",
                component="patterns",
                operation="hand_off",
                details={"why": "hand_offs", "most": str(most)},
            )
        return wanted

    for name, member in members.items():
        others = [_transfer(other) for other in members if other != name]
        graph.add_node(name, _with(member, others)).add_conditional_edges(name, following, [*members, END])
    return graph.compile(checkpointer=checkpointer, name="hand_off")


def handed(state: AgentState) -> str | None:
    """The agent that the last answer hands the conversation to, or None."""
    at = last_answer(state["messages"])
    calls = state["messages"][at].calls if at is not None else ()
    wanted = [call.name for call in calls if call.name.startswith(_PREFIX)]
    return wanted[0].removeprefix(_PREFIX) if wanted else None


def _transfer(name: str) -> AnyTool:
    def take_over(reason: str = "") -> str:
        return f"Handed to {name}." + (f" {reason}" if reason else "")

    made = tool(name=f"{_PREFIX}{name}", description=f"Hand the conversation to {name}.", undeclared="allow")(take_over)
    return made.with_(ends_turn=True)


def _with(member: Agent[Any], others: Sequence[AnyTool]) -> Any:
    """The member's own loop with the hand-off tools beside its own."""
    return build_agent_loop(member.model, member.tools + others, **member.built)
