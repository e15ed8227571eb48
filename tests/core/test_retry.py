"""The one retry schedule: which exceptions are tried again, how long after, and which never (rules 182-186)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful.core.errors import (
    ConfigurationError,
    GraphRecursionError,
    NetworkError,
    NodeTimeoutError,
    ParsingError,
    StoreLocked,
    ToolError,
)
from lawful.core.retry import RetryPolicy, default_retry_on, matches, next_delay, policy_for
from lawful.core.signals import ControlSignal, GraphDrained, GraphInterrupt, OutcomeUnknown, ParentCommand

pytestmark = [pytest.mark.unit, pytest.mark.property]


class Response:
    def __init__(self, status_code: int) -> None:
        self.status_code = status_code


class HTTPStatusError(Exception):
    """Shaped as httpx's: an exception with a response."""

    def __init__(self, status: int) -> None:
        super().__init__(str(status))
        self.response = Response(status)


class HTTPError(OSError):
    """Shaped as that of requests, whose response may be missing."""

    response: Response | None = None


HTTPError.__module__ = "requests.exceptions"


def of_requests(status: int | None) -> HTTPError:
    error = HTTPError("http")
    error.response = None if status is None else Response(status)
    return error


class Mine(Exception):
    pass


CURABLE: list[BaseException] = [
    Mine(),
    Exception("x"),
    AssertionError(),
    AttributeError(),
    BufferError(),
    EOFError(),
    MemoryError(),
    ConnectionError(),
    ConnectionResetError(),
    BrokenPipeError(),
    HTTPStatusError(500),
    HTTPStatusError(503),
    HTTPStatusError(599),
    of_requests(502),
    of_requests(None),
    NetworkError("down"),
    NodeTimeoutError("late"),
    StoreLocked("x"),
    ParsingError("x", retryable=True),
]
HOPELESS: list[BaseException] = [
    ValueError(),
    UnicodeDecodeError("utf-8", b"", 0, 1, "x"),
    TypeError(),
    ZeroDivisionError(),
    ImportError(),
    ModuleNotFoundError(),
    KeyError(),
    IndexError(),
    NameError(),
    SyntaxError(),
    RuntimeError(),
    RecursionError(),
    NotImplementedError(),
    ReferenceError(),
    StopIteration(),
    StopAsyncIteration(),
    OSError(),
    FileNotFoundError(),
    TimeoutError(),
    HTTPStatusError(404),
    HTTPStatusError(429),
    HTTPStatusError(600),
    of_requests(400),
    ToolError("x"),
    GraphRecursionError("x"),
    NetworkError("down", retryable=False),
]


@pytest.mark.parametrize("error", CURABLE, ids=lambda error: f"{type(error).__name__}-{error}")
def test_the_default_tries_again(error: BaseException) -> None:
    assert default_retry_on(error)
    assert matches(RetryPolicy(), error)


@pytest.mark.parametrize("error", HOPELESS, ids=lambda error: f"{type(error).__name__}-{error}")
def test_the_default_gives_up(error: BaseException) -> None:
    assert not default_retry_on(error)
    assert not matches(RetryPolicy(), error)


def always(error: Exception) -> bool:
    return True


SIGNALS: list[BaseException] = [
    OutcomeUnknown("op"),
    GraphInterrupt(),
    ParentCommand("x"),
    GraphDrained(),
    ControlSignal(),
    BaseExceptionGroup("g", [ValueError("x"), OutcomeUnknown("op")]),
    asyncio.CancelledError(),
    KeyboardInterrupt(),
    SystemExit(),
    GeneratorExit(),
]


@pytest.mark.parametrize("error", SIGNALS, ids=lambda error: type(error).__name__)
def test_no_policy_retries_a_signal_or_a_cancellation(error: BaseException) -> None:
    """Rows: S0-181."""
    for policy in (RetryPolicy(), RetryPolicy(retry_on=always), RetryPolicy(retry_on=Exception)):
        assert not matches(policy, error)
        assert next_delay(policy, error, 1) is None


def test_the_predicate_is_not_even_asked_about_a_signal() -> None:
    asked: list[Exception] = []

    def ask(error: Exception) -> bool:
        asked.append(error)
        return True

    matches(RetryPolicy(retry_on=ask), OutcomeUnknown("op"))
    assert asked == []


