"""Evidence and approvals: what they are bound to, and when they count."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from lawful.core.questions import Principal
from lawful.effects.digests import digest
from lawful.effects.intents import IntentRecord


class Revision(Struct, frozen=True):
    """The exact state of the thing that is acted on, named by a hash of its content."""

    hash: str

    @staticmethod
    def of(content: Any) -> Revision:
        """The revision of some JSON content. Raises: ValidationError, if it is not JSON."""
        return Revision(digest("revision", content))

    def __str__(self) -> str:
        return self.hash


class Evidence(Struct, frozen=True):
    """What somebody observed about one revision."""

    id: str
    kind: str
    """"tests", "security"...: what a policy asks for by name."""
    revision: str
    verdict: bool
    issuer: str
    issued_at: float
    """Seconds since 1970 UTC."""
    valid_until: float | None = None
    """The first second at which it no longer counts; None for "as long as the revision stands"."""
    digest: str = ""
    """Of the recorded observation."""
    signature: str = ""


class Approval(Struct, frozen=True):
    """Someone's yes (or no) to exactly one operation on exactly one revision."""

    id: str
    binding: str
    """`binding` of the intent that was shown to the approver."""
    approver: Principal
    role: str = ""
    """The role in which the approver decided; "" counts for every role the approver has."""
    granted: bool = True
    granted_at: float = 0.0
    expires_at: float | None = None
    """The first second at which it no longer counts."""
    max_uses: int = 1
    revoked_at: float | None = None
    """From this second on it does not count."""

    @staticmethod
    def of(
        intent: IntentRecord,
        approver: Principal,
        *,
        at: float,
        role: str = "",
        granted: bool = True,
        expires_at: float | None = None,
        max_uses: int = 1,
    ) -> Approval:
        """An approval of ``intent`` by ``approver``, whose id follows from what it says."""
        bound = binding(intent)
        name = digest("approval", [bound, approver.id, role, granted, at])[:32]
        return Approval(name, bound, approver, role, granted, at, expires_at, max_uses)


def binding(intent: IntentRecord) -> str:
    """What an approval is bound to: operation, tool, version, arguments, revision and policy."""
    return digest(
        "binding",
        [
            intent.op_id,
            intent.tool,
            intent.tool_version,
            intent.args_hash,
            intent.revision,
            intent.policy_hash,
        ],
    )


def evidence_stale(evidence: Evidence, intent: IntentRecord, now: float) -> str | None:
    """Why ``evidence`` does not count for ``intent`` at ``now``, or None if it does."""
    if evidence.revision != (intent.revision or ""):
        return f"{evidence.kind} {evidence.id} is about revision {evidence.revision}, not {intent.revision}"
    if evidence.issued_at > now:
        return f"{evidence.kind} {evidence.id} is dated in the future"
    if evidence.valid_until is not None and now >= evidence.valid_until:
        return f"{evidence.kind} {evidence.id} expired"
    return None


def approval_stale(approval: Approval, intent: IntentRecord, now: float) -> str | None:
    """Why ``approval`` does not count for ``intent`` at ``now``, or None if it does; uses are not its matter."""
    if approval.binding != binding(intent):
        return f"approval {approval.id} is bound to another operation, revision, arguments or policy"
    if approval.revoked_at is not None and now >= approval.revoked_at:
        return f"approval {approval.id} was revoked"
    if approval.expires_at is not None and now >= approval.expires_at:
        return f"approval {approval.id} expired"
    if approval.granted_at > now:
        return f"approval {approval.id} is dated in the future"
    return None


def signed(evidence: Evidence, key: bytes) -> Evidence:
    """``evidence`` with a signature (HMAC-SHA256) over all that it says, by whoever holds ``key``."""
    return replace(evidence, signature=_signature(evidence, key))


def genuine(evidence: Evidence, key: bytes) -> bool:
    """Whether its signature was made with ``key`` over exactly what it says."""
    return hmac.compare_digest(evidence.signature, _signature(evidence, key))


def _signature(evidence: Evidence, key: bytes) -> str:
    said = [getattr(evidence, name) for name in evidence.__struct_fields__ if name != "signature"]
    return hmac.new(key, digest("evidence", said).encode(), hashlib.sha256).hexdigest()


def newest(evidence: Iterable[Evidence], kind: str) -> Evidence | None:
    """The latest observation of ``kind``; of two equally late ones the later recorded."""
    last: Evidence | None = None
    for each in evidence:
        if each.kind == kind and (last is None or each.issued_at >= last.issued_at):
            last = each
    return last
