"""What a provider promises about repeats and look-ups, and what an observation therefore lets the ledger conclude."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar, final

from msgspec import Struct

from lawful.core.errors import ConfigurationError

R_co = TypeVar("R_co", covariant=True)
R = TypeVar("R")


def seconds(n: float) -> float:
    """``n`` seconds."""
    return float(n)


def minutes(n: float) -> float:
    """``n`` minutes in seconds."""
    return n * 60.0


def hours(n: float) -> float:
    """``n`` hours in seconds."""
    return n * 3600.0


def days(n: float) -> float:
    """``n`` days in seconds."""
    return n * 86400.0


# What a provider promises


class _Promise(Struct, frozen=True, tag_field="is"):
    def __and__(self, other: Promise | Capability) -> Capability:
        return Capability((self, *_promises(other)))  # pyright: ignore[reportArgumentType]

    @property
    def promises(self) -> tuple[Promise, ...]:
        return (self,)  # pyright: ignore[reportReturnType]


class Pure(_Promise, frozen=True, tag="pure"):
    """Touches nothing outside the program."""


class Read(_Promise, frozen=True, tag="read"):
    """Only observes."""


class Repeatable(_Promise, frozen=True, tag="repeatable"):
    """A repeat costs money and harms nothing: a model call."""


class Natural(_Promise, frozen=True, tag="natural"):
    """Done twice is done once: a put under a chosen id, an absolute value, a write on an expected revision."""


class Keyed(_Promise, frozen=True, tag="keyed"):
    """The provider recognises a repeat by the idempotency key."""

    retention: float
    """Seconds for which it remembers a key."""
    max_in_flight: float
    """Seconds after which a request that has left can no longer arrive."""

    def __post_init__(self) -> None:
        _positive("Keyed", retention=self.retention)
        _not_negative("Keyed", max_in_flight=self.max_in_flight)


class Lookup(_Promise, frozen=True, tag="lookup"):
    """Whether the effect happened can be asked."""

    consistency: Literal["strong", "eventual"] = "eventual"
    lag: float = 0.0
    """Seconds by which an answer may be behind."""
    unique_by: tuple[str, ...] = ()
    """The arguments by which the provider finds the effect."""
    max_in_flight: float | None = None
    """As for `Keyed`; None where nobody knows, and then absence is never final."""

    def __post_init__(self) -> None:
        if self.consistency not in ("strong", "eventual"):
            raise ConfigurationError(
                f"Lookup consistency is 'strong' or 'eventual', not {self.consistency!r}", component="effects"
            )
        _not_negative("Lookup", lag=self.lag, max_in_flight=self.max_in_flight or 0.0)


class Fence(_Promise, frozen=True, tag="fence"):
    """A tombstone can be set under the operation's id, after which the effect can no longer happen."""


class Compensatable(_Promise, frozen=True, tag="compensatable"):
    """Another effect undoes it."""

    undo: str
    """The tool that does."""


class Opaque(_Promise, frozen=True, tag="opaque"):
    """Nothing is promised: after a crash at the wrong moment a person is asked."""

    on_unknown: Literal["operator", "assume_happened", "assume_not"] = "operator"


Promise: TypeAlias = Pure | Read | Repeatable | Natural | Keyed | Lookup | Fence | Compensatable | Opaque


class Capability(Struct, frozen=True):
    """Several promises of one provider, joined by ``&``."""

    promises: tuple[Promise, ...]

    def __post_init__(self) -> None:
        kinds = [type(promise) for promise in self.promises]
        if len(set(kinds)) != len(kinds):
            raise ConfigurationError("a capability names each promise once", component="effects")
        if not kinds or (Opaque in kinds and len(kinds) > 1):
            raise ConfigurationError("Opaque promises nothing, so it stands alone", component="effects")

    def __and__(self, other: Promise | Capability) -> Capability:
        return Capability((*self.promises, *_promises(other)))


def _promises(given: Promise | Capability) -> tuple[Promise, ...]:
    return given.promises


def capability_of(given: Promise | Capability) -> Capability:
    """``given`` as a `Capability`."""
    return given if isinstance(given, Capability) else Capability((given,))


def promise(capability: Capability, kind: type[R]) -> R | None:
    """The promise of class ``kind``, if it was made."""
    for each in capability.promises:
        if isinstance(each, kind):
            return each
    return None


def _positive(what: str, **fields: float) -> None:
    for name, value in fields.items():
        if not value > 0:
            raise ConfigurationError(f"{what}.{name} must be above 0 seconds, not {value}", component="effects")


def _not_negative(what: str, **fields: float) -> None:
    for name, value in fields.items():
        if not value >= 0:
            raise ConfigurationError(f"{what}.{name} must be 0 seconds or more, not {value}", component="effects")


# What was seen


@final
@dataclass(frozen=True)
class Found(Generic[R_co]):
    """The effect is there."""

    receipt: R_co
    others: tuple[R_co, ...] = ()
    """More effects under the same key: the operation was applied more than once."""
    matches: bool = True
    """Whether it has the arguments of this operation."""


class NotFound(Struct, frozen=True):
    """The effect was not seen, which does not say that it will not happen."""

    fenced: bool = False
    """A tombstone is set, so that it can no longer happen."""


class Pending(Struct, frozen=True):
    """The provider is still at it."""

    reason: str = ""


class Unavailable(Struct, frozen=True):
    """Nothing could be seen."""

    reason: str = ""


Seen: TypeAlias = Found[R] | NotFound | Pending | Unavailable
"""What a look-up may report: an observation, never a conclusion."""

# What the ledger concludes

