"""Stored bytes that were tampered with give data or a typed error that keeps them; nothing is imported or executed."""

from __future__ import annotations

import difflib
import pickle
import subprocess
import sys
import zoneinfo
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lawful.core import codec
from lawful.core.errors import CorruptRecord, UnknownType
from lawful.core.questions import Question
from support.children import fresh

pytestmark = pytest.mark.unit

# Loaded before the hook listens: what an error message or a date may need, always by these fixed names.
_LOADED = (difflib, zoneinfo.available_timezones())

_heard: list[str] = []
_listening = False


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _listening and event in (
        "import",
        "exec",
        "compile",
        "os.system",
        "subprocess.Popen",
        "pickle.find_class",
        "os.exec",
    ):
        _heard.append(f"{event} {arguments[:1]}")


sys.addaudithook(_hook)


@contextmanager
def nothing_runs() -> Generator[None]:
    global _listening
    _heard.clear()
    _listening = True
    try:
        yield
    finally:
        _listening = False
    assert _heard == []


@dataclass
class Row:
    n: int
    text: str


registry = codec.default.child()
registry.register(Row)
kept: dict[bytes, bytes] = {}


def _chunk(data: bytes) -> bytes:
    kept[codec.digest16(data)] = data
    return codec.digest16(data)


SAMPLE: Any = {
    "rows": [Row(n, f"row {n}") for n in range(3)],
    "mixed": (1, 2.5, {"a", "b"}, frozenset({1}), bytearray(b"z"), 2**90, "\ud800", {1: {(2,): 3}}),
    "times": [
        datetime(2024, 1, 1, tzinfo=UTC),
        datetime(2024, 6, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Paris")),
        date(2024, 1, 1),
    ],
    "more": [timedelta(1), Decimal("1.5"), UUID(int=5), 1 + 2j, Question("q")],
    "long": ["y" * 600, *range(5000)],
}
BLOB = registry.encode(SAMPLE, chunk=_chunk)
INLINE = registry.encode(SAMPLE | {"long": ["y"]})


def read(blob: bytes) -> Any:
    """The value, or the typed error; anything else fails the test."""
    return _value_or_error(blob, kept)


def _value_or_error(blob: bytes, chunks: dict[bytes, bytes]) -> Any:
    with nothing_runs():
        try:
            return registry.decode(blob, chunks=chunks, where="k")
        except (CorruptRecord, UnknownType) as error:
            found = error
    assert found.raw == blob
    return found


def test_the_samples_are_whole() -> None:
    assert read(BLOB) == SAMPLE
    assert read(INLINE)["mixed"] == SAMPLE["mixed"]


@pytest.mark.parametrize("blob", [BLOB, INLINE], ids=["chunked", "inline"])
def test_every_truncation_is_a_corrupt_record(blob: bytes) -> None:
    for end in range(len(blob)):
        assert isinstance(read(blob[:end]), CorruptRecord)


def test_what_follows_the_value_is_a_corrupt_record() -> None:
    assert isinstance(read(BLOB + b"\xc0"), CorruptRecord)


@pytest.mark.property
@settings(max_examples=600)
@given(st.integers(0, len(INLINE) * 8 - 1), st.integers(0, len(INLINE) * 8 - 1))
def test_flipped_bits_give_data_or_a_typed_error(one: int, other: int) -> None:
    bits = bytearray(INLINE)
    for place in (one, other):
        bits[place // 8] ^= 1 << place % 8
    read(bytes(bits))


@pytest.mark.property
@settings(max_examples=200)
@given(st.sampled_from(sorted(kept)), st.data())
def test_tampered_chunks_give_data_or_a_typed_error(digest: bytes, data: st.DataObject) -> None:
    bits = bytearray(kept[digest])
    place = data.draw(st.integers(0, len(bits) - 1))
    bits[place] = data.draw(st.integers(0, 255))
    _value_or_error(BLOB, {**kept, digest: bytes(bits)})


def _ext(code: int, payload: bytes) -> bytes:
    return msgspec.msgpack.encode(msgspec.msgpack.Ext(code, payload))


class Evil:
    def __reduce__(self) -> Any:
        return subprocess.call, ("true",)


PAYLOADS: dict[str, bytes] = {
    "empty": b"",
    "nil": b"\xc0",
    "bytes": b"\x00\xff\xfe",
    "pickle": pickle.dumps(Evil()),
    "module and name": msgspec.msgpack.encode(["os", "system", ["true"]]),
    "module, name, kwargs, method": msgspec.msgpack.encode(["builtins", "eval", {"source": "1"}, "__call__"]),
    "a type id that names a function": msgspec.msgpack.encode(["os:system", 1, {"command": "true"}]),
    "a registered id with odd fields": msgspec.msgpack.encode([f"{__name__}:Row", 1, {"__class__": "os"}]),
    "a registered id with a version that is a bool": msgspec.msgpack.encode([f"{__name__}:Row", True, {}]),
    "version 0": msgspec.msgpack.encode([f"{__name__}:Row", 0, {"n": 1, "text": ""}]),
    "a huge version": msgspec.msgpack.encode([f"{__name__}:Row", 2**63, {}]),
    "a negative version": msgspec.msgpack.encode([f"{__name__}:Row", -(2**63), {}]),
    "a list of lists": msgspec.msgpack.encode([[1], [2]]),
    "unhashable members": msgspec.msgpack.encode([[1], {"a": 1}]),
    "an odd number": msgspec.msgpack.encode([1, 2, 3]),
    "a date": msgspec.msgpack.encode("2024-99-99"),
    "a moment in a zone that is a path": msgspec.msgpack.encode(["2024-01-01T00:00:00", 0, "../../etc/passwd"]),
    "a moment in a zone that is a package": msgspec.msgpack.encode(["2024-01-01T00:00:00", 0, "os/path"]),
    "a moment with a huge offset": msgspec.msgpack.encode(["2024-01-01T00:00:00", 0, [2**62, 0, None]]),
    "a moment with fold 7": msgspec.msgpack.encode(["2024-01-01T00:00:00", 7, None]),
    "a duration beyond all": msgspec.msgpack.encode([2**62, 0, 0]),
    "numbers": msgspec.msgpack.encode([1.5, float("nan")]),
    "a decimal": msgspec.msgpack.encode("not a number"),
    "a decimal of many digits": msgspec.msgpack.encode("9" * 5000 + "E9999999999999999999999"),
    "itself, deep": b"\xc1" * 40,
    "a length beyond all": b"\xdd\xff\xff\xff\xff",
    "many lengths beyond all": b"\xdd\x7f\xff\xff\xff" * 200,
    "a map beyond all": b"\xdf\xff\xff\xff\xff\xa1a",
    "deep lists": b"\x91" * 100_000 + b"\xc0",
    "deep maps": b"\x81\xa1a" * 50_000 + b"\xc0",
}


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_every_extension_code_with_hostile_content(payload: bytes) -> None:
    read(payload)
    for code in range(-128, 128):
        # -1 is msgpack's own time stamp, which is plain data.
        found = read(_ext(code, payload))
        if code not in (*range(1, 18), -1):
            assert isinstance(found, CorruptRecord)
        read(msgspec.msgpack.encode({"k": [msgspec.Raw(_ext(code, payload))]}))


def test_nested_extensions_are_bounded() -> None:
    blob = b"\x90"
    for _ in range(5000):
        blob = _ext(3, b"\x91" + blob)
    assert isinstance(read(blob), CorruptRecord)
    shallow = b"\x90"
    for _ in range(50):
        shallow = _ext(3, b"\x91" + shallow)
    assert not isinstance(read(shallow), CorruptRecord)


@pytest.mark.property
@settings(max_examples=400)
@given(st.binary(max_size=200))
@example(b"")
@example(pickle.dumps({"a": 1}))
@example(b"\x81\x91\x01\x02")
def test_random_bytes_give_data_or_a_typed_error(blob: bytes) -> None:
    read(blob)


@pytest.mark.property
@settings(max_examples=400)
@given(st.integers(-128, 127), st.binary(max_size=60), st.integers(1, 17))
def test_random_extensions_within_ours_give_data_or_a_typed_error(code: int, inner: bytes, outer: int) -> None:
    read(_ext(outer, b"\x92\x01" + _ext(code, inner)))


def test_a_pickle_is_never_loaded() -> None:
    assert isinstance(read(pickle.dumps(Evil())), CorruptRecord)


def test_reading_does_not_touch_the_environment_or_the_network() -> None:
    program = (
        "import sys, difflib; from lawful.core import codec;"
        "blob = codec.encode({'lc': 1, 'type': 'secret', 'id': ['HOME']});"
        "heard = []; sys.addaudithook(lambda e, a: heard.append(e));"
        "codec.decode(blob);"
        "print([e for e in heard if not e.startswith('object')])"
    )
    assert fresh(program).strip() == "[]"
