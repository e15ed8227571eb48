"""What a provider's refusal means: status, code and words in, one of our errors out; pure, and no secret passes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from lawful.core.errors import Failure, NetworkError
from lawful.core.llm_errors import (
    ContentFiltered,
    ContextTooLong,
    KeyRefused,
    MalformedReply,
    ModelTimeout,
    ProviderFailed,
    RateLimited,
    RequestRefused,
    StreamBroken,
)

_TOO_LONG: Final = re.compile(
    r"context[ _]length|context window|maximum context|prompt is too long|too many (?:input )?tokens|input token count"
    r"|exceeds? the (?:available )?context|reduce the length",
    re.IGNORECASE,
)
_FILTERED: Final = frozenset({"content_filter", "content_policy_violation", "responsible_ai_policy_violation"})
_SPENT: Final = frozenset({"insufficient_quota", "billing_error", "billing_hard_limit_reached"})
_OVERLOADED: Final = frozenset({"overloaded_error", "server_error", "api_error", "internal_error", "unavailable"})
_LONGEST: Final = 500


def refused(
    where: str,
    status: int,
    said: str,
    *,
    code: str = "",
    headers: Mapping[str, str] | None = None,
    secrets: Iterable[str] = (),
    now: datetime | None = None,
) -> Failure:
    """The error for an answer of ``status``; ``where`` is ``provider:model``, ``said`` the provider's own words.

    ``secrets`` are blotted out of the words, which are cut to 500 characters.
    """
    words = redacted(said, secrets)[:_LONGEST]
    details = {"status": str(status), "said": words}
    if code:
        details["code"] = code
    wait = _wait(headers or {}, now)
    if wait is not None:
        details["retry_after"] = f"{wait:g}"
    kind = _kind(status, code, words)
    told = f"{where}: {_MEANS[kind]} ({status}{f' {code}' if code else ''}): {words}"
    return kind(told, component="models", operation=where, details=details)


def broken(where: str, begun: bool, why: str, *, text: str = "", secrets: Iterable[str] = ()) -> Failure:
    """The error for a connection that was not made, or was lost while the answer was coming."""
    words = redacted(why, secrets)[:_LONGEST]
    if begun:
        return StreamBroken(
            f"{where}: the connection was lost while the answer was coming: {words}",
            component="models",
            operation=where,
            details={"text": text},
        )
    return NetworkError(f"{where} could not be reached: {words}", component="models", operation=where)


def late(where: str, why: str) -> ModelTimeout:
    """The error for a provider that did not answer in time."""
    return ModelTimeout(f"{where} did not answer in time: {why}", component="models", operation=where)


def malformed(where: str, why: str, *, secrets: Iterable[str] = ()) -> MalformedReply:
    """The error for an answer that is not of the wire's form."""
    words = redacted(why, secrets)[:_LONGEST]
    return MalformedReply(f"{where} sent what is not of its wire's form: {words}", component="models", operation=where)


def redacted(text: str, secrets: Iterable[str]) -> str:
    """``text`` without the secrets in it."""
    for secret in secrets:
        if len(secret) > 3:
            text = text.replace(secret, "***")
    return text


_MEANS: Final[dict[type[Failure], str]] = {
    RateLimited: "too many requests",
    ProviderFailed: "the provider failed",
    RequestRefused: "the request was refused",
    ContextTooLong: "the conversation is too long",
    ContentFiltered: "stopped by the provider's filter",
    KeyRefused: "the key was refused",
    ModelTimeout: "no answer in time",
}


def _kind(status: int, code: str, words: str) -> type[Failure]:
    known = _by_code(code)
    if known is not None:
        return known
    if status in (401, 403):
        return KeyRefused
    if status == 429:
        return RateLimited
    if status in (408, 504):
        return ModelTimeout
    if status >= 500 or status == 409:
        return ProviderFailed
    if status == 413 or (status in (400, 422) and _TOO_LONG.search(words)):
        return ContextTooLong
    return RequestRefused


def _by_code(code: str) -> type[Failure] | None:
    plain = code.lower()
    if plain in _FILTERED:
        return ContentFiltered
    if plain in _SPENT:
        return RequestRefused
    if plain == "context_length_exceeded":
        return ContextTooLong
    if plain in ("rate_limit_exceeded", "rate_limit_error", "resource_exhausted"):
        return RateLimited
    return ProviderFailed if plain in _OVERLOADED else None


def _wait(headers: Mapping[str, str], now: datetime | None) -> float | None:
    """Seconds, from ``retry-after-ms``, or ``retry-after`` as seconds or as a date."""
    lower = {key.lower(): value for key, value in headers.items()}
    if (exact := _number(lower.get("retry-after-ms"))) is not None:
        return exact / 1000
    told = lower.get("retry-after")
    if told is None:
        return None
    plain = _number(told)
    if plain is not None:
        return plain
    try:
        then = parsedate_to_datetime(told)
    except ValueError:
        return None
    moment = then if then.tzinfo else then.replace(tzinfo=UTC)
    return max((moment - (now or datetime.now(UTC))).total_seconds(), 0.0)


def _number(text: Any) -> float | None:
    try:
        found = float(text)
    except (TypeError, ValueError):
        return None
    return found if 0 <= found < 1e9 else None
