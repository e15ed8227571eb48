"""Who may perform: a worker's run and a worker's node describe effects, a coordinator's run performs them."""

from __future__ import annotations

from typing import Any, TypedDict

import pytest

from lawful.core.errors import EffectDenied
from lawful.effects import Ledger, effect
from lawful.graph import START, StateGraph
from lawful.graph.functional import entrypoint, task
from lawful.journal.memory import MemoryJournal

pytestmark = pytest.mark.unit

CONFIG = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    receipt: str


class World:
    def __init__(self) -> None:
        self.sent: list[str] = []
        self.key = "a"
        self.journal = MemoryJournal()

        @effect("key")
        def send(key: str) -> str:
            self.sent.append(key)
            return f"receipt of {key}"

        self.send = send

    def node(self, state: State) -> State:
        return {"receipt": self.send(self.key)}

    def stands(self) -> list[tuple[str, str]]:
        return [(row.op_id, row.state) for row in self.journal.read(lambda tx: list(tx.operations()))]


def test_a_workers_run_plans_and_is_denied_and_a_coordinators_goes_on() -> None:
    world = World()
    graph = StateGraph(State).add_node("node", world.node).add_edge(START, "node").compile(world.journal)
    with pytest.raises(EffectDenied, match="coordinator"):
        graph.worker().invoke({}, CONFIG)
    assert (world.sent, world.stands()) == ([], [("send:a", "Planned")])
    assert graph.invoke(None, CONFIG) == {"receipt": "receipt of a"}
    assert (world.sent, world.stands()) == (["a"], [("send:a", "Succeeded")])
    assert graph.worker().invoke({}, CONFIG) == {"receipt": "receipt of a"}  # what is known may be read


def test_a_workers_node_is_denied_in_whatever_it_calls() -> None:
    world = World()
    inner = StateGraph(State).add_node("node", world.node).add_edge(START, "node").compile()

    @task
    def calls() -> State:
        return world.node({})

    nodes: dict[str, Any] = {
        "plain": world.node,
        "graph": inner,
        "called graph": lambda state: inner.invoke(state),  # pyright: ignore[reportUnknownLambdaType, reportUnknownMemberType]
        "task": lambda state: calls().result(),  # pyright: ignore[reportUnknownLambdaType]
    }
    for name, node in nodes.items():
        world.key = name
        graph = StateGraph(State).add_node("node", node, performs=False).add_edge(START, "node").compile(world.journal)
        with pytest.raises(EffectDenied, match="coordinator"):
            graph.invoke({}, {"configurable": {"thread_id": name}})
    assert world.sent == []


def test_beside_it_other_nodes_perform() -> None:
    world = World()
    seen: list[str] = []

    def propose(state: State) -> State:
        try:
            world.send("b")
        except EffectDenied as error:
            seen.append(error.message)
        return {}

    graph = StateGraph(State).add_node(propose, performs=False).add_node("node", world.node)
    graph.add_edge(START, "propose").add_edge("propose", "node")
    assert graph.compile(world.journal).invoke({}, CONFIG) == {"receipt": "receipt of a"}
    assert world.sent == ["a"]
    assert len(seen) == 1
    assert Ledger(world.journal, effects=[world.send]).execute_sync(world.send.plan("c"))


def test_an_entrypoint_has_workers_too() -> None:
    world = World()

    @entrypoint(checkpointer=world.journal)
    def flow(key: str) -> str:
        return world.send(key)

    with pytest.raises(EffectDenied):
        flow.worker().invoke("a", CONFIG)
    assert world.sent == []
