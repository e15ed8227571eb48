"""Pure rules from an intent, its evidence and its approvals to a decision, each conjunct told by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, final

from msgspec import Struct
from msgspec.structs import replace

from lawful.core.errors import ConfigurationError
from lawful.effects.aggregates import Aggregate, counted, own_share
from lawful.effects.decisions import (
    Allowed,
    Decision,
    Denied,
    Limited,
    NeedsApproval,
    NeedsEvidence,
    Verdict,
    joined,
    verdict,
)
from lawful.effects.digests import digest
from lawful.effects.evidence import Approval, Evidence, approval_stale, evidence_stale, genuine, newest
from lawful.effects.intents import IntentRecord


class Matter(Struct, frozen=True):
    """All that a policy may look at; nothing else decides."""

    intent: IntentRecord
    evidence: tuple[Evidence, ...] = ()
    approvals: tuple[Approval, ...] = ()
    consumed: tuple[str, ...] = ()
    """Ids of approvals that earlier claims have used, one entry a use."""
    retry: bool = False
    """An earlier attempt of this very operation was claimed: its approvals need no new use."""
    now: float = 0.0
    totals: Mapping[str, float] = {}
    """The figures that the policy reads, by the aggregates' names."""

    def total(self, aggregate: Aggregate) -> float:
        """The figure of an aggregate. Raises: ConfigurationError, if the policy did not declare that it reads it."""
        if aggregate.name not in self.totals:
            raise ConfigurationError(
                f"the policy reads {aggregate.name!r} without declaring it: @policy(name, reads=[...])",
                component="policy",
            )
        return self.totals[aggregate.name]

    def inputs_hash(self, policy_hash: str) -> str:
        """Digest of what was decided on, for the record."""
        ids = [[e.id for e in self.evidence], [a.id for a in self.approvals], list(self.consumed)]
        seen: list[Any] = [policy_hash, self.intent.op_id, self.intent.args_hash, ids, self.now]
        return digest("decision", [*seen, dict(self.totals)] if self.totals else seen)


class Finding(Struct, frozen=True):
    """What one conjunct of a policy found."""

    rule: str
    verdict: Verdict
    why: str = ""
    stale: tuple[str, ...] = ()
    """Evidence and approvals that were there and did not count, each with its reason."""

    @property
    def holds(self) -> bool:
        return isinstance(self.verdict, Allowed)


class RequireEvidence(Struct, frozen=True, tag="evidence"):
    """The newest evidence of ``kind`` about this revision says yes, is current, and comes from where it must."""

    kind: str
    issuers: tuple[str, ...] = ()
    """Only theirs counts; empty: anybody's."""
    max_age: float | None = None
    """Seconds since it was issued."""
    key: bytes = b""
    """Only what was `signed` with it counts; never stored, its digest alone is part of the policy's hash."""

    @property
    def name(self) -> str:
        return f"evidence:{self.kind}"

    def check(self, matter: Matter) -> Finding:
        reasons = [(e, self._barred(e, matter)) for e in matter.evidence if e.kind == self.kind]
        stale = tuple(why for _, why in reasons if why is not None)
        best = newest((e for e, why in reasons if why is None), self.kind)
        if best is None:
            return Finding(self.name, NeedsEvidence((self.kind,)), f"no current {self.kind} evidence", stale)
        if not best.verdict:
            return Finding(self.name, NeedsEvidence((self.kind,)), f"{self.kind} says no ({best.id})", stale)
        return Finding(self.name, Allowed(), f"{best.id} by {best.issuer}", stale)

    def _barred(self, evidence: Evidence, matter: Matter) -> str | None:
        told = f"{evidence.kind} {evidence.id}"
        if self.issuers and evidence.issuer not in self.issuers:
            return f"{told} is by {evidence.issuer}, whose word does not count"
        if self.key and not genuine(evidence, self.key):
            return f"{told} is not signed with the right key"
        if self.max_age is not None and matter.now - evidence.issued_at >= self.max_age:
            return f"{told} is older than {self.max_age:g} s"
        return evidence_stale(evidence, matter.intent, matter.now)

    def told(self) -> list[Any]:
        """What a policy's hash is made of."""
        more = [list(self.issuers), self.max_age, digest("key", self.key.hex()) if self.key else ""]
        return ["evidence", self.kind, *(more if (self.issuers or self.key or self.max_age is not None) else [])]


