"""Intents, facts and a scripted provider for the tests of effects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from lawful.core.questions import Principal
from lawful.effects import events as ev
from lawful.effects import states as st
from lawful.effects.capability import (
    Capability,
    Found,
    Keyed,
    Lookup,
    Natural,
    NotFound,
    Opaque,
    Promise,
    Seen,
    Unavailable,
    capability_of,
)
from lawful.effects.contract import EffectContext
from lawful.effects.effect import Effect
from lawful.effects.events import Event
from lawful.effects.evidence import Approval, Evidence
from lawful.effects.intents import IntentRecord
from lawful.effects.policy import Decision, Policy
from lawful.effects.states import State
from lawful.effects.transitions import replay

OP = "publish:acme@abc"


def record(op: str = OP, *, capability: Promise | Capability | None = None, **fields: Any) -> IntentRecord:
    """An intent; revision "abc" unless said otherwise."""
    promised = capability_of(capability if capability is not None else Natural())
    given: dict[str, Any] = {"revision": "abc", "max_attempts": 3, **fields}
    return IntentRecord("local", op, "publish", "1", {"repo": "acme"}, "args-1", "key-1", promised, **given)


def receipt(name: str = "pr-1", source: Literal["reply", "late_reply", "lookup"] = "reply") -> st.Receipt:
    return st.Receipt(name, source, name)


def claimed(fence: int = 1, at: float = 10.0, op: str = OP) -> ev.Claimed:
    return ev.Claimed(op, at, fence=fence, owner=f"w{fence}", lease_until=at + 30.0, send_deadline=at + 10.0)


def evidence(
    name: str = "e1", kind: str = "tests", revision: str = "abc", verdict: bool = True, **more: Any
) -> Evidence:
    return Evidence(name, kind, revision, verdict, "ci", 0.0, **more)


def approval(intent: IntentRecord, by: str = "alice", **more: Any) -> Approval:
    return Approval.of(intent, Principal(by, ("release",)), at=0.0, **more)


def past(*events: Event, intent: IntentRecord | None = None) -> State:
    """The state that a planned operation comes to by ``events``."""
    first = ev.Planned(OP, 0.0, intent if intent is not None else record())
    return replay((first, *events)).unwrap()


PERMITTED = ev.Authorized(OP, 1.0, "basis")
LOST = ev.OutcomeLost(OP, 12.0, 1, "timeout")


def every_state() -> dict[str, State]:
    """One state of each kind, all of the operation OP, reached by events."""
    flying = (PERMITTED, claimed())
    unknown = (*flying, LOST)
    refused = (*flying, ev.Refused(OP, 11.0, 1, "busy", "try later", True))
    return {
        "Unplanned": st.Unplanned(),
        "Planned": past(),
        "Permitted": past(PERMITTED),
        "InFlight": past(*flying),
        "Unknown": past(*unknown),
        "Granted": past(*unknown, ev.RetryGranted(OP, 13.0, "same_key", 100.0)),
        "Refused": past(*refused),
        "Succeeded": past(*flying, ev.Confirmed(OP, 11.0, receipt(), 1)),
        "Failed": past(*refused, ev.Failed(OP, 12.0, "enough")),
        "Cancelled": past(ev.Cancelled(OP, 1.0, "not wanted")),
        "Abandoned": past(*unknown, ev.OperatorDecided(OP, 14.0, 4, ev.GiveUp(), "alice", "lost")),
        "Conflicted": past(*flying, ev.Confirmed(OP, 11.0, receipt(), 1), ev.Confirmed(OP, 12.0, receipt("pr-2"))),
    }


def every_event() -> list[Event]:
    """At least one event of each kind, for the operation OP."""
    return [
        ev.Planned(OP, 20.0, record()),
        ev.Reused(OP, 20.0, "thread-2"),
        ev.PolicyChanged(OP, 20.0, "other", "hash"),
        ev.EvidenceAdded(OP, 20.0, evidence()),
        ev.EvidenceAdded(OP, 20.0, evidence(revision="old")),
        ev.ApprovalGranted(OP, 20.0, approval(record())),
        ev.ApprovalGranted(OP, 20.0, approval(record(revision="old"))),
        ev.ApprovalRevoked(OP, 20.0, "nobody's"),
        ev.Authorized(OP, 20.0, "basis"),
        ev.AuthorityLost(OP, 20.0, "expired"),
        ev.Denied(OP, 20.0, "no"),
        ev.Cancelled(OP, 20.0, "not wanted"),
        claimed(1, 20.0),
        claimed(2, 20.0),
        claimed(2, 200.0),
        ev.Confirmed(OP, 20.0, receipt(), 1),
        ev.Confirmed(OP, 20.0, receipt("pr-9", "lookup")),
        ev.Confirmed(OP, 20.0, receipt(), 7),
        ev.Refused(OP, 20.0, 1, "no"),
        ev.Refused(OP, 20.0, 7, "no"),
        ev.Quarantined(OP, 20.0, 1, 5.0, "q"),
        ev.Quarantined(OP, 20.0, 2, 5.0, "q"),
        ev.Quarantined(OP, 20.0, 2, 25.0, "q"),
        ev.OutcomeLost(OP, 20.0, 1, "timeout"),
        ev.OutcomeLost(OP, 20.0, 2, "timeout"),
        ev.LookupNoted(OP, 20.0, "not found"),
        ev.RetryGranted(OP, 20.0, "same_key", 100.0),
        ev.RetryGranted(OP, 20.0, "same_key", 5.0),
        ev.RetryVoided(OP, 20.0, "unused"),
        ev.RetryVoided(OP, 200.0, "unused"),
        ev.Conflict(OP, 20.0, "two"),
        ev.OperatorDecided(OP, 20.0, 4, ev.Happened("pr-1"), "alice", "seen"),
        ev.OperatorDecided(OP, 20.0, 4, ev.DidNotHappen(), "alice", "looked"),
        ev.OperatorDecided(OP, 20.0, 4, ev.DidNotHappen(retry=False), "alice", "looked"),
        ev.OperatorDecided(OP, 20.0, 99, ev.GiveUp(), "alice", "stale"),
        ev.Failed(OP, 20.0, "enough"),
    ]


@dataclass(frozen=True)
class PullRequest:
    """The command of the tests' effect."""

    repo: str
    revision: str = "abc"
    title: str = "Bump httpx"


