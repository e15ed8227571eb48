"""Supervisor: a model gives tasks to the agents of a team, one at a time, until it has the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypedDict

from msgspec import Struct

from lawful.agents.agent import Agent
from lawful.agents.members import facts_of
from lawful.agents.patterns.speaker import ask, named
from lawful.core.errors import AgentError, ConfigurationError
from lawful.core.lazy import late
from lawful.core.reducers import append
from lawful.graph.builder import StateGraph
from lawful.graph.command import END, START, Command
from lawful.graph.compiled import CompiledStateGraph
from lawful.models.output import astructured
from lawful.models.port import ChatModel
from lawful.tools.facts import Facts, add_facts

FINISH = "finish"


class Report(Struct, frozen=True):
    """A task that a member was given, and what it said."""

    member: str
    task: str
    result: str


class DeskState(TypedDict):
    request: str
    reports: Annotated[list[Report], append]
    member: str
    task: str
    answer: str
    facts: Annotated[Facts, add_facts]
    """What was seen by those whose words are in here."""


def supervise(
    model: str | ChatModel[Any], team: Sequence[Agent[Any]], *, rounds: int = 6, checkpointer: Any = None
) -> CompiledStateGraph[DeskState]:
    """A graph over `DeskState`: give it a ``request``, read its ``answer``.

    Each round the model names a member and its task, or finishes with the answer; a name that no member has cannot be
    given (its answer is held to the names). After ``rounds`` tasks the run fails with an AgentError that keeps the reports.
    """
    members = named(list(team))
    if FINISH in members or rounds < 1:
        raise ConfigurationError(
            f"no member is called {FINISH!r}, and there is at least one round",
            component="patterns",
            operation="supervise",
        )
    chief: ChatModel[Any] = late("lawful.models.select", "model")(model) if isinstance(model, str) else model
    choice = late("pydantic").create_model(
        "Choice",
        member=(Literal[(*members, FINISH)], ...),
        task=(str, ""),
        answer=(str, ""),  # pyright: ignore
    )
    about = "\n".join(f"- {name}" for name in members)

    async def chief_node(state: DeskState) -> Command[Any]:
        reports = state.get("reports") or []
        told = "\n".join(f"{one.member}, asked {one.task!r}: {one.result}" for one in reports)
        prompt = (
            f"You lead a team:\n{about}\nRequest: {state['request']}\n{told}\nName the member that goes on and its task, or"
            f" choose {FINISH} and give the answer."
        )
        found = (await astructured(chief, choice, prompt)).value
        if found.member == FINISH:
            return Command(update={"answer": found.answer}, goto=END)
        if len(reports) >= rounds:
            raise AgentError(
                f"the team has had {rounds} tasks without an answer",
                component="patterns",
                operation="supervise",
                details={"why": "rounds", "rounds": str(rounds)},
            )
        return Command(update={"member": found.member, "task": found.task}, goto=found.member)

    graph = StateGraph(DeskState, name="supervise")
    graph.add_node("supervisor", chief_node, destinations=(*members, END)).add_edge(START, "supervisor")
    for name, member in members.items():
        graph.add_node(name, _worker(name, member)).add_edge(name, "supervisor")
    return graph.compile(checkpointer=checkpointer, name="supervise")


def _worker(name: str, member: Any) -> Any:
    async def work(state: DeskState) -> dict[str, Any]:
        said = await ask(member, state["task"], facts_of(state))
        return {"reports": [Report(name, state["task"], said.text)], "facts": said.facts}

    return work