class RequireApproval(Struct, frozen=True, tag="approval"):
    """So many people in ``role`` have said yes, nobody in it no, and it still counts."""

    role: str = ""
    count: int = 1
    exclude_requester: bool = False
    retry_under_original_approval: bool = False
    """Whether an operation that was claimed under an approval may be tried again after that has expired; never once revoked."""

    @property
    def name(self) -> str:
        return f"approval:{self.role or 'anyone'}"

    def check(self, matter: Matter) -> Finding:
        counted: dict[str, str] = {}
        stale: list[str] = []
        for approval in matter.approvals:
            if not self._concerns(approval):
                continue
            why = self._stale(approval, matter) or self._barred(approval, matter)
            if why is not None:
                stale.append(why)
            elif not approval.granted:
                return Finding(self.name, Denied(f"{approval.approver.id} said no"), approval.id, tuple(stale))
            else:
                counted.setdefault(approval.approver.id, approval.id)
        missing = self.count - len(counted)
        if missing > 0:
            return Finding(self.name, NeedsApproval(self.role, missing), f"{missing} missing", tuple(stale))
        used = tuple(counted.values())[: self.count]
        return Finding(self.name, Allowed(used), f"by {', '.join(counted)}", tuple(stale))

    def _concerns(self, approval: Approval) -> bool:
        if not self.role:
            return True
        return approval.role in ("", self.role) and self.role in approval.approver.roles

    def _stale(self, approval: Approval, matter: Matter) -> str | None:
        if self.retry_under_original_approval and matter.retry and approval.id in matter.consumed:
            approval = replace(approval, expires_at=None)
        return approval_stale(approval, matter.intent, matter.now)

    def _barred(self, approval: Approval, matter: Matter) -> str | None:
        if self.exclude_requester and approval.approver.id == matter.intent.requester:
            return f"approval {approval.id} is by the requester"
        uses = matter.consumed.count(approval.id)
        if uses >= approval.max_uses and not (matter.retry and uses):
            return f"approval {approval.id} is used up"
        return None


class Rule(Struct, frozen=True, tag="rule"):
    """A conjunct written as a function: pure, total, known by name and version (its source is never compared)."""

    name: str
    decide: Callable[[Matter], Decision]
    version: str = "1"
    reads: tuple[Aggregate, ...] = ()
    """The aggregates that ``decide`` may ask the matter for."""

    def check(self, matter: Matter) -> Finding:
        return Finding(self.name, verdict(self.decide(matter)))


class Limit(Struct, frozen=True, tag="limit"):
    """A figure of the ledger, this operation's own share added, stays at or below ``at_most``.

    What has reached it waits until the window has moved on. An operation without the labels that the figure needs is denied.
    """

    reads: Aggregate
    at_most: float

    @property
    def name(self) -> str:
        return f"limit:{self.reads.name}"

    def check(self, matter: Matter) -> Finding:
        share = own_share(self.reads, matter.intent)
        if share is None or not share >= 0:
            wanted = ", ".join(self.reads.labels)
            return Finding(self.name, Denied(f"effect {matter.intent.tool!r} needs labels {wanted} for its limit"))
        found = matter.total(self.reads)
        if found + share > self.at_most:
            why = f"{found:g} + {share:g} is above {self.at_most:g} ({self.reads.name})"
            if share > self.at_most:
                return Finding(self.name, Denied(why), why)
            return Finding(self.name, Limited(why, None), why)
        return Finding(self.name, Allowed(), f"{found:g} + {share:g} of {self.at_most:g}")


def rate_limit(at_most: int, *, per: float, by: str = "", tool: str = "") -> Limit:
    """At most so many operations claimed within ``per`` seconds."""
    return Limit(counted(window=per, by=by, tool=tool), at_most)


Conjunct: TypeAlias = RequireEvidence | RequireApproval | Rule | Limit


