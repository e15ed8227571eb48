"""What a tool declares of itself: what it reads, what it lets in, what it sends out, and how much can go wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

from msgspec import Struct

Reliability: TypeAlias = Literal["VERIFIED", "INDICATIVE", "INFORMATIONAL"]
"""Checked against its origin; likely, but unchecked; to be known of and not to be built on."""
Risk: TypeAlias = Literal["low", "medium", "high"]
"""How bad a wrong call may be; "high" needs a person's yes for each call."""


class Traits(Struct, frozen=True, kw_only=True):
    """A tool's declared capabilities. Gates and the static check read these flags, never the tool's name."""

    reads_private: bool = False
    """Its results may hold what only the user may see."""
    ingests_external: bool = False
    """Its results come from outside, so that they are data and never instructions."""
    sends_out: bool = False
    """What it is given may leave the house: mail, web requests, public comments."""
    pure_read: bool = False
    """It only reads, and two calls with the same arguments in one turn may share one answer."""
    effect: bool = False
    """It changes the world, through the effect ledger."""
    declared: bool = True
    """False: nobody said what it does (a bare tool whose name tells of a change, a tool of an untrusted server)."""
    risk: Risk = "medium"
    stays_inside: bool = False
    """Of an effect: nothing that it is given leaves the house. Any other effect counts as a way out."""
    reliability: Reliability | None = None
    """How far its results can be relied on; a result that is `Rated` says it for itself."""

    @property
    def outward(self) -> bool:
        """Whether words that it is given may reach outsiders."""
        return self.sends_out or (self.effect and not self.stays_inside)


def united(many: Iterable[Traits]) -> Traits:
    """What something is that may use tools of these traits: an agent that is itself a tool."""
    all_ = list(many)
    return Traits(
        reads_private=any(one.reads_private for one in all_),
        ingests_external=any(one.ingests_external for one in all_),
        sends_out=any(one.outward for one in all_),
        declared=all(one.declared for one in all_),
    )


_CHANGES: Final = frozenset({
    "send", "create", "delete", "remove", "pay", "buy", "order", "book", "cancel", "transfer", "refund", "charge",
    "write", "update", "insert", "drop", "post", "publish", "deploy", "merge", "push", "commit", "approve", "grant",
    "revoke", "move", "rename", "upload", "execute", "run", "install", "email", "mail", "invite", "subscribe",
})  # fmt: skip


def telling_word(name: str) -> str | None:
    """The word of a tool's name that tells of a change to the world (``send_mail`` -> "send"), or None."""
    words = re.findall(r"[a-z]+", re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower())
    return next((word for word in words[:1] if word in _CHANGES), None)
