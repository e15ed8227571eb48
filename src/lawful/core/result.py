"""A value or an error, never both: how a step reports failure without raising."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, Literal, NoReturn, TypeAlias, TypeVar, final, overload

from typing_extensions import TypeIs

from lawful.core.failure import Failure, bare

A_co = TypeVar("A_co", covariant=True)
E_co = TypeVar("E_co", covariant=True, bound=Exception)
A = TypeVar("A")
B = TypeVar("B")
E = TypeVar("E", bound=Exception)
F = TypeVar("F", bound=Exception)


@final
@dataclass(frozen=True)
class Ok(Generic[A_co]):
    """Success, carrying ``value``."""

    value: A_co

    def is_ok(self) -> Literal[True]:
        return True

    def map(self, f: Callable[[A_co], B]) -> Ok[B]:
        """``f`` applied to the value; an Err is passed on as it is."""
        return Ok(f(self.value))

    def map_err(self, f: Callable[[NoReturn], object]) -> Ok[A_co]:
        """``f`` applied to the error; here there is none."""
        return self

    def bind(self, f: Callable[[A_co], Result[B, F]]) -> Result[B, F]:
        """The next step that may fail too; after an Err it is not called."""
        return f(self.value)

    def and_then(self, f: Callable[[A_co], Result[B, F]]) -> Result[B, F]:
        """The same as `bind`."""
        return f(self.value)

    def or_else(self, f: Callable[[NoReturn], object]) -> Ok[A_co]:
        """Another try after an error; here there was none."""
        return self

    def ap(self: Ok[Callable[[A], B]], argument: Result[A, F]) -> Result[B, F]:
        """The function in here applied to the value in ``argument``; of two errors the function's is kept."""
        return argument.map(self.value)

    def unwrap(self) -> A_co:
        return self.value

    def unwrap_or(self, default: object) -> A_co:
        return self.value


@final
@dataclass(frozen=True)
class Err(Generic[E_co]):
    """Failure, carrying ``error``, which loses its traceback and context here so that no frame is kept alive."""

    error: E_co

    def __post_init__(self) -> None:
        bare(self.error)

    def is_ok(self) -> Literal[False]:
        return False

    def map(self, f: Callable[[NoReturn], object]) -> Err[E_co]:
        return self

    def map_err(self, f: Callable[[E_co], F]) -> Err[F]:
        return Err(f(self.error))

    def bind(self, f: Callable[[NoReturn], object]) -> Err[E_co]:
        return self

    def and_then(self, f: Callable[[NoReturn], object]) -> Err[E_co]:
        return self

    def or_else(self, f: Callable[[E_co], Result[B, F]]) -> Result[B, F]:
        return f(self.error)

    def ap(self, argument: object) -> Err[E_co]:
        return self

    def unwrap(self) -> NoReturn:
        """Raises: the error itself."""
        raise self.error

    def unwrap_or(self, default: B) -> B:
        return default


Result: TypeAlias = Ok[A] | Err[E]
"""The one or the other; ``match`` on ``Ok(value)`` and ``Err(error)``."""


def is_ok(result: Result[A, E]) -> TypeIs[Ok[A]]:
    """Whether it is an Ok; a type checker learns it too."""
    return isinstance(result, Ok)


def collect(results: Iterable[Result[A, E]]) -> Result[list[A], E]:
    """All values in order, or the first error; what comes after that error is not even drawn from ``results``."""
    values: list[A] = []
    for result in results:
        match result:
            case Ok(value):
                values.append(value)
            case Err():
                return result
    return Ok(values)


@overload
def attempt(f: Callable[[], A]) -> Result[A, Failure]: ...
@overload
def attempt(f: Callable[[], A], *catch: type[E]) -> Result[A, E]: ...
def attempt(f: Callable[[], A], *catch: type[Exception]) -> Result[A, Any]:
    """What ``f()`` returns as an Ok, what it raises of ``catch`` (by default a Failure) as an Err.

    Anything else it raises is a bug or a control signal and goes through.
    """
    kinds = catch or (Failure,)
    try:
        return Ok(f())
    except kinds as error:
        return Err(error)