class Policy(Struct, frozen=True):
    """Conjuncts that must all hold; known by its id and by the hash of what it demands."""

    id: str
    rules: tuple[Conjunct, ...] = ()
    version: str = "1"

    @property
    def hash(self) -> str:
        """Digest of id, version and every conjunct: approvals are bound to it."""
        told: list[Any] = []
        for rule in self.rules:
            match rule:
                case RequireEvidence():
                    told.append(rule.told())
                case RequireApproval(role, count, exclude, original):
                    told.append(["approval", role, count, exclude, *(["original"] if original else [])])
                case Rule():
                    told.append(["rule", rule.name, rule.version])
                case Limit(reads, at_most):
                    told.append(["limit", reads.window, reads.what, reads.by, reads.tool, at_most])
        return digest("policy", [self.id, self.version, told])

    @property
    def reads(self) -> tuple[Aggregate, ...]:
        """The figures of the ledger that its conjuncts look at."""
        found: list[Aggregate] = []
        for rule in self.rules:
            match rule:
                case Limit(reads):
                    found.append(reads)
                case Rule(reads=several):
                    found += several
                case RequireEvidence() | RequireApproval():
                    pass
        return tuple(dict.fromkeys(found))

    def explain(self, matter: Matter) -> tuple[Finding, ...]:
        """What each conjunct found, in order, stale items with their reasons."""
        return tuple(rule.check(matter) for rule in self.rules)

    def decide(self, matter: Matter) -> Verdict:
        """The conjuncts' findings joined: a no beats a limit beats missing evidence beats a missing approval beats yes."""
        return joined(finding.verdict for finding in self.explain(matter))

    def joined_with(self, other: Policy | None) -> Policy:
        """Both policies' demands."""
        if other is None or other.hash == self.hash:
            return self
        return Policy(f"{self.id}+{other.id}", (*self.rules, *other.rules), f"{self.version}+{other.version}")


OPEN = Policy("open")
"""Demands nothing."""


def policy(
    name: str, *, version: str = "1", reads: Iterable[Aggregate] = ()
) -> Callable[[Callable[[Matter], Decision]], Policy]:
    """Make a policy of one pure function; ``reads`` declares the figures that it asks ``matter.total`` for."""

    def made(decide: Callable[[Matter], Decision]) -> Policy:
        return Policy(name, (Rule(name, decide, version, tuple(reads)),), version)

    return made


# The proof that a policy said yes

_SEAL = object()


@final
class Authorized:
    """A policy's yes to one operation, which only `authorize` can make; a claim takes nothing else."""

    __slots__ = ("approvals", "at", "basis", "op_id", "policy_hash")

    op_id: str
    policy_hash: str
    approvals: tuple[str, ...]
    basis: str
    at: float

    def __init__(self, matter: Matter, policy_hash: str, approvals: tuple[str, ...], seal: object) -> None:
        if seal is not _SEAL:
            raise TypeError("Authorized comes from authorize(policy, matter) alone")
        for name, value in (
            ("op_id", matter.intent.op_id),
            ("policy_hash", policy_hash),
            ("approvals", approvals),
            ("basis", matter.inputs_hash(policy_hash)),
            ("at", matter.now),
        ):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise TypeError("Authorized cannot be changed")

    def __reduce__(self) -> str:
        raise TypeError("Authorized cannot be copied or stored: ask the policy again")


def authorize(
    rules: Policy, matter: Matter, *more: Decision
) -> Authorized | NeedsEvidence | NeedsApproval | Limited | Denied:
    """Ask ``rules`` (and ``more`` decisions already made, such as the effect's own) about ``matter``."""
    match joined((*(verdict(each) for each in more), rules.decide(matter))):
        case Allowed(approvals):
            return Authorized(matter, rules.hash, approvals, _SEAL)
        case otherwise:
            return otherwise


def publication_policy(role: str = "") -> Policy:
    """The essay's rule: tests and security pass and someone approves, all for the same revision."""
    return Policy("publication", (RequireEvidence("tests"), RequireEvidence("security"), RequireApproval(role)))
