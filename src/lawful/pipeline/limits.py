"""A token bucket: how long the next call has to wait so that a rate is kept; it knows the clock and never sleeps."""

from __future__ import annotations

import sys
import threading
from typing import final

from lawful.core.clock import SYSTEM, Clock
from lawful.core.errors import ConfigurationError


@final
class RateLimiter:
    """``rate`` calls (or units of cost) every ``per`` seconds, up to ``burst`` at once; shared, and safe in threads.

    ``max_wait`` is how many seconds a call may be made to wait; one that would wait longer is refused. None: no bound.

    Raises: ConfigurationError, for a number out of range.
    """

    def __init__(
        self,
        rate: float,
        *,
        per: float = 1.0,
        burst: float | None = None,
        max_wait: float | None = None,
        component_id: str = "",
        clock: Clock = SYSTEM,
    ) -> None:
        size = max(1.0, rate) if burst is None else burst
        for name, value in (("rate", rate), ("per", per), ("burst", size)):
            if not 0 < value <= sys.float_info.max:
                raise _refuse(name, value, "a finite number above 0")
        if max_wait is not None and not max_wait >= 0:
            raise _refuse("max_wait", max_wait, "a number of seconds, or None")
        self.component_id = component_id
        """The name by which JSON knows it."""
        self._speed = rate / per
        self._size = size
        self._max_wait = max_wait
        self._clock = clock
        self._lock = threading.Lock()
        self._tokens = size
        self._at = clock.monotonic()

    def reserve(self, cost: float = 1.0) -> float | None:
        """Take ``cost`` now and give the seconds to wait before using it; None, with nothing taken, beyond ``max_wait``.

        Raises: ConfigurationError, with nothing taken, for a cost that is no finite number or negative.
        """
        if not 0 <= cost <= sys.float_info.max:
            raise _refuse("cost", cost, "a finite number, not negative")
        with self._lock:
            now = self._clock.monotonic()
            self._tokens = min(self._size, self._tokens + (now - self._at) * self._speed)
            self._at = now
            wait = max(0.0, (cost - self._tokens) / self._speed)
            if self._max_wait is not None and wait > self._max_wait:
                return None
            self._tokens -= cost
            return wait

    def give_back(self, cost: float = 1.0) -> None:
        """Return what was reserved and not used."""
        with self._lock:
            self._tokens = min(self._size, self._tokens + cost)


def _refuse(name: str, value: object, need: str) -> ConfigurationError:
    return ConfigurationError(
        f"RateLimiter: {name} must be {need}, not {value!r:.80}",
        component="pipeline",
        operation="rate_limit",
        details={"field": name},
    )
