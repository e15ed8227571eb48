"""Three nodes, each with an effect; the process dies in the second right after its effect, before the outcome is stored."""

from __future__ import annotations

import os
import signal
from typing import Annotated, Any, TypedDict

from lawful.effects import EffectContext
from lawful.graph import START, StateGraph
from lawful.testing.crash import run_to_end
from lawful.testing.crash_server import Life
from lawful.testing.provider import FakeCommand, FakeEffect, FakeProvider
from support.graphs import concat

POLICIES: dict[str, dict[str, Any]] = {"lookup": {"lookup": "strong"}, "opaque": {}}


class State(TypedDict, total=False):
    log: Annotated[list[str], concat]


class Deadly(FakeEffect):
    """Dies after what it was asked for has happened."""

    deadly = False

    async def perform(self, command: FakeCommand, ctx: EffectContext) -> str:
        receipt = await super().perform(command, ctx)
        if self.deadly and command.key == "s2":
            os.kill(os.getpid(), signal.SIGKILL)
        return receipt


def provider_of(life: Life, promise: str) -> FakeProvider:
    return FakeProvider(life.folder / "provider.db", **POLICIES[promise])


def program(life: Life) -> Any:
    """One life; ``told`` is what the provider promises and the durability of the run."""
    promise, durability = life.told
    effect = Deadly(provider_of(life, promise), "write", None, {})
    effect.deadly = life.number == 0

    def node(name: str) -> Any:
        def run(state: State) -> State:
            return {"log": [effect.sync(FakeCommand(name, f"{name} written"))]}

        return run

    graph = StateGraph(State)
    for name in ("s1", "s2", "s3"):
        graph.add_node(name, node(name))
    graph.add_edge(START, "s1").add_edge("s1", "s2").add_edge("s2", "s3")
    built = graph.compile(life.journal)
    if life.number == 0:
        built.invoke({"log": []}, thread="crash", durability=durability)
    return [run_to_end(built, {"log": []}), effect.provider.applied]
