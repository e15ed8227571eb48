"""A circuit breaker: closed, open after failures in a row, half open for one probe at a time; it knows the clock and no I/O."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, Literal, TypeAlias, final

from lawful.core.clock import SYSTEM, Clock
from lawful.core.errors import ConfigurationError
from lawful.core.retry import default_retry_on

CircuitState: TypeAlias = Literal["closed", "open", "half_open"]


@final
class Permit:
    """One call that was let through."""

    __slots__ = ("generation", "probe")

    def __init__(self, generation: int, probe: bool) -> None:
        self.generation = generation
        self.probe = probe


@final
class CircuitBreaker:
    """The state of one dependency, shared by every `breaker` that is given it; safe in threads.

    ``failures`` errors in a row open it. After ``reset`` seconds one call is let through as a probe: ``successes`` good
    ones in a row close it, a bad one opens it again. Which errors tell that the dependency is down, ``counts`` says; by
    default those that another try may cure. Any other error is an answer, so it counts as a success.

    Raises: ConfigurationError, for a number out of range.
    """

    def __init__(
        self,
        component_id: str = "",
        *,
        failures: int = 5,
        reset: float = 30.0,
        successes: int = 1,
        counts: Callable[[Exception], bool] = default_retry_on,
        clock: Clock = SYSTEM,
    ) -> None:
        for name, value, good in (
            ("failures", failures, failures >= 1),
            ("reset", reset, 0 <= reset <= sys.float_info.max),
            ("successes", successes, successes >= 1),
        ):
            if not good:
                raise _refuse(name, value, "finite and not negative" if name == "reset" else "at least 1")
        self.component_id = component_id
        """The name by which JSON knows it."""
        self._failures, self._reset, self._successes = failures, reset, successes
        self._counts = counts
        self._clock = clock
        self._lock = threading.Lock()
        self._state: CircuitState = "closed"
        self._generation = 0
        self._run = 0
        """Failures in a row while closed, successes in a row while half open."""
        self._probing = False
        self._opened = 0.0

    @property
    def state(self) -> CircuitState:
        """As of now: an open circuit whose time is over is still "open" until a call comes."""
        return self._state

    def enter(self) -> Permit | float:
        """Leave for a call, to be given back by `leave` or `abandon`; or the seconds until the next try."""
        with self._lock:
            if self._state == "closed":
                return Permit(self._generation, False)
            if self._state == "open":
                wait = self._opened + self._reset - self._clock.monotonic()
                if wait > 0:
                    return float(wait)
                self._become("half_open")
            if self._probing:
                return 0.0
            self._probing = True
            return Permit(self._generation, True)

    def leave(self, permit: Permit, error: Exception | None = None) -> None:
        """The call is over. What began before the state last changed tells nothing about it now.

        Raises: what ``counts`` raises; the call then tells nothing.
        """
        try:
            bad = error is not None and self._counts(error)
        except BaseException:
            self.abandon(permit)
            raise
        with self._lock:
            if permit.generation != self._generation:
                return
            if self._state == "closed":
                self._run = self._run + 1 if bad else 0
                if self._run >= self._failures:
                    self._become("open")
            elif bad:
                self._become("open")
            else:
                self._probing = False
                self._run += 1
                if self._run >= self._successes:
                    self._become("closed")

    def abandon(self, permit: Permit) -> None:
        """The call ended in a way that tells nothing: it was cancelled, asked a question, or hit a bug."""
        with self._lock:
            if permit.probe and permit.generation == self._generation:
                self._probing = False

    def _become(self, state: CircuitState) -> None:
        self._state = state
        self._generation += 1
        self._run = 0
        self._probing = False
        if state == "open":
            self._opened = self._clock.monotonic()


def _refuse(name: str, value: Any, need: str) -> ConfigurationError:
    return ConfigurationError(
        f"CircuitBreaker: {name} must be {need}, not {value!r:.80}",
        component="pipeline",
        operation="breaker",
        details={"field": name},
    )