@dataclass
class Forge:
    """A provider in memory: how its next calls go is scripted, what it has applied is counted."""

    script: list[str] = field(default_factory=list[str])
    """For each call in turn: "ok", "lose" (applied, reply lost), "drop" (not applied, no reply), "refuse", "busy"."""
    sight: list[str] = field(default_factory=list[str])
    """For each look-up in turn: "true" (the default), "none" (not found), "down"."""
    applied: list[str] = field(default_factory=list[str])
    calls: int = 0
    looks: int = 0

    def create(self, name: str) -> str:
        from lawful.core.errors import EffectRefused

        self.calls += 1
        how = self.script.pop(0) if self.script else "ok"
        if how in ("refuse", "busy"):
            raise EffectRefused(f"the forge says {how}", retryable=how == "busy")
        if how != "drop":
            self.applied.append(name)
        if how in ("lose", "drop"):
            raise ConnectionError("no reply")
        return f"https://forge/{name}"

    def find(self, name: str) -> Seen[str]:
        self.looks += 1
        how = self.sight.pop(0) if self.sight else "true"
        if how == "down":
            return Unavailable("503")
        count = self.applied.count(name)
        if how == "none" or not count:
            return NotFound()
        return Found(f"https://forge/{name}", others=(f"https://forge/{name}",) * (count - 1))


class Publish(Effect[PullRequest, str]):
    """Open a pull request on a scripted forge."""

    tool = "publish"
    capability: Promise | Capability = Natural() & Lookup("strong")

    def __init__(
        self, forge: Forge, capability: Promise | Capability | None = None, policy: Policy | None = None, **fields: Any
    ) -> None:
        self.forge = forge
        self.policy = policy
        if capability is not None:
            self.capability = capability
        for name, value in fields.items():
            setattr(self, name, value)

    def key(self, command: PullRequest) -> str | None:
        return f"{command.repo}@{command.revision}"

    def revision(self, command: PullRequest) -> str:
        return command.revision

    def authorize(self, command: PullRequest) -> Decision:
        return Decision.allow() if command.repo.startswith("acme") else Decision.refuse("not our repository")

    async def perform(self, command: PullRequest, ctx: EffectContext) -> str:
        ctx.before_send()
        return self.forge.create(command.repo)

    async def lookup(self, command: PullRequest, ctx: EffectContext) -> Seen[str]:
        return self.forge.find(command.repo)


STRONG = Lookup("strong", max_in_flight=60.0)
KEYED = Keyed(retention=3600.0, max_in_flight=60.0)
CAPABILITIES: dict[str, Promise | Capability] = {
    "natural": Natural(),
    "natural and lookup": Natural() & Lookup("strong"),
    "keyed": KEYED,
    "keyed and lookup": KEYED & STRONG,
    "lookup strong": STRONG,
    "lookup eventual": Lookup("eventual", lag=5.0),
    "opaque": Opaque(),
}
