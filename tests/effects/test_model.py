"""Every interleaving of ledger, workers, network and provider, up to three attempts: never more than one effect.

The world here is a model; the ledger in it is the real `step`, `claim`, `settle` and `reconcile`. Time is a small clock,
so that retention, send deadlines and time in flight are really reached. Three planted mutations must make it fail.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from lawful.core.result import Ok
from lawful.effects import events as ev
from lawful.effects import states as st
from lawful.effects.capability import (
    MARGIN,
    Capability,
    Found,
    Keyed,
    Lookup,
    NotFound,
    Opaque,
    Promise,
    Seen,
    capability_of,
    promise,
)
from lawful.effects.events import Event
from lawful.effects.moves import Claimant, Reply, Taken, claim, reconcile, settle
from lawful.effects.policy import OPEN, Decision
from lawful.effects.states import State
from lawful.effects.transitions import step
from support.effects import OP, record

pytestmark = pytest.mark.property

FLIGHT = 1.0
"""Ticks after which a request that left has arrived or is lost."""
BUDGET = 1.0
RETENTION = 4.0 + MARGIN
WHO = Claimant("w", 2.0)


class World(NamedTuple):
    """All there is."""

    now: int
    state: State
    workers: tuple[tuple[int, str, int], ...]
    """(fence, "claimed" | "sent", tick of the claim)."""
    net: tuple[int, ...]
    """Ticks at which requests on their way left."""
    applied: int
    key: int | None
    """Tick at which the provider first saw the key."""


@dataclass(frozen=True)
class Rules:
    """What the model does differently where a mutation is planted."""

    capability: Capability
    send_deadline: bool = True
    claim_check: bool = True
    retention_check: bool = True
    horizon: int = 8

    @property
    def declared(self) -> Capability:
        """What the ledger is told; without the retention check it believes in an endless one."""
        keyed = promise(self.capability, Keyed)
        if keyed is None or self.retention_check:
            return self.capability
        others = tuple(p for p in self.capability.promises if not isinstance(p, Keyed))
        return Capability((replace(keyed, retention=1e9), *others))


def append(state: State, events: tuple[Event, ...]) -> State | None:
    for event in events:
        match step(state, event):
            case Ok(after):
                state = after
            case _:
                return None
    return state


def successors(world: World, rules: Rules) -> list[World]:
    return [*_ledger(world, rules), *_workers(world, rules), *_network(world, rules), *_time(world, rules)]


def _ledger(world: World, rules: Rules) -> list[World]:
    out: list[World] = []
    now, state = float(world.now), world.state
    asked = replace(state, valid_until=None) if isinstance(state, st.Granted) and not rules.claim_check else state
    events, move = claim(asked, OPEN, Decision.allow(), WHO, now)
    after = append(asked, events)
    if after is not None and events:
        busy = ((move.fence, "claimed", world.now),) if isinstance(move, Taken) else ()
        out.append(world._replace(state=after, workers=tuple(sorted((*world.workers, *busy)))))
    if isinstance(state, st.InFlight):
        fence = state.facts.fence
        for lost in (settle(state, fence, Reply("lost", None, "timeout"), now),):
            known = append(state, lost)
            if known is not None:
                out.append(world._replace(state=known))
    if isinstance(state, st.Unknown):
        for seen in _sights(world, rules):
            shown = st.Receipt("r", "lookup", "r") if isinstance(seen, Found) else None
            noted, _ = reconcile(_tireless(state), seen, now, shown, now)
            known = append(state, tuple(e for e in noted if not isinstance(e, ev.LookupNoted)))
            if known is not None and known is not state:
                out.append(world._replace(state=known))
    return out


def _tireless(state: st.Unknown) -> st.Unknown:
    return replace(state, facts=replace(state.facts, looks=0))


def _sights(world: World, rules: Rules) -> list[Seen[str] | None]:
    look = promise(rules.capability, Lookup)
    if look is None:
        return [None]
    if world.applied:
        # An eventual look-up may lag behind what has happened.
        return [Found("r")] if look.consistency == "strong" else [Found("r"), NotFound()]
    return [NotFound()]


def _workers(world: World, rules: Rules) -> list[World]:
    out: list[World] = []
    for worker in set(world.workers):
        fence, doing, since = worker
        left = list(world.workers)
        left.remove(worker)
        out.append(world._replace(workers=tuple(left)))
        if doing == "claimed" and (not rules.send_deadline or world.now <= since + BUDGET):
            sent = tuple(sorted((*left, (fence, "sent", 0))))
            out.append(world._replace(workers=sent, net=tuple(sorted((*world.net, world.now)))))
    return out


def _network(world: World, rules: Rules) -> list[World]:
    """The provider handles a request that is on its way; the reply is lost, or reaches any worker that waits."""
    out: list[World] = []
    keyed = promise(rules.capability, Keyed) is not None
    for left_at in set(world.net):
        net = list(world.net)
        net.remove(left_at)
        again = keyed and world.key is not None
        applied = world.applied if again else world.applied + 1
        key = world.now if keyed and world.key is None else world.key
        handled = world._replace(net=tuple(net), applied=applied, key=key)
        out.append(handled)
        for worker in {w for w in world.workers if w[1] == "sent"}:
            rest = list(world.workers)
            rest.remove(worker)
            reply = Reply("receipt", st.Receipt("r", "reply", "r"))
            known = append(world.state, settle(world.state, worker[0], reply, float(world.now)))
            if known is not None:
                out.append(handled._replace(state=known, workers=tuple(rest)))
            if not again and len(world.workers) == 1 and len(world.net) == 1:
                refusal = Reply("refused", None, "no", "", True)
                refused = append(world.state, settle(world.state, worker[0], refusal, float(world.now)))
                if refused is not None:
                    out.append(world._replace(state=refused, workers=tuple(rest), net=tuple(net)))
    return out


def _time(world: World, rules: Rules) -> list[World]:
    """A tick passes; what has been on its way for too long is lost, a key too old is forgotten."""
    if world.now >= rules.horizon:
        return []
    now = world.now + 1
    # Only where every request has arrived may one be called lost: otherwise it is lost by the choice to drop it.
    net = tuple(left for left in world.net if now <= left + FLIGHT)
    key = None if world.key is not None and now >= world.key + RETENTION else world.key
    return [world._replace(now=now, net=net, key=key)]


def worst(rules: Rules) -> tuple[int, int]:
    """(worlds reached, most effects in any of them); stops at the first world with two."""
    intent = record(capability=rules.declared, max_attempts=3, send_budget=BUDGET, timeout=1.0)
    planned = append(st.Unplanned(), (ev.Planned(OP, 0.0, intent),))
    assert planned is not None
    first = World(0, planned, (), (), 0, None)
    seen: dict[Any, None] = {_shape(first): None}
    queue = deque([first])
    most = 0
    while queue:
        world = queue.popleft()
        most = max(most, world.applied)
        for after in successors(world, rules):
            shape = _shape(after)
            if after.applied > 1:
                return len(seen), after.applied
            if shape not in seen:
                seen[shape] = None
                queue.append(after)
    return len(seen), most


def _shape(world: World) -> Any:
    """A world without what cannot matter any more."""
    state = world.state
    if isinstance(state, st.Unplanned):
        return world
    facts = state.facts
    attempts = tuple((a.fence, a.claimed_at, a.ended) for a in facts.attempts)
    until = state.valid_until if isinstance(state, st.Granted) else None
    return (world.now, st.name_of(state), attempts, until, world.workers, world.net, world.applied, world.key)


KEYED = Keyed(retention=RETENTION, max_in_flight=FLIGHT)
FINAL = Lookup("strong", max_in_flight=FLIGHT)
EVENTUAL = Lookup("eventual", max_in_flight=FLIGHT)
SETS: dict[str, Promise | Capability] = {
    "neither": Opaque(),
    "eventual lookup": EVENTUAL,
    "strong lookup": FINAL,
    "keyed": KEYED,
    "keyed, eventual lookup": KEYED & EVENTUAL,
    "keyed, strong lookup": KEYED & FINAL,
}


@pytest.mark.parametrize("name", SETS)
def test_never_more_than_one_effect(name: str) -> None:
    """Ledger: L13, L4"""
    worlds, most = worst(Rules(capability_of(SETS[name])))
    assert most == 1
    assert worlds > 200


@pytest.mark.parametrize(
    "mutation",
    [{"claim_check": False}, {"send_deadline": False}, {"retention_check": False, "claim_check": False}],
    ids=["no retention check at the claim", "no send deadline", "no retention check at all"],
)
def test_each_planted_mutation_is_found(mutation: dict[str, bool]) -> None:
    """Ledger: L13"""
    _, most = worst(Rules(capability_of(KEYED), **mutation))
    assert most > 1
