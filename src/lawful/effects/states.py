"""Where an operation can stand, and the facts it stands on."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct

from lawful.effects.evidence import Approval, Evidence
from lawful.effects.intents import IntentRecord


class Receipt(Struct, frozen=True):
    """That the effect happened, and how that is known."""

    id: str
    """What tells one effect from another at the provider; "" where nothing does."""
    source: Literal["reply", "late_reply", "lookup", "operator", "assumed"]
    value: Any = None
    """The provider's answer as JSON."""
    result_lost: bool = False
    """The answer could not be written down; that it happened is known all the same."""


class Attempt(Struct, frozen=True):
    """One claim, and what has become of it."""

    fence: int
    owner: str
    claimed_at: float
    lease_until: float
    send_deadline: float
    """After this moment it does not send any more."""
    quarantine: str = ""
    """Not ours: it stands for what may have happened after the copy was made that the journal was restored from."""
    ended: Literal["", "lost", "nothing", "absent"] = ""
    """"lost": its reply was; "nothing": it definitely had no effect; "absent": nor does the provider know its key."""


class Facts(Struct, frozen=True):
    """All that is known about an operation; it only grows."""

    intent: IntentRecord
    version: int
    """How many events there are."""
    evidence: tuple[Evidence, ...] = ()
    approvals: tuple[Approval, ...] = ()
    consumed: tuple[str, ...] = ()
    """Ids of approvals that claims have used, one entry a use."""
    attempts: tuple[Attempt, ...] = ()
    lineages: tuple[str, ...] = ()
    """Other lineages that take part in it."""
    looks: int = 0
    """Look-ups since the last claim."""
    seen: str = ""
    """What the newest of them reported, in words."""
    lost: str = ""
    """Why its authority was lost since the last claim; "" where it was not."""

    @property
    def op_id(self) -> str:
        return self.intent.op_id

    @property
    def fence(self) -> int:
        return self.attempts[-1].fence if self.attempts else 0

    @property
    def unresolved(self) -> tuple[Attempt, ...]:
        """Attempts that may have had an effect."""
        return tuple(attempt for attempt in self.attempts if attempt.ended in ("", "lost"))


class Unplanned(Struct, frozen=True):
    """Nothing is known yet: where every operation starts."""


class _Standing(Struct, frozen=True):
    facts: Facts


class Planned(_Standing, frozen=True):
    """The intent is written down; it waits for authority."""


class Permitted(_Standing, frozen=True):
    """The policy has allowed it; it waits for its claim, which asks the policy again."""

    basis: str = ""


class InFlight(_Standing, frozen=True):
    """Claimed: the newest attempt may have sent its request."""


class Unknown(_Standing, frozen=True):
    """Nobody knows whether the effect happened."""

    cause: str = ""


class Granted(_Standing, frozen=True):
    """Another attempt is safe, until ``valid_until`` (None: at any time)."""

    basis: str = ""
    valid_until: float | None = None


class Refused(_Standing, frozen=True):
    """The provider definitely did not do it."""

    code: str = ""
    message: str = ""
    retryable: bool = False


class Succeeded(_Standing, frozen=True):
    """It happened once."""

    receipt: Receipt


class Failed(_Standing, frozen=True):
    """It did not happen and will not be tried again."""

    code: str = ""
    message: str = ""


class Cancelled(_Standing, frozen=True):
    """Given up before anything was sent."""

    reason: str = ""
    denied: bool = False
    """A policy said no; otherwise somebody withdrew it."""


class Abandoned(_Standing, frozen=True):
    """A person gave up finding out."""

    reason: str = ""


class Conflicted(_Standing, frozen=True):
    """What is known contradicts itself: two different receipts, or one for what was said not to have happened."""

    receipts: tuple[Receipt, ...] = ()
    reason: str = ""


State: TypeAlias = (
    Unplanned
    | Planned
    | Permitted
    | InFlight
    | Unknown
    | Granted
    | Refused
    | Succeeded
    | Failed
    | Cancelled
    | Abandoned
    | Conflicted
)

TERMINAL = (Succeeded, Failed, Cancelled, Abandoned, Conflicted)
OPEN: tuple[str, ...] = ("InFlight", "Unknown", "Granted")
"""States in which the effect may have happened unseen."""


def name_of(state: State) -> str:
    """The state's name, as listings and stores show it."""
    return type(state).__name__
