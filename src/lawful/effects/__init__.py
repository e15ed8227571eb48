"""Effects on the world: described, authorised, written down before they are sent, and reconciled after."""

from __future__ import annotations

from lawful.effects.capability import (
    Capability,
    Compensatable,
    Fence,
    Found,
    Keyed,
    Lookup,
    Natural,
    NotFound,
    Opaque,
    Pending,
    Pure,
    Read,
    Repeatable,
    Seen,
    Unavailable,
    days,
    hours,
    minutes,
    seconds,
)
from lawful.effects.contract import EffectContext, Intent
from lawful.effects.effect import Effect, OpaqueEffect
from lawful.effects.events import DidNotHappen, GiveUp, Happened
from lawful.effects.evidence import Approval, Evidence, Revision, binding
from lawful.effects.ledger import Explanation, Ledger
from lawful.effects.outcomes import (
    Abandoned,
    AwaitingApproval,
    AwaitingEvidence,
    Conflicted,
    Denied,
    InProgress,
    Outcome,
    Refused,
    ResultLost,
    Succeeded,
    Unknown,
)
from lawful.effects.policy import Authorized, Decision, Policy, RequireApproval, RequireEvidence, authorize, policy
from lawful.effects.recover import Report, recover, recover_sync
from lawful.effects.short import HERE, effect

__all__ = [
    # describing
    "Effect", "OpaqueEffect", "effect", "HERE", "EffectContext", "Intent",
    # what a provider promises, and what is seen
    "Capability", "Pure", "Read", "Repeatable", "Natural", "Keyed", "Lookup", "Fence", "Compensatable", "Opaque",
    "seconds", "minutes", "hours", "days", "Found", "NotFound", "Pending", "Unavailable", "Seen",
    # authority
    "Revision", "Evidence", "Approval", "binding", "Policy", "RequireEvidence", "RequireApproval", "policy",
    "Decision", "Authorized", "authorize",
    # performing, and what comes of it
    "Ledger", "Explanation", "recover", "recover_sync", "Report", "Outcome", "Succeeded", "ResultLost",
    "AwaitingEvidence", "AwaitingApproval", "Denied", "InProgress", "Unknown", "Refused", "Conflicted", "Abandoned",
    "Happened", "DidNotHappen", "GiveUp",
]  # fmt: skip
