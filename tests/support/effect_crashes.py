"""One run with one approved effect, killed where it is told to be: the ledger's crash points for each kind of provider."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypedDict

from lawful.effects import EffectContext, Ledger, Natural
from lawful.effects.policy import Policy, RequireApproval
from lawful.graph import START, StateGraph
from lawful.testing.crash import run_to_end
from lawful.testing.crash_server import Life
from lawful.testing.provider import FakeCommand, FakeEffect, FakeProvider

KINDS: dict[str, dict[str, Any]] = {
    "keyed": {"keyed": 3600.0, "max_in_flight": 1.0},
    "lookup": {"lookup": "strong"},
    "both": {"keyed": 3600.0, "lookup": "strong"},
    "neither": {},
    "natural": {"natural": True},
}
"""What the provider promises; a lone look-up's absence is final as soon as nothing can be sent any more."""

POINTS = ("C0", "C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "C9", "C10", "C12")
_TRANSACTIONS: dict[str, tuple[str, int]] = {
    "C0": ("before", 1),
    "C1": ("after", 1),
    "C2": ("after", 3),
    "C3": ("inside", 4),
    "C7": ("before", 5),
    "C8": ("inside", 5),
    "C9": ("after", 5),
}
"""Of the first process: 1 plan, 2 plan again, 3 approval, 4 claim, 5 outcome."""


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class State(TypedDict, total=False):
    receipt: str


class Mortal(FakeEffect):
    """Dies where it is told to."""

    at = ""

    async def perform(self, command: FakeCommand, ctx: EffectContext) -> str:
        if self.at == "C4":
            die()
        ctx.before_send()
        if self.at == "C5":
            die()
        receipt = self.provider.apply(command.key, command.value, ctx.idempotency_key)
        if self.at in ("C6", "C12"):
            die()
        return receipt


def provider_of(folder: Path, kind: str) -> FakeProvider:
    return FakeProvider(folder / "provider.db", **KINDS[kind])


def effect_of(provider: FakeProvider) -> Mortal:
    # A short time to send, so that absence becomes final within the test's patience.
    rules = Policy("p", (RequireApproval(),))
    return Mortal(provider, "pay", rules, {"send_budget": 0.15, "timeout": 5.0})


def arm(journal: Any, point: str, *, recovering: bool = False) -> None:
    """Let the journal's n-th effect transaction of this process kill it, before, inside or after."""
    place, number = ("before", 1) if recovering else _TRANSACTIONS.get(point, ("", 0))
    inner, left = journal.transact, [number]

    def transact(work: Callable[[Any], Any], *, durable: bool = True) -> Any:
        left[0] -= 1
        if left[0]:
            return inner(work, durable=durable)

        def fatal(tx: Any) -> Any:
            work(tx)
            die()

        if place == "before":
            die()
        result = inner(fatal if place == "inside" else work, durable=durable)
        if place == "after":
            die()
        return result

    if number:
        journal.transact = transact


def after_the_outcome(journal: Any) -> None:
    """C10: die once the task's writes are stored after its effect's outcome."""
    inner, outer, count = journal.transact, journal.commit, [0]

    def transact(work: Any, *, durable: bool = True) -> Any:
        count[0] += 1
        return inner(work, durable=durable)

    def commit(batch: Any) -> None:
        outer(batch)
        if count[0] >= 5:
            die()

    journal.transact, journal.commit = transact, commit


def pay(journal: Any, folder: Path, kind: str, point: str, number: int) -> dict[str, Any]:
    """Run to the end, or as far as this life goes."""
    provider = provider_of(folder, kind)
    effect = effect_of(provider)
    if number == 0:
        effect.at = point
        if point == "C10":
            after_the_outcome(journal)
        else:
            arm(journal, point)
    elif number == 1 and point == "C12":
        arm(journal, point, recovering=True)

    def node(state: State) -> State:
        return {"receipt": effect.sync(FakeCommand("order-1"))}

    graph = StateGraph(State).add_node(node).add_edge(START, "node").compile(journal)
    values = run_to_end(graph, {})
    left = Ledger(journal).unresolved()
    return {"values": values, "calls": provider.calls, "looks": provider.looks, "left": [row.state for row in left]}


def program(life: Life) -> Any:
    """One life of a case; ``life.told`` names the kind of provider and the point of death."""
    kind, point = life.told
    return pay(life.journal, life.folder, kind, point, life.number)


# What `crash_everywhere` is shown with


def keyed_program(life: Life) -> Mapping[str, Any]:
    """A user's own program: one keyed effect in a graph."""
    told = pay(life.journal, life.folder, "keyed", "", 1)
    return {"values": told["values"]}


def opaque_program(life: Life) -> Mapping[str, Any]:
    """The same with a provider that promises nothing."""
    told = pay(life.journal, life.folder, "neither", "", 1)
    return {"values": told["values"]}


def blind_program(life: Life) -> Mapping[str, Any]:
    """One whose effect is declared harmless and is not."""
    provider = FakeProvider(life.folder / "provider.db")
    effect = FakeEffect(provider, "pay", None, {"capability": Natural()})

    def node(state: State) -> State:
        return {"receipt": effect.sync(FakeCommand("order-1"))}

    graph = StateGraph(State).add_node(node).add_edge(START, "node").compile(life.journal)
    return {"values": run_to_end(graph, {})}


def losing_program(life: Life) -> Mapping[str, Any]:
    """One that notes its payment by itself before it makes it, and then believes its note."""
    note, provider = life.folder / "note", FakeProvider(life.folder / "provider.db")

    def node(state: State) -> State:
        if not note.exists():
            note.touch()
            Ledger(life.journal).plan(provider.effect("pay").plan(FakeCommand("order-1")))  # a write: a point of death
            provider.apply("order-1", "done")
        return {"receipt": "done"}

    graph = StateGraph(State).add_node(node).add_edge(START, "node").compile(life.journal)
    return {"values": run_to_end(graph, {})}


def applied(folder: Path) -> Mapping[str, int]:
    """How often each order was paid, as the provider's file has it."""
    return FakeProvider(folder / "provider.db").applied