def test_a_group_of_errors_may_be_retried_by_a_predicate() -> None:
    assert matches(RetryPolicy(retry_on=always), ExceptionGroup("g", [ValueError()]))


def test_retry_on_takes_a_class_a_sequence_and_a_predicate() -> None:
    assert matches(RetryPolicy(retry_on=KeyError), KeyError())
    assert matches(RetryPolicy(retry_on=LookupError), KeyError())
    assert not matches(RetryPolicy(retry_on=KeyError), Mine())
    assert matches(RetryPolicy(retry_on=(ValueError, KeyError)), KeyError())
    assert matches(RetryPolicy(retry_on=[ValueError, KeyError]), ValueError())
    assert not matches(RetryPolicy(retry_on=()), Mine())
    assert matches(RetryPolicy(retry_on=lambda error: "again" in str(error)), Mine("again"))
    assert not matches(RetryPolicy(retry_on=lambda error: "again" in str(error)), Mine("no"))


@pytest.mark.parametrize(
    "wrong", ["ValueError", 3, None, int, KeyboardInterrupt, [int], ["ValueError"], (ValueError, 3), {"a": ValueError}]
)
def test_another_retry_on_is_a_type_error(wrong: Any) -> None:
    with pytest.raises(TypeError, match="retry_on must be"):
        RetryPolicy(retry_on=wrong)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("initial_interval", -1),
        ("initial_interval", float("nan")),
        ("initial_interval", "1"),
        ("backoff_factor", float("inf")),
        ("max_interval", True),
        ("max_attempts", 0),
        ("max_attempts", -3),
        ("max_attempts", 1.5),
        ("max_attempts", True),
    ],
)
def test_numbers_out_of_range_are_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=field):
        RetryPolicy(**{field: value})


def test_an_unknown_argument_is_refused() -> None:
    with pytest.raises(TypeError):
        RetryPolicy(max_retries=3)  # pyright: ignore[reportCallIssue]


def test_the_default_schedule() -> None:
    """Rows: S0-181."""
    plain = RetryPolicy(jitter=False)
    assert [plain.delay(n) for n in range(1, 11)] == [0.5, 1, 2, 4, 8, 16, 32, 64, 128, 128]
    assert RetryPolicy().max_attempts == 3
    assert RetryPolicy().delay(1, 0.25) == 0.75
    assert plain.delay(1, 0.25) == 0.5


@given(
    st.floats(0, 1e6),
    st.floats(0, 1e6),
    st.floats(0, 1e6),
    st.integers(1, 10**9),
    st.floats(0, 1, exclude_max=True),
    st.booleans(),
)
def test_a_delay_is_never_negative_nor_longer_than_the_limit_and_a_second(
    initial: float, factor: float, limit: float, attempt: int, chance: float, jitter: bool
) -> None:
    wait = RetryPolicy(initial, factor, limit, jitter=jitter).delay(attempt, chance)
    assert 0 <= wait <= limit + (chance if jitter else 0)


@given(st.floats(1, 10), st.integers(1, 50))
def test_with_a_factor_of_at_least_one_waits_do_not_shrink(factor: float, attempt: int) -> None:
    policy = RetryPolicy(backoff_factor=factor, jitter=False)
    assert policy.delay(attempt) <= policy.delay(attempt + 1)


def test_attempts_are_in_total() -> None:
    """Rows: S0-181."""
    policy = RetryPolicy(max_attempts=3, jitter=False)
    assert [next_delay(policy, Mine(), attempt) for attempt in (1, 2, 3, 4)] == [0.5, 1.0, None, None]
    assert next_delay(RetryPolicy(max_attempts=1), Mine(), 1) is None
    assert next_delay(None, Mine(), 1) is None
    assert next_delay([], Mine(), 1) is None


def test_of_several_policies_the_first_that_matches_counts() -> None:
    keys = RetryPolicy(retry_on=KeyError, max_attempts=2, initial_interval=1, jitter=False)
    lookups = RetryPolicy(retry_on=LookupError, max_attempts=5, initial_interval=9, jitter=False)
    both = [keys, lookups]
    assert policy_for(both, KeyError()) is keys
    assert policy_for(both, IndexError()) is lookups
    assert policy_for(both, Mine()) is None
    assert next_delay(both, KeyError(), 1) == 1
    # The first that matches also ends it: the second policy's further attempts do not count.
    assert next_delay(both, KeyError(), 2) is None
    assert next_delay(both, IndexError(), 2) == 18