SAME_KEY = "same_key"
"""A repeat is recognised by the provider, or is harmless by nature."""
FINAL_ABSENCE = "final_absence"
"""The effect did not happen and no longer can."""
HARMLESS = "harmless"
"""A repeat does no harm."""
OPERATOR = "operator"
"""A person said that it did not happen."""
ASSUMED = "assumed"
"""The tool's author said what to assume."""


@final
@dataclass(frozen=True)
class Confirm(Generic[R_co]):
    """The effect happened."""

    receipt: R_co | None
    assumed: bool = False
    """Not seen: the author's ``assume_happened``."""


class Grant(Struct, frozen=True):
    """Another attempt may be claimed before ``valid_until`` (None: at any time)."""

    basis: str
    valid_until: float | None = None


class Wait(Struct, frozen=True):
    """Look again, not before ``until``."""

    until: float
    reason: str = ""


class AskOperator(Struct, frozen=True):
    """Only a person can go on from here."""

    reason: str


class Conflict(Struct, frozen=True):
    """The effect was applied more than once."""

    reason: str


Conclusion: TypeAlias = Confirm[Any] | Grant | Wait | AskOperator | Conflict


class History(Struct, frozen=True):
    """What the decision table reads of an operation's past."""

    first_dispatch: float
    """When its first attempt was claimed."""
    last_possible_send: float
    """After this moment no attempt sends any more: the latest send deadline."""
    attempts: int
    max_attempts: int
    send_budget: float
    """Seconds that an attempt has, from its claim, to let the request leave."""
    looks: int = 0
    """Look-ups in a row that brought nothing new."""


MARGIN = 1.0
"""Seconds kept between the end of a key's retention and the last moment at which a repeat may still arrive."""
PATIENCE = 6
"""Fruitless look-ups after which a person is asked where time alone cannot settle it."""


def same_key_until(keyed: Keyed, history: History) -> float:
    """The moment before which a repeat must be claimed for the provider still to recognise it."""
    return history.first_dispatch + keyed.retention - history.send_budget - keyed.max_in_flight - MARGIN


def final_from(capability: Capability, history: History) -> float | None:
    """The moment from which a strong look-up that finds nothing is final, or None if none ever is."""
    look, keyed = promise(capability, Lookup), promise(capability, Keyed)
    if look is None or look.consistency != "strong":
        return None
    bounds = [b for b in (look.max_in_flight, keyed.max_in_flight if keyed is not None else None) if b is not None]
    return history.last_possible_send + max(bounds) + look.lag if bounds else None


def conclude(capability: Capability, history: History, seen: Seen[Any] | None, now: float) -> Conclusion:
    """What may be done about an operation whose outcome is unknown.

    ``seen`` is the newest observation, None where nothing can be looked up; ``now`` is when it was asked for, in the
    store's seconds. Only this function turns an observation into permission (design: the decision table).
    """
    match seen:
        case Found(others=(_, *_)):
            return Conflict("the look-up found more than one effect under this operation's key")
        case Found(matches=False):
            return AskOperator("the look-up found an effect with other arguments under this operation's key")
        case Found(receipt=receipt):
            return Confirm(receipt)
        case Pending(reason):
            return Wait(_later(history, now), reason or "the provider is still at it")
        case NotFound() | Unavailable() | None:
            return _unseen(capability, history, seen, now)


def _unseen(capability: Capability, history: History, seen: NotFound | Unavailable | None, now: float) -> Conclusion:
    kinds = {type(each) for each in capability.promises}
    if kinds & {Pure, Read, Repeatable}:
        return _grant(history, HARMLESS)
    if Natural in kinds:
        return _grant(history, SAME_KEY)
    keyed = promise(capability, Keyed)
    if keyed is not None and now < same_key_until(keyed, history):
        return _grant(history, SAME_KEY, same_key_until(keyed, history))
    if seen is not None and (keyed is not None or Lookup in kinds or seen == NotFound(fenced=True)):
        return _without_key(capability, history, seen, now)
    if keyed is not None:
        return AskOperator("the provider no longer remembers the key, and nothing can be looked up")
    opaque = promise(capability, Opaque)
    if opaque is not None and opaque.on_unknown == "assume_happened":
        return Confirm(None, assumed=True)
    if opaque is not None and opaque.on_unknown == "assume_not":
        return _grant(history, ASSUMED)
    return AskOperator("the provider promises neither look-up nor key: nobody but you can find out")


def _without_key(capability: Capability, history: History, seen: NotFound | Unavailable, now: float) -> Conclusion:
    """Where no repeat is recognised: only final absence permits one."""
    final = final_from(capability, history)
    if isinstance(seen, NotFound):
        if seen.fenced or (final is not None and now > final):
            return _grant(history, FINAL_ABSENCE)
        if final is not None:
            return Wait(max(final + MARGIN, now + MARGIN), "not seen yet, and it may still arrive")
        why = "not seen, and no declared bound makes that final"
    else:
        why = f"the look-up is unavailable: {seen.reason}" if seen.reason else "the look-up is unavailable"
    if history.looks >= PATIENCE:
        return AskOperator(why)
    return Wait(_later(history, now), why)


def _grant(history: History, basis: str, valid_until: float | None = None) -> Conclusion:
    if history.attempts >= history.max_attempts:
        return AskOperator(f"all {history.max_attempts} attempts are used up")
    return Grant(basis, valid_until)


def _later(history: History, now: float) -> float:
    """Seconds between fruitless look-ups double from 1 to 60."""
    return now + min(60.0, 2.0 ** min(history.looks, 6))
