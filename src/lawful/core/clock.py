"""Time, ids and randomness as one port, so that a test or a replay can pin them."""

from __future__ import annotations

import os
import random
import time
from typing import Protocol


class Clock(Protocol):
    """Where a run takes time, ids and chance from."""

    def now(self) -> float:
        """Seconds since 1970-01-01 UTC; may jump when the machine's clock is set."""
        ...

    def monotonic(self) -> float:
        """Seconds that only grow, for deadlines and delays within one process."""
        ...

    def token(self) -> str:
        """A fresh id of 32 hex digits."""
        ...

    def random(self) -> float:
        """A number in [0, 1), for jitter."""
        ...


_chance = random.Random()  # not the global generator: a program that seeds that one would repeat ids over processes
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_chance.seed)


class SystemClock:
    """The machine's own clock and generators."""

    __slots__ = ()

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def token(self) -> str:
        return f"{_chance.getrandbits(128):032x}"

    def random(self) -> float:
        return _chance.random()


class FixedClock:
    """A clock that moves only when told, whose ids count up and whose chance is constant.

    For tests: ``clock.advance(30)`` makes half a minute pass.
    """

    __slots__ = ("_chance", "_count", "_now")

    def __init__(self, now: float = 1_000_000.0, chance: float = 0.5) -> None:
        self._now = now
        self._chance = chance
        self._count = 0

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._now

    def token(self) -> str:
        self._count += 1
        return f"{self._count:032x}"

    def random(self) -> float:
        return self._chance

    def advance(self, seconds: float) -> None:
        """Let ``seconds`` pass; negative values set the clock back."""
        self._now += seconds


SYSTEM: Clock = SystemClock()
"""The clock that is used where none is given."""
