"""Plan and execute: a model writes the steps down first, each is carried out in turn, and the results become the answer."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from msgspec import Struct

from lawful.agents.members import facts_of
from lawful.agents.patterns.speaker import Speaker, ask
from lawful.core.errors import ConfigurationError
from lawful.core.reducers import append
from lawful.graph.builder import StateGraph
from lawful.graph.command import END, START
from lawful.graph.compiled import CompiledStateGraph
from lawful.models.output import astructured
from lawful.models.port import ChatModel
from lawful.tools.facts import Facts, add_facts


class StepDone(Struct, frozen=True):
    """One step and what came of it."""

    step: str
    result: str


class PlanState(TypedDict):
    task: str
    plan: list[str]
    """The steps that are still to do."""
    done: Annotated[list[StepDone], append]
    answer: str
    facts: Annotated[Facts, add_facts]
    """What was seen by those whose words are in here."""


def plan_and_execute(
    planner: ChatModel[Any],
    executor: Speaker,
    *,
    replan: bool = False,
    most_steps: int = 12,
    checkpointer: Any = None,
) -> CompiledStateGraph[PlanState]:
    """A graph over `PlanState`: give it a ``task``, read its ``answer``.

    The planner answers with a list of steps; one that is no list, is empty or longer than ``most_steps`` is an error
    (OutputInvalid, ConfigurationError), and nothing is carried out. With ``replan`` the planner may change what is left
    after each step.
    """

    async def make(state: PlanState) -> dict[str, list[str]]:
        found = await astructured(
            planner, list[str], f"Write a plan: a list of at most {most_steps} steps.\n\n{state['task']}"
        )
        return {"plan": _lawful(found.value, most_steps, empty=False)}

    async def carry_out(state: PlanState) -> dict[str, Any]:
        step, *rest = state["plan"]
        prompt = f"Task: {state['task']}\n{_told(state)}\nDo this step and nothing else: {step}"
        found = await ask(executor, prompt, facts_of(state))
        return {"plan": rest, "done": [StepDone(step, found.text)], "facts": found.facts}

    async def again(state: PlanState) -> dict[str, list[str]]:
        asked = f"Task: {state['task']}\n{_told(state)}\nLeft of the plan: {state['plan']}\nGive the steps that are left now."
        found = await astructured(planner, list[str], f"{asked} An empty list means that all is done.")
        return {"plan": _lawful(found.value, most_steps - len(state["done"]), empty=True)}

    async def conclude(state: PlanState) -> dict[str, str]:
        return {"answer": (await planner.ainvoke(f"Task: {state['task']}\n{_told(state)}\nGive the answer.")).text}

    def more(state: PlanState) -> str:
        return "step" if state["plan"] else "answer"

    graph = StateGraph(PlanState, name="plan_and_execute")
    graph.add_node("plan", make).add_node("step", carry_out).add_node("answer", conclude)
    graph.add_edge(START, "plan").add_edge("plan", "step").add_edge("answer", END)
    if replan:
        graph.add_node("replan", again).add_edge("step", "replan")
    graph.add_conditional_edges("replan" if replan else "step", more, ["step", "answer"])
    return graph.compile(checkpointer=checkpointer, name="plan_and_execute")


def _told(state: PlanState) -> str:
    return "\n".join(f"Done: {one.step}\nResult: {one.result}" for one in state.get("done") or [])


def _lawful(steps: list[str], most: int, *, empty: bool) -> list[str]:
    """Raises: ConfigurationError, for a plan that is empty, too long or has empty steps; nothing was carried out of it."""
    if (not steps and not empty) or len(steps) > most or not all(step.strip() for step in steps):
        raise ConfigurationError(
            f"the plan has {len(steps)} steps; it needs 1 to {most}, none of them empty",
            component="patterns",
            operation="plan",
            details={"steps": str(len(steps))},
        )
    return steps
