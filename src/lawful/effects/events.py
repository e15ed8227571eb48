"""What can happen to an operation, as facts that are written down and never changed."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct

from lawful.effects.evidence import Approval, Evidence
from lawful.effects.intents import IntentRecord
from lawful.effects.states import Receipt


class _Fact(Struct, frozen=True, tag_field="type"):
    op_id: str
    at: float
    """Seconds since 1970 UTC, by the store's clock."""


class Planned(_Fact, frozen=True):
    """The intent was written down."""

    intent: IntentRecord
    v: int = 1
    """Version of the record's form."""


class Reused(_Fact, frozen=True):
    """Another lineage planned the same operation and takes part in it."""

    lineage: str
    thread: str = ""


class PolicyChanged(_Fact, frozen=True):
    """Another policy is asked from now on; approvals bound to the one before no longer count."""

    policy: str
    policy_hash: str


class EvidenceAdded(_Fact, frozen=True):
    evidence: Evidence


class ApprovalGranted(_Fact, frozen=True):
    """Someone decided; ``approval.granted`` says how."""

    approval: Approval


class ApprovalRevoked(_Fact, frozen=True):
    approval: str
    by: str = ""


class Authorized(_Fact, frozen=True):
    """The policy said yes; a cache of a decision, asked again at the claim."""

    basis: str
    """Digest of what the policy saw."""


class AuthorityLost(_Fact, frozen=True):
    """What the policy had said yes to no longer holds."""

    reason: str


class Denied(_Fact, frozen=True):
    reason: str


class Cancelled(_Fact, frozen=True):
    reason: str
    by: str = ""


class Claimed(_Fact, frozen=True):
    """One worker may now send, once, before ``send_deadline``."""

    fence: int
    owner: str
    lease_until: float
    send_deadline: float
    basis: str = ""
    """Digest of what the policy saw in this very transaction."""
    approvals: tuple[str, ...] = ()
    """Approvals that this claim uses up."""
    lease_thread: str = ""
    """The journal lease whose holder is the claimant."""
    lease_fence: int = 0
    seen: str | None = None
    """The target's revision as it was read for this claim; None where the effect reads none."""


class Confirmed(_Fact, frozen=True):
    """A receipt was seen, from whichever attempt (``fence`` 0: from none of ours)."""

    receipt: Receipt
    fence: int = 0


class Refused(_Fact, frozen=True):
    """The provider definitely did not do what attempt ``fence`` asked."""

    fence: int
    code: str
    message: str = ""
    retryable: bool = False


class Quarantined(_Fact, frozen=True):
    """The journal was restored from an older copy: an attempt that it does not know of may have been made meanwhile."""

    fence: int
    since: float
    """When the copy was made; an unknown attempt was made after this moment."""
    quarantine: str
    """The id of what ordered it, so that it is noted once."""


class OutcomeLost(_Fact, frozen=True):
    """Attempt ``fence`` ended without a usable reply."""

    fence: int
    cause: str
    message: str = ""


class LookupNoted(_Fact, frozen=True):
    """What a look-up reported."""

    seen: str


class RetryGranted(_Fact, frozen=True):
    basis: str
    valid_until: float | None = None


class RetryVoided(_Fact, frozen=True):
    """The grant's time has passed unused, or its authority was lost."""

    reason: str


class Conflict(_Fact, frozen=True):
    """A look-up found the effect more than once."""

    reason: str


class Happened(Struct, frozen=True, tag_field="is", tag="happened"):
    """The operator has seen the effect."""

    value: Any = None
    """The receipt, as JSON."""


class DidNotHappen(Struct, frozen=True, tag_field="is", tag="did_not_happen"):
    """The operator knows that it did not happen and no longer can."""

    retry: bool = True
    """Whether to try again; otherwise the operation fails."""


class GiveUp(Struct, frozen=True, tag_field="is", tag="give_up"):
    """Nobody will find out."""


Ruling: TypeAlias = Happened | DidNotHappen | GiveUp


class OperatorDecided(_Fact, frozen=True):
    """A person settled it, having seen the operation at ``expected_version``."""

    expected_version: int
    ruling: Ruling
    by: str
    reason: str


class Failed(_Fact, frozen=True):
    """A definite refusal is final."""

    reason: str


Event: TypeAlias = (
    Planned
    | Reused
    | PolicyChanged
    | EvidenceAdded
    | ApprovalGranted
    | ApprovalRevoked
    | Authorized
    | AuthorityLost
    | Denied
    | Cancelled
    | Claimed
    | Confirmed
    | Refused
    | Quarantined
    | OutcomeLost
    | LookupNoted
    | RetryGranted
    | RetryVoided
    | Conflict
    | OperatorDecided
    | Failed
)

Cause: TypeAlias = Literal["timeout", "transport", "exception", "cancel", "lease_expired", "crash"]
