"""Result: the laws of functor, applicative and monad on values and on errors, and what stops at the first error."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful.core.errors import Failure, NetworkError, ParsingError, ToolError
from lawful.core.laws import applicative_laws, counterexamples, functor_laws, monad_laws
from lawful.core.result import Err, Ok, Result, attempt, collect, is_ok
from lawful.testing.laws import LawBroken, check_equations
from lawful.testing.strategies import failures, results

pytestmark = [pytest.mark.unit, pytest.mark.property]

Outcome = Result[int, Failure]


def _map(m: Outcome, f: Callable[[int], Any]) -> Any:
    return m.map(f)


def _bind(m: Outcome, k: Callable[[int], Any]) -> Any:
    return m.bind(k)


def _ap(u: Any, m: Any) -> Any:
    return u.ap(m)


def _half(n: int) -> Outcome:
    return Ok(n // 2) if n % 2 == 0 else Err(ParsingError(f"{n} is odd"))


def _below_ten(n: int) -> Outcome:
    return Ok(n) if n < 10 else Err(ToolError(f"{n} is too much", retryable=True))


FUNCTIONS: list[Callable[[int], int]] = [lambda n: n + 1, lambda n: n * 3, lambda n: 0]
STEPS: list[Callable[[int], Outcome]] = [_half, _below_ten, lambda n: Ok(n - 1), lambda n: Err(NetworkError("down"))]
WRAPPED: st.SearchStrategy[Any] = st.sampled_from(FUNCTIONS).map(lambda f: Ok(f)) | failures(0).map(lambda e: Err(e))
SORTS: dict[str, st.SearchStrategy[Any]] = {
    "a": st.integers(-20, 20),
    "m": results(st.integers(-20, 20)),
    "f": st.sampled_from(FUNCTIONS),
    "k": st.sampled_from(STEPS),
    "u": WRAPPED,
}


def test_functor_laws() -> None:
    """Rows: S2-008."""
    check_equations("Result", functor_laws(_map), SORTS)


def test_applicative_laws() -> None:
    """Rows: S2-008."""
    check_equations("Result", applicative_laws(Ok, _ap), SORTS)


def test_monad_laws() -> None:
    """Rows: S2-008."""
    check_equations("Result", monad_laws(Ok, _bind), SORTS)


def test_a_bind_that_forgets_the_error_breaks_a_law() -> None:
    """Rows: S2-008."""

    def forgetful(m: Outcome, k: Callable[[int], Any]) -> Any:
        return m.bind(k) if is_ok(m) else Ok(0)

    with pytest.raises(LawBroken, match="right identity"):
        check_equations("forgetful", monad_laws(Ok, forgetful), SORTS)


def test_monad_laws_on_named_cases() -> None:
    samples: dict[str, list[Any]] = {
        "a": [0, 1, 9, 10, 16],
        "m": [Ok(0), Ok(7), Ok(20), Err(ParsingError("no")), Err(NetworkError("no"))],
        "k": list(STEPS),
    }
    for law in monad_laws(Ok, _bind):
        assert list(counterexamples(law, samples)) == []


def test_bind_and_map_agree() -> None:
    for m in (Ok(3), Err(ParsingError("x"))):
        assert m.map(FUNCTIONS[0]) == m.bind(lambda n: Ok(FUNCTIONS[0](n)))


@given(failures(0))
def test_a_failed_result_skips_its_continuation(error: Failure) -> None:
    """Rows: S2-010."""
    calls: list[object] = []
    failed: Outcome = Err(error)

    def step(n: int) -> Outcome:
        calls.append(n)
        return Ok(n)

    after = failed.bind(step).and_then(step).map(calls.append)
    assert calls == []
    assert after == failed


def test_of_two_errors_ap_keeps_the_first() -> None:
    first, second = ParsingError("first"), ParsingError("second")
    assert Err(first).ap(Err(second)) == Err(first)
    assert Ok(FUNCTIONS[0]).ap(Err(second)) == Err(second)
    assert Ok(FUNCTIONS[0]).ap(Ok(4)) == Ok(5)


def test_map_err_and_or_else_touch_only_errors() -> None:
    def worse(error: Failure) -> ToolError:
        return ToolError(f"worse: {error.message}")

    good: Outcome = Ok(1)
    bad: Outcome = Err(ParsingError("x"))
    assert good.map_err(worse) == Ok(1)
    assert bad.map_err(worse) == Err(ToolError("worse: x"))
    assert bad.or_else(lambda error: Ok(len(error.message))) == Ok(1)
    assert good.or_else(lambda error: Ok(99)) == Ok(1)


def test_unwrap_raises_the_error_itself() -> None:
    error = ParsingError("x")
    with pytest.raises(ParsingError) as caught:
        Err(error).unwrap()
    assert caught.value is error
    assert Err(error).unwrap_or(7) == 7
    assert Ok(3).unwrap_or(7) == 3
    assert Ok(3).unwrap() == 3


def test_collect_stops_at_the_first_error_and_draws_no_further() -> None:
    """Rows: S2-010."""
    drawn: list[int] = []

    def outcomes() -> Iterator[Outcome]:
        for n in (2, 4, 5, 7):
            drawn.append(n)
            yield _half(n)

    assert collect(outcomes()) == Err(ParsingError("5 is odd"))
    assert drawn == [2, 4, 5]
    assert collect([_half(2), _half(4)]) == Ok([1, 2])
    nothing: list[Outcome] = []
    assert collect(nothing) == Ok([])


def test_attempt_catches_what_it_was_told_and_lets_bugs_through() -> None:
    def fail() -> int:
        raise NetworkError("down")

    def bug() -> int:
        raise KeyError("k")

    assert attempt(lambda: 3) == Ok(3)
    assert attempt(fail) == Err(NetworkError("down"))
    with pytest.raises(KeyError):
        attempt(bug)
    caught = attempt(bug, KeyError, ValueError)
    assert isinstance(caught, Err)
    assert isinstance(caught.error, KeyError)
    with pytest.raises(NetworkError):
        attempt(fail, KeyError)


def test_an_error_in_err_holds_no_frame() -> None:
    def deep() -> int:
        try:
            raise OSError("disk")
        except OSError as error:
            raise ParsingError("x") from error

    held = attempt(deep)
    assert isinstance(held, Err)
    error: BaseException | None = held.error
    links = 0
    while error is not None:
        assert error.__traceback__ is None
        assert error.__context__ is None
        error = error.__cause__
        links += 1
    assert links == 2


def test_values_are_frozen_hashable_and_copy() -> None:
    for value in (Ok[int](3), Err(ParsingError("x"))):
        assert copy.copy(value) == value
        assert copy.deepcopy(value) == value
        assert pickle.loads(pickle.dumps(value)) == value  # noqa: S301
        assert hash(copy.copy(value)) == hash(value)
        with pytest.raises(AttributeError):
            value.value = 4  # pyright: ignore[reportAttributeAccessIssue]
    assert Ok(3) != Err(ParsingError("3"))
