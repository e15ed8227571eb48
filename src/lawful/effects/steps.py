"""What the ledger's generators yield (work on the store, a call, a look-up), and what they work with."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar, final

from lawful.core.clock import Clock
from lawful.effects.contract import EffectContext, Intent
from lawful.effects.moves import Claimant
from lawful.effects.policy import OPEN, Policy
from lawful.effects.replies import Ended
from lawful.effects.spool import Spool, spool_of
from lawful.journal.port import Journal

C = TypeVar("C")
R = TypeVar("R")


@final
@dataclass(frozen=True)
class Do:
    """Work on the store: short, never to be broken off half-way."""

    work: Callable[[], Any]
    retry: bool = False
    """An outcome: worth several tries where the store is in trouble."""


@final
@dataclass(frozen=True)
class Call(Generic[C, R]):
    """Perform the effect; wants an `Ended`."""

    intent: Intent[C, R]
    ctx: EffectContext
    late: Callable[[Ended], object]
    """Takes the reply that comes after the driver has given up waiting."""


@final
@dataclass(frozen=True)
class Look(Generic[C, R]):
    """Look the effect up; wants what was seen, an error being `Unavailable`."""

    intent: Intent[C, R]
    ctx: EffectContext
    at: Literal["effect", "fence", "revision"] = "effect"
    """"fence": fence earlier attempts off first; "revision": read the target's present one, as `Found`."""


Step: TypeAlias = Do | Call[Any, Any] | Look[Any, Any]
Steps: TypeAlias = Generator[Step, Any, R]


class Kit:
    """What performing needs: the journal, the clock, the policy, who claims, and whether that one may perform at all."""

    __slots__ = ("claimant", "clock", "journal", "performs", "policy", "spool")

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        policy: Policy | None,
        claimant: Callable[[], Claimant],
        *,
        performs: bool = True,
        spool: Spool | None = None,
    ) -> None:
        self.journal = journal
        self.clock = clock
        self.policy = policy
        self.claimant = claimant
        self.performs = performs
        self.spool = spool if spool is not None else spool_of(journal)

    def rules(self, intent: Intent[Any, Any]) -> Policy:
        """The effect's policy and the ledger's, both."""
        own = intent.effect.rules
        if own is None:
            return self.policy if self.policy is not None else OPEN
        return own.joined_with(self.policy)
