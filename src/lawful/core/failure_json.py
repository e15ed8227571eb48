"""How an error is read back from JSON: by its code, else by its family, never by a name to import."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeAlias, cast

from lawful.core.failure import ErrorContext, Failure, ForeignException, revive

Kinds: TypeAlias = Mapping[str, type[Failure]]


def read_failure(told: object, kinds: Kinds, deepest: int = 64) -> Failure:
    """The error that ``told`` describes; ``kinds`` are the known codes, "internal" and "parsing" among them.

    Causes further down than ``deepest`` are left out.

    Raises: ParsingError, if ``told`` is not of the form that ``Failure.to_json`` gives.
    """
    facts = _object(told, "an error", kinds)
    code = str(facts.get("code"))
    pairs = _object(facts.get("details") or {}, "an error's details", kinds)
    context = ErrorContext(
        str(facts.get("component", "")),
        str(facts.get("operation", "")),
        _moment(facts.get("timestamp"), kinds),
        {str(key): str(value) for key, value in pairs.items()},
    )
    kind = kinds.get(code)
    if kind is None:
        kind = kinds.get(str(facts.get("family")), kinds["internal"])
        context = ErrorContext(
            context.component, context.operation, context.timestamp, {**context.details, "unknown_code": code}
        )
    cause = _cause(facts.get("cause"), kinds, deepest - 1)
    error = revive(kind, str(facts.get("message", "")), cause)
    error.context = context
    error.retryable = facts.get("retryable") is True
    return error


def _object(told: object, what: str, kinds: Kinds) -> Mapping[str, Any]:
    if not isinstance(told, Mapping):
        raise kinds["parsing"](
            f"{what} must be a JSON object, not {type(told).__name__}", component="errors", operation="from_json"
        )
    return cast("Mapping[str, Any]", told)


def _moment(told: object, kinds: Kinds) -> datetime:
    if told is None:
        return ErrorContext().timestamp
    try:
        return datetime.fromisoformat(str(told))
    except ValueError as error:
        raise kinds["parsing"](
            f"an error's timestamp must be ISO 8601, not {told!r}", component="errors", operation="from_json"
        ) from error


def _cause(told: object, kinds: Kinds, deepest: int) -> BaseException | None:
    if told is None or deepest <= 0:
        return None
    facts = _object(told, "an error's cause", kinds)
    if facts.get("code") != "exception":
        return read_failure(facts, kinds, deepest)
    error = ForeignException(str(facts.get("type", "")), str(facts.get("message", "")))
    error.__cause__ = _cause(facts.get("cause"), kinds, deepest - 1)
    return error
