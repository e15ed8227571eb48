"""The one retry schedule: which exceptions another try may cure, and how long to wait before it; pure, it never sleeps."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, cast

from msgspec import Struct

from lawful.core.errors import ConfigurationError
from lawful.core.failure import Failure
from lawful.core.signals import find_signal

RetryOn: TypeAlias = type[Exception] | Sequence[type[Exception]] | Callable[[Exception], bool]

_HOPELESS = (
    ValueError,
    TypeError,
    ArithmeticError,
    ImportError,
    LookupError,
    NameError,
    SyntaxError,
    RuntimeError,
    ReferenceError,
    StopIteration,
    StopAsyncIteration,
    OSError,
)
"""Another try with the same arguments does not cure these; ConnectionError, an OSError, is the exception."""


def default_retry_on(error: BaseException) -> bool:
    """Whether another try may help.

    A Failure says so itself (``retryable``). Of HTTP errors with a response (httpx, requests) those with a status of
    500 to 599. Of all others every exception but the built-in ones that tell of a wrong program or machine.
    """
    if isinstance(error, Failure):
        return error.retryable
    if isinstance(error, ConnectionError):
        return True
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None)
    if isinstance(status, int):
        return 500 <= status < 600
    if response is None and _is_requests_http_error(error):
        return True
    return not isinstance(error, _HOPELESS)


def _is_requests_http_error(error: BaseException) -> bool:
    """Known by its name: that library is not ours to import."""
    return any(
        kind.__name__ == "HTTPError" and kind.__module__ == "requests.exceptions" for kind in type(error).__mro__
    )


class RetryPolicy(Struct, frozen=True):
    """How often and how soon to try again; the names and defaults are LangGraph's.

    Raises: TypeError if ``retry_on`` is none of its forms; ConfigurationError for a number out of range.
    """

    initial_interval: float = 0.5
    """Seconds before the second attempt."""
    backoff_factor: float = 2.0
    """What the wait is multiplied with from one attempt to the next."""
    max_interval: float = 128.0
    """Seconds; no wait is longer, jitter aside."""
    max_attempts: int = 3
    """Attempts in total, the first included."""
    jitter: bool = True
    """Whether up to one second is added by chance, so that many who failed together do not return together."""
    retry_on: RetryOn = default_retry_on
    """An exception class, a sequence of classes, or a predicate."""

    def __post_init__(self) -> None:
        for name in ("initial_interval", "backoff_factor", "max_interval"):
            value: object = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= sys.float_info.max:
                raise _refuse(name, value, "a finite number, not negative")
        attempts: Any = self.max_attempts
        if isinstance(attempts, bool) or not isinstance(attempts, int) or attempts < 1:
            raise _refuse("max_attempts", attempts, "an int of at least 1")
        _classes(self.retry_on)

    def delay(self, attempt: int, chance: float = 0.0) -> float:
        """Seconds to wait after the failure of attempt number ``attempt`` (1, 2...).

        ``chance`` in [0, 1) is the clock's random number; without jitter it does not count.
        """
        try:
            wait = min(self.max_interval, self.initial_interval * float(self.backoff_factor) ** (attempt - 1))
        except OverflowError:
            wait = self.max_interval if self.initial_interval else 0.0
        return wait + chance if self.jitter else wait


def matches(policy: RetryPolicy, error: BaseException) -> bool:
    """Whether ``policy`` retries ``error``.

    Never a control signal, alone or in a group, and never what is not an Exception (cancellation, KeyboardInterrupt).
    """
    if not isinstance(error, Exception) or find_signal(error) is not None:
        return False
    classes = _classes(policy.retry_on)
    if classes is not None:
        return isinstance(error, classes)
    return bool(cast("Callable[[Exception], bool]", policy.retry_on)(error))


def policy_for(policies: RetryPolicy | Iterable[RetryPolicy] | None, error: BaseException) -> RetryPolicy | None:
    """Of several policies the first that matches ``error``; None if none does."""
    if policies is None:
        return None
    given = (policies,) if isinstance(policies, RetryPolicy) else policies
    return next((policy for policy in given if matches(policy, error)), None)


def next_delay(
    policies: RetryPolicy | Iterable[RetryPolicy] | None, error: BaseException, attempt: int, chance: float = 0.0
) -> float | None:
    """Seconds to wait after attempt number ``attempt`` (1, 2...) of a task failed with ``error``; None: give up.

    Never less than the other side asked for.
    """
    policy = policy_for(policies, error)
    if policy is None or attempt >= policy.max_attempts:
        return None
    return max(policy.delay(attempt, chance), retry_after(error) or 0.0)


def retry_after(error: BaseException) -> float | None:
    """The seconds that the other side asked us to wait, as a Failure's ``details`` tell them under "retry_after"."""
    told = error.details.get("retry_after") if isinstance(error, Failure) else None
    try:
        wait = float(told) if told else None
    except ValueError:
        return None
    return wait if wait is not None and 0 <= wait < math.inf else None


def _classes(retry_on: Any) -> tuple[type[Exception], ...] | None:
    """The classes that ``retry_on`` names; None if it is a predicate."""
    if isinstance(retry_on, type):
        if issubclass(retry_on, Exception):
            return (retry_on,)
    elif isinstance(retry_on, Sequence) and not isinstance(retry_on, str | bytes):
        classes = tuple(cast("Sequence[Any]", retry_on))
        if all(isinstance(kind, type) and issubclass(kind, Exception) for kind in classes):
            return classes
    elif callable(retry_on):
        return None
    raise TypeError(
        f"retry_on must be an Exception class, a sequence of them, or a function of an exception, not {retry_on!r}"
    )


def _refuse(name: str, value: object, need: str) -> ConfigurationError:
    return ConfigurationError(
        f"RetryPolicy: {name} must be {need}, not {value!r}", component="retry", operation=name, details={"field": name}
    )
