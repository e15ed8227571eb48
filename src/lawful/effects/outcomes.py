"""How an attempt to perform an operation ends, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar, final

R_co = TypeVar("R_co", covariant=True)
R = TypeVar("R")


@final
@dataclass(frozen=True)
class Succeeded(Generic[R_co]):
    """It happened, once."""

    receipt: R_co
    op_id: str = ""
    recorded: bool = False
    """An earlier attempt did it; nothing was sent this time."""


@final
@dataclass(frozen=True)
class ResultLost:
    """It happened, once, but what the provider answered could not be written down."""

    op_id: str


@final
@dataclass(frozen=True)
class AwaitingEvidence:
    """Nothing was sent: evidence of these kinds about this revision is missing."""

    op_id: str
    kinds: tuple[str, ...]
    findings: tuple[str, ...] = ()


@final
@dataclass(frozen=True)
class AwaitingApproval:
    """Nothing was sent: so many more people in ``role`` must say yes to what ``binding`` names."""

    op_id: str
    role: str
    count: int
    binding: str
    findings: tuple[str, ...] = ()


@final
@dataclass(frozen=True)
class RevisionMoved:
    """Nothing was sent: what it acts on is no longer at the revision that evidence and approvals name.

    Plan it anew for the present one; this operation can be executed should its own revision come back.
    """

    op_id: str
    approved: str | None
    present: str | None
    """As read right before the claim; None where there is nothing."""


@final
@dataclass(frozen=True)
class Denied:
    """Nothing was sent."""

    op_id: str
    reason: str
    lasting: bool = True
    """Whether nothing will be either; else a freeze, a limit or a worker's place keeps it from being sent now."""
    until: float | None = None
    """When asking again may help, in seconds since 1970 UTC, where that is known."""


@final
@dataclass(frozen=True)
class InProgress:
    """Another worker has claimed it."""

    op_id: str
    owner: str
    until: float
    """When its lease ends, in seconds since 1970 UTC."""


@final
@dataclass(frozen=True)
class Unknown:
    """Nobody knows whether it happened; ``next_step`` says what can be done."""

    op_id: str
    reason: str
    next_step: str = "reconcile"
    """"reconcile" (again, from ``until`` on), "resolve" (a person decides) or "execute" (another attempt is safe)."""
    until: float | None = None
    version: int = 0
    """What `Ledger.resolve` wants as ``expected_version``."""


@final
@dataclass(frozen=True)
class Refused:
    """The provider definitely did not do it."""

    op_id: str
    code: str
    message: str
    retryable: bool = False


@final
@dataclass(frozen=True)
class Conflicted:
    """What is known contradicts itself: look at the provider."""

    op_id: str
    reason: str


@final
@dataclass(frozen=True)
class Abandoned:
    """A person gave up finding out."""

    op_id: str
    reason: str


Outcome: TypeAlias = (
    Succeeded[R]
    | ResultLost
    | AwaitingEvidence
    | AwaitingApproval
    | RevisionMoved
    | Denied
    | InProgress
    | Unknown
    | Refused
    | Conflicted
    | Abandoned
)
"""How `Ledger.execute` ends."""
