"""Our msgpack extension codes, and how each standard value type (dates, decimals, big integers...) is written in one."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

from msgspec import Raw
from msgspec.msgpack import Encoder, Ext, decode

from lawful.core.lazy import late

SEALED = b"\xc1"
"""The one byte that begins no msgpack: encrypted bytes begin with it, so that neither is ever taken for the other."""

REF = 1
"""A chunk's 16-byte digest; stands for the value that the chunk holds."""
PARTS = 2
"""A list of lists, to be read as one list: how a long list shares the chunks of its prefix."""
TUPLE = 3
SET = 4
FROZENSET = 5
BYTEARRAY = 6
BIGINT = 7
MAP = 8
"""A dict with keys that are not all str: a flat list key, value, key, value..."""
SURROGATES = 9
"""A str that is not valid Unicode, as UTF-8 with surrogates let through."""
OBJECT = 10
"""[type id, version, body]: a value of a registered class."""
COMPLEX = 11
DATETIME = 12
DATE = 13
TIME = 14
TIMEDELTA = 15
DECIMAL = 16
UUID_ = 17

_LOW, _HIGH = -(2**63), 2**64 - 1
_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+\-]*(/[A-Za-z0-9_+\-]+)*")
_encode = Encoder().encode


class_of: Callable[[object], type[Any]] = type
"""``type`` with one argument, told so that checkers know what comes back."""


class Unstorable(Exception):
    """Inside this package: ``value`` cannot be written, because of ``why``; becomes a ValidationError with a path."""

    def __init__(self, value: object, why: str) -> None:
        super().__init__(why)
        self.value = value
        self.why = why


def dump(plain: Any) -> bytes:
    """The msgpack bytes of a tree of plain values, Ext and Raw; integers and texts may be of any size and content."""
    try:
        return _encode(plain)
    except (OverflowError, UnicodeEncodeError):
        return _encode(_careful(plain))


def _careful(plain: Any) -> Any:
    """The same tree with those integers and texts that msgpack has no form for put into extensions."""
    kind = class_of(plain)
    if kind is str:
        return plain if _is_unicode(plain) else Ext(SURROGATES, plain.encode("utf-8", "surrogatepass"))
    if kind is int:
        if _LOW <= plain <= _HIGH:
            return plain
        return Ext(BIGINT, plain.to_bytes(plain.bit_length() // 8 + 1, "big", signed=True))
    if kind is list or kind is tuple:
        return [_careful(item) for item in plain]
    if kind is dict:
        if all(map(_is_unicode, plain)):
            return {key: _careful(item) for key, item in plain.items()}
        return Ext(MAP, dump([part for pair in plain.items() for part in pair]))
    return plain


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _zone_out(zone: tzinfo | None, moment: object) -> Any:
    """None, 0 for UTC, [seconds, microseconds, name or None] for a fixed offset, a str for a named zone."""
    if zone is None:
        return None
    if zone is UTC:
        return 0
    if type(zone) is timezone:
        offset, name = zone.utcoffset(None), zone.tzname(None)
        told = None if name == timezone(offset).tzname(None) else name
        return [offset.days * 86400 + offset.seconds, offset.microseconds, told]
    key = getattr(zone, "key", None)
    if type(zone).__module__ in ("zoneinfo", "zoneinfo._zoneinfo") and type(key) is str:
        return key
    raise Unstorable(
        moment, f"its time zone is a {type(zone).__qualname__}: use datetime.timezone or zoneinfo.ZoneInfo"
    )


def _zone_in(told: Any) -> tzinfo | None:
    if told is None:
        return None
    if type(told) is int and told == 0:
        return UTC
    if type(told) is list:
        seconds, micros, name = cast("list[Any]", told)
        offset = timedelta(seconds=seconds, microseconds=micros)
        return timezone(offset) if name is None else timezone(offset, name)
    if type(told) is not str or not _ZONE.fullmatch(told):
        raise ValueError("not a time zone")
    # A closed set of names, so that no stored text ever chooses what file is read or which package is imported.
    if told not in _zones():
        raise ValueError(f"time zone {told!r} is not known on this machine")
    return late("zoneinfo", "ZoneInfo")(told)


_known_zones: set[str] = set()


def _zones() -> set[str]:
    if not _known_zones:
        _known_zones.update(late("zoneinfo", "available_timezones")())
    return _known_zones


def _datetime_out(value: datetime) -> Any:
    return [value.replace(tzinfo=None, fold=0).isoformat(), value.fold, _zone_out(value.tzinfo, value)]


def _datetime_in(body: Any) -> datetime:
    text, fold, zone = body
    return datetime.fromisoformat(text).replace(fold=fold, tzinfo=_zone_in(zone))


def _time_out(value: time) -> Any:
    return [value.replace(tzinfo=None, fold=0).isoformat(), value.fold, _zone_out(value.tzinfo, value)]


def _time_in(body: Any) -> time:
    text, fold, zone = body
    return time.fromisoformat(text).replace(fold=fold, tzinfo=_zone_in(zone))


def _delta_in(body: Any) -> timedelta:
    days, seconds, micros = body
    return timedelta(days, seconds, micros)


def _complex_in(body: Any) -> complex:
    real, imag = body
    if type(real) is not float or type(imag) is not float:
        raise ValueError("not a complex number")
    return complex(real, imag)


def _decimal_in(body: Any) -> Decimal:
    if type(body) is not str:
        raise ValueError("not a decimal")
    return Decimal(body)


LEAVES: dict[type, Callable[[Any], Ext]] = {
    bytearray: lambda v: Ext(BYTEARRAY, bytes(v)),
    complex: lambda v: Ext(COMPLEX, _encode([v.real, v.imag])),
    datetime: lambda v: Ext(DATETIME, _encode(_datetime_out(v))),
    date: lambda v: Ext(DATE, _encode(v.isoformat())),
    time: lambda v: Ext(TIME, _encode(_time_out(v))),
    timedelta: lambda v: Ext(TIMEDELTA, _encode([v.days, v.seconds, v.microseconds])),
    Decimal: lambda v: Ext(DECIMAL, _encode(str(v))),
    UUID: lambda v: Ext(UUID_, v.bytes),
}
"""Exact type to the extension that holds its value."""

READERS: dict[int, Callable[[bytes], Any]] = {
    BYTEARRAY: bytearray,
    BIGINT: lambda data: int.from_bytes(data, "big", signed=True),
    SURROGATES: lambda data: data.decode("utf-8", "surrogatepass"),
    COMPLEX: lambda data: _complex_in(decode(data)),
    DATETIME: lambda data: _datetime_in(decode(data)),
    DATE: lambda data: date.fromisoformat(decode(data)),
    TIME: lambda data: _time_in(decode(data)),
    TIMEDELTA: lambda data: _delta_in(decode(data)),
    DECIMAL: lambda data: _decimal_in(decode(data)),
    UUID_: lambda data: UUID(bytes=data),
}
"""Extension code to the function that reads its bytes; what they raise on bad bytes is a ValueError or its like."""

__all__ = ["LEAVES", "READERS", "Ext", "Raw", "Unstorable", "class_of", "dump"]
