"""Effects on the world: described, allowed, written down before they are sent, and reconciled after."""

from __future__ import annotations

from lawful.effects.aggregates import Aggregate as Aggregate
from lawful.effects.aggregates import counted as counted
from lawful.effects.aggregates import spent as spent
from lawful.effects.capability import (
    Compensatable as Compensatable,
)
from lawful.effects.capability import (
    Fence as Fence,
)
from lawful.effects.capability import (
    Found,
    Keyed,
    Lookup,
    Natural,
    NotFound,
    Opaque,
    Pending,
    Repeatable,
    Seen,
    Unavailable,
    days,
    hours,
    minutes,
    seconds,
)
from lawful.effects.capability import (
    Pure as Pure,
)
from lawful.effects.capability import (
    Read as Read,
)
from lawful.effects.compare import compare_policies as compare_policies
from lawful.effects.contract import EffectContext, Intent
from lawful.effects.effect import Effect, OpaqueEffect
from lawful.effects.events import DidNotHappen, GiveUp, Happened
from lawful.effects.evidence import Approval, Evidence, Revision
from lawful.effects.ledger import Ledger
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
from lawful.effects.outcomes import RevisionMoved as RevisionMoved
from lawful.effects.policy import Decision, Policy, RequireApproval, RequireEvidence, policy
from lawful.effects.policy import Limit as Limit
from lawful.effects.policy import rate_limit as rate_limit
from lawful.effects.recover import recover, recover_sync
from lawful.effects.short import HERE, effect
from lawful.effects.transitions import replay as replay

__all__ = [
    # describing
    "Effect", "OpaqueEffect", "effect", "HERE", "EffectContext", "Intent",
    # what a provider promises, and what is seen
    "Repeatable", "Natural", "Keyed", "Lookup", "Opaque",
    "seconds", "minutes", "hours", "days", "Found", "NotFound", "Pending", "Unavailable", "Seen",
    # authority
    "Revision", "Evidence", "Approval", "Policy", "RequireEvidence", "RequireApproval", "policy", "Decision",
    # performing, and what comes of it
    "Ledger", "recover", "recover_sync", "Outcome", "Succeeded", "ResultLost",
    "AwaitingEvidence", "AwaitingApproval", "Denied", "InProgress", "Unknown", "Refused", "Conflicted", "Abandoned",
    "Happened", "DidNotHappen", "GiveUp",
]  # fmt: skip
