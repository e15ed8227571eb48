"""What a policy may say, and several of its sayings as one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from msgspec import Struct

from lawful.core.errors import ConfigurationError


class Decision(Struct, frozen=True, tag_field="is"):
    """What a policy says; one of `Allowed`, `NeedsEvidence`, `NeedsApproval`, `Limited`, `Denied`."""

    @staticmethod
    def allow() -> Allowed:
        """Nothing stands against it."""
        return Allowed()

    @staticmethod
    def refuse(reason: str) -> Denied:
        """No, whoever approves."""
        return Denied(reason)

    @staticmethod
    def not_now(reason: str, until: float | None = None) -> Limited:
        """Not now, whoever approves; ``until`` is when asking again may help, in seconds since 1970 UTC."""
        return Limited(reason, until)

    @staticmethod
    def needs_evidence(*kinds: str) -> NeedsEvidence:
        """Not before evidence of these kinds is there."""
        return NeedsEvidence(kinds)

    @staticmethod
    def needs_approval(role: str = "", count: int = 1) -> NeedsApproval:
        """Not before so many people in ``role`` have said yes."""
        return NeedsApproval(role, count)


class Allowed(Decision, frozen=True, tag="allowed"):
    """Yes, on the strength of the approvals named."""

    approvals: tuple[str, ...] = ()


class NeedsEvidence(Decision, frozen=True, tag="needs_evidence"):
    kinds: tuple[str, ...]


class NeedsApproval(Decision, frozen=True, tag="needs_approval"):
    role: str = ""
    count: int = 1
    """How many more are needed."""


class Limited(Decision, frozen=True, tag="limited"):
    """A limit is reached: the operation waits, and is not given up."""

    reason: str
    until: float | None = None


class Denied(Decision, frozen=True, tag="denied"):
    reason: str


Verdict: TypeAlias = Allowed | NeedsEvidence | NeedsApproval | Limited | Denied


def verdict(decision: Decision) -> Verdict:
    """``decision`` as the closed union. Raises: ConfigurationError for anything else."""
    match decision:
        case Allowed() | NeedsEvidence() | NeedsApproval() | Limited() | Denied():
            return decision
        case _:
            raise ConfigurationError(
                f"a policy gave {decision!r}; use Decision.allow(), .refuse(), .not_now(), .needs_evidence() or"
                " .needs_approval()",
                component="policy",
            )


def joined(verdicts: Iterable[Verdict]) -> Verdict:
    """Several verdicts as one."""
    kinds: list[str] = []
    waiting: NeedsApproval | None = None
    limited: Limited | None = None
    used: list[str] = []
    for each in verdicts:
        match each:
            case Denied():
                return each
            case Limited():
                limited = limited or each
            case NeedsEvidence(wanted):
                kinds += [kind for kind in wanted if kind not in kinds]
            case NeedsApproval():
                waiting = waiting or each
            case Allowed(approvals):
                used += [name for name in approvals if name not in used]
    if limited is not None:
        return limited
    if kinds:
        return NeedsEvidence(tuple(kinds))
    return waiting if waiting is not None else Allowed(tuple(used))
