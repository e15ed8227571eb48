"""Ids: checkpoint ids that sort by time, and which thread ids are taken."""

from __future__ import annotations

import os
import random
import re
from typing import Any
from uuid import UUID

from lawful.core.errors import InvalidThreadId, ValidationError
from lawful.core.secret import holds, texts

_chance = random.Random()  # not the global generator: a program that seeds that one would repeat ids over processes
_FRESH = 62
_COUNTER = 74
_VARIANT = 0x8000_0000_0000_0000
_CANONICAL = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def _reseed() -> None:
    _chance.seed()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reseed)


def new_id(now: float, after: str | None = None) -> str:
    """A time-ordered UUID (version 7, RFC 9562) as 36 characters of text, greater than ``after``.

    ``now`` is in seconds since 1970 UTC. Where it is not later than ``after`` (same millisecond, or a clock set back) the
    id counts on from ``after`` by a random stride, so that the order of ids stays the order of events.

    Raises: ValidationError, if ``after`` is no UUID in lower-case text.
    """
    ticks = (
        int(now * 4_096_000) if now > 0 else 0
    )  # 48 bits of milliseconds, then 12 bits of a millisecond's parts (RFC 9562, method 3)
    h = f"{ticks >> 12:012x}7{ticks & 0xFFF:03x}{_VARIANT | _chance.getrandbits(_FRESH):016x}"
    text = f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"
    if after is None or text > after:
        return text
    return _beyond(after)


def _beyond(after: str) -> str:
    if not is_id(after):
        raise ValidationError(f"{after!r} is not a checkpoint id", component="journal", operation="new_id")
    n = int(after.replace("-", ""), 16)
    when, version, variant = n >> 80, (n >> 76) & 0xF, (n >> 62) & 0x3
    count = ((n >> 64) & 0xFFF) << 62 | (n & ((1 << 62) - 1))
    count += 1 + _chance.getrandbits(32)
    if count >> _COUNTER:
        when, count = when + 1, _chance.getrandbits(_FRESH)
    return str(UUID(int=when << 80 | version << 76 | (count >> 62) << 64 | variant << 62 | (count & ((1 << 62) - 1))))


def is_id(text: str) -> bool:
    """Whether ``text`` is a UUID as 36 lower-case characters, the only form in which ids sort as text and as bytes alike."""
    return _CANONICAL.fullmatch(text) is not None


def thread_key(thread: Any) -> str:
    """The thread id as it is stored: a str as it is, an int or a UUID as text.

    Raises: InvalidThreadId for anything else (a bool too), and for text that is empty, longer than 255 characters, or
    holds control characters, lone surrogates or the text of a `Secret`.
    """
    if type(thread) is str:
        text = thread
    elif isinstance(thread, bool) or not isinstance(thread, (str, int, UUID)):
        raise _refused(f"a thread id is a str, an int or a UUID, not {type(thread).__name__}", type(thread).__name__)
    else:
        text = str(int(thread)) if isinstance(thread, int) else str(thread)
    if not text:
        raise _refused("a thread id must not be empty", "")
    if len(text) > 255:
        raise _refused(f"a thread id has at most 255 characters, this one has {len(text)}", text[:32])
    if (bad := _FORBIDDEN.search(text)) is not None:
        raise _refused(
            f"a thread id must not hold control characters or lone surrogates (U+{ord(bad[0]):04X} at {bad.start()})",
            ascii(text),
        )
    if (secrets := texts()) and holds(text, secrets):
        raise _refused("a thread id must not hold the text of a Secret", text)
    return text


def _refused(message: str, shown: str) -> InvalidThreadId:
    return InvalidThreadId(message, component="journal", operation="thread_id", details={"thread": shown})
