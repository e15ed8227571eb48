"""What every error of this library carries: message, code, context, whether another try may help, and a JSON form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar, TypeAlias, TypeVar

from msgspec import Struct

from lawful.core.lazy import late
from lawful.core.secret import SHOWN, names_secret, redact

JSON: TypeAlias = "None | bool | int | float | str | list[JSON] | dict[str, JSON]"
"""What JSON can say."""

_DEEPEST = 32
"""Causes told of one error: a longer chain is cut, so that no record grows without bound."""


class ErrorContext(Struct, frozen=True):
    """Where and when an error arose."""

    component: str = ""
    """The part of the library or program: "graph", "journal", a tool's name."""
    operation: str = ""
    """What it was doing: "compile", "node 'write'"."""
    timestamp: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    """UTC; set when the error is made."""
    details: Mapping[str, str] = {}
    """The facts, as text: names, keys, ids, nearest valid names."""


class Failure(Exception):
    """The common base of the thirteen errors: catch this, match on ``Error``.

    The same object is carried in ``Err(...)`` or raised. Message and details never hold the text of a `Secret`, nor what
    looks like a key or a password: ``***`` stands there. Equality and hash go by type, code, message, component,
    operation and details, never by time or identity.
    """

    code: ClassVar[str] = "failure"
    """Stable and documented; one page section each in docs/errors.md."""
    _retryable: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        component: str = "",
        operation: str = "",
        details: Mapping[str, str] | None = None,
        retryable: bool | None = None,
        cause: BaseException | None = None,
        timestamp: datetime | None = None,
    ) -> None:
        message = redact(message)
        super().__init__(message)
        self.message = message
        told = {redact(str(key)): _detail(str(key), value) for key, value in details.items()} if details else {}
        self.context = ErrorContext(component, operation, timestamp or datetime.now(UTC), told)
        self.retryable = self._retryable if retryable is None else retryable
        """Whether doing the same again may succeed; what a retry asks."""
        if cause is not None:
            self.__cause__ = cause

    @property
    def details(self) -> Mapping[str, str]:
        return self.context.details

    def _identity(self) -> tuple[object, ...]:
        where = self.context
        return (
            type(self),
            self.code,
            self.message,
            where.component,
            where.operation,
            tuple(sorted(where.details.items())),
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Failure) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __reduce__(self) -> tuple[Any, ...]:
        # A cause that is not ours may hold anything, an open socket too: only its name and text are copied.
        return (revive, (type(self), self.message, _portable(self.__cause__)), dict(self.__dict__))

    def bare(self) -> Failure:
        """This error without traceback and context, as ``Err`` and records keep it."""
        return bare(self)

    def to_json(self) -> dict[str, JSON]:
        """The error as plain JSON, its chain of causes included; text is made encodable as UTF-8."""
        return _told(self, _DEEPEST)


FailureT = TypeVar("FailureT", bound=Failure)
ExceptionT = TypeVar("ExceptionT", bound=BaseException)


class ForeignException(Exception):
    """An exception that is not ours, remembered by the name of its type and its text only."""

    def __init__(self, kind: str, message: str = "") -> None:
        message = redact(message)
        super().__init__(kind, message)
        self.kind = kind
        self.message = message

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


def bare(error: ExceptionT) -> ExceptionT:
    """The same exception without traceback and context, along its chain of causes: it keeps no frame alive."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        link.__traceback__ = None
        link.__context__ = None
        link = link.__cause__
    return error


def revive(kind: type[FailureT], message: str, cause: BaseException | None = None) -> FailureT:
    """An error of ``kind`` made without its ``__init__``, whose signature a subclass may have changed."""
    error = kind.__new__(kind, message)
    Failure.__init__(error, message, cause=cause)
    return error


def clean(text: str) -> str:
    """``text`` with lone surrogates, which UTF-8 cannot say, written as escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _detail(key: str, value: object) -> str:
    return SHOWN if names_secret(key) else redact(str(value))


def _portable(cause: BaseException | None) -> BaseException | None:
    if cause is None or isinstance(cause, Failure | ForeignException):
        return cause
    return ForeignException(type(cause).__qualname__, str(cause))


def _family(kind: type[Failure]) -> str:
    """The code of the one of the thirteen that ``kind`` is or comes from."""
    line = kind.__mro__
    at = line.index(Failure)
    return next((above.code for above in reversed(line[:at]) if issubclass(above, Failure)), kind.code)


def _told(error: Failure, depth: int) -> dict[str, JSON]:
    where = error.context
    return {
        "code": error.code,
        "family": _family(type(error)),
        "message": clean(error.message),
        "component": clean(where.component),
        "operation": clean(where.operation),
        "timestamp": where.timestamp.isoformat(),
        "details": {clean(key): clean(value) for key, value in where.details.items()},
        "retryable": error.retryable,
        "cause": _cause_told(error.__cause__, depth - 1),
    }


def _cause_told(cause: BaseException | None, depth: int) -> JSON:
    if cause is None or depth <= 0:
        return None
    if isinstance(cause, Failure):
        return _told(cause, depth)
    foreign = isinstance(cause, ForeignException)
    return {
        "code": "exception",
        "type": cause.kind if foreign else type(cause).__qualname__,
        "message": clean(cause.message if foreign else redact(str(cause))),
        "cause": _cause_told(cause.__cause__, depth - 1),
    }


def nearest(name: str, valid: Iterable[str]) -> str:
    """A hint for a wrong name: `` Did you mean 'x'?``, else the valid names, else nothing."""
    known = sorted(set(valid))
    close: list[str] = late("difflib", "get_close_matches")(name, known, n=1, cutoff=0.5)
    if close:
        return f" Did you mean {close[0]!r}?"
    if known:
        shown = ", ".join(repr(k) for k in known[:8])
        return f" Valid: {shown}{', …' if len(known) > 8 else ''}."
    return ""
