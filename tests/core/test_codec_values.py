"""Plain data and standard values come back equal and of the same type; what is not registered is refused when written."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict, deque
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lawful.core import codec
from lawful.core.errors import ValidationError
from support.children import fresh
from support.exact import cases, exact

pytestmark = pytest.mark.unit

zones = st.sampled_from(
    [None, UTC, timezone(timedelta(hours=2)), timezone(timedelta(minutes=-90), "odd"), ZoneInfo("Europe/Paris")]
)
text = st.text(st.characters(codec=None), max_size=12) | st.sampled_from(["\ud800", "a\udfffb", "x" * 700, "é" * 600])
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=2**62, max_value=2**70)
    | st.integers(min_value=-(2**70), max_value=-(2**62))
    | st.floats()
    | text
    | st.binary(max_size=12)
    | st.just(b"y" * 900)
)
leaves = (
    scalars
    | st.binary(max_size=8).map(bytearray)
    | st.complex_numbers()
    | st.datetimes(timezones=zones, allow_imaginary=True)
    | st.dates()
    | st.times(timezones=zones.filter(lambda zone: not isinstance(zone, ZoneInfo)))
    | st.timedeltas()
    | st.decimals(allow_nan=True, allow_infinity=True)
    | st.uuids()
)
hashable = st.none() | st.booleans() | st.integers() | text | st.binary(max_size=4) | st.uuids() | st.dates()
keys = hashable | st.tuples(hashable, hashable) | st.frozensets(hashable, max_size=2)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.lists(inner, max_size=5).map(tuple)
        | st.dictionaries(text, inner, max_size=4)
        | st.dictionaries(keys, inner, max_size=3)
        | st.sets(keys, max_size=3)
        | st.frozensets(keys, max_size=3)
    ),
    max_leaves=25,
)


@pytest.mark.property
@settings(max_examples=250, deadline=None)
@given(values)
def test_any_value_comes_back_exact(value: Any) -> None:
    assert exact(codec.decode(codec.encode(value)), value)


@pytest.mark.property
@settings(max_examples=200, deadline=None)
@given(values)
def test_the_same_with_chunks_and_every_digest_is_told(value: Any) -> None:
    kept: dict[bytes, bytes] = {}

    def chunk(data: bytes) -> bytes:
        digest = codec.digest16(data)
        kept[digest] = data
        return digest

    blob = codec.encode(value, chunk=chunk)
    assert exact(codec.decode(blob, chunks=kept), value)
    assert all(len(digest) == 16 and len(data) >= 512 for digest, data in kept.items())


@pytest.mark.parametrize(
    "value",
    cases(
        -0.0,
        float("nan"),
        True,
        1,
        1.0,
        2**63 - 1,
        2**64 - 1,
        2**64,
        -(2**63),
        -(2**63) - 1,
        10**5000,
        "\ud83d",
        {"\ud800": 2**80},
        {1: "int", False: "bool", 1.5: "float", None: "none", (1, 2): "tuple", "s": "str"},
        (),
        [()],
        {(): frozenset[Any]({frozenset[Any](), b""})},
        Decimal("1E+400"),
        Decimal("-0.00"),
        Decimal("sNaN123"),
        timedelta.max,
        timedelta.min,
        datetime.max.replace(tzinfo=UTC),
        datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Paris")),
        time(23, 59, 59, 999999, tzinfo=UTC, fold=1),
        UTC and datetime(1, 1, 1, tzinfo=timezone(timedelta(seconds=-1, microseconds=5))),
        date.min,
        UUID(int=0),
        deque([1, (2,)], maxlen=4),
        Counter("abca"),
        OrderedDict[str, Any]([("z", 1), ("a", [2])]),
        b"",
        bytearray(b"\x00"),
    ),
    ids=lambda value: (
        f"{type(value).__name__} {value!r:.20}" if not isinstance(value, int) else f"int {value.bit_length()}"
    ),
)
def test_edges_come_back_exact(value: Any) -> None:
    back = codec.decode(codec.encode([value, {"k": value}]))
    assert exact(back, [value, {"k": value}])
    assert exact(codec.decode(codec.encode(value)), value)


def test_a_bounded_deque_keeps_its_bound() -> None:
    assert codec.decode(codec.encode(deque([1], maxlen=3))).maxlen == 3


@pytest.mark.parametrize(
    "envelope",
    cases(
        {"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {"command": "true"}},
        {"lc": 1, "type": "secret", "id": ["HOME"]},
        {"__type__": "os:system", "args": ["true"]},
        {"py/object": "os.system"},
        {"__class__": "subprocess.Popen", "__module__": "subprocess"},
        [10, ["lawful:Question", 1, {}]],
        ["lawful:Principal", 1, {"id": "root"}],
        {"$ref": "x", "_type": "json", "__reduce__": ["os.system", ["true"]], "fields": {}, "set": []},
        b"\x80\x04\x95cos\nsystem\n(S'true'\ntR.",
        b"\xc7\x05\x0a\x93\xa1a\x01\xc0",
    ),
    ids=lambda value: str(value)[:24],
)
def test_what_looks_like_an_envelope_is_data(envelope: Any) -> None:
    assert exact(codec.decode(codec.encode({"state": envelope})), {"state": envelope})


class Plain:
    pass


class SubStr(str):
    __slots__ = ()


class SubDict(dict[str, int]):
    pass


class SubInt(int):
    pass


@pytest.mark.parametrize(
    "odd, name",
    [
        (Plain(), "Plain"),
        (SubStr("x"), "SubStr"),
        (SubDict(a=1), "SubDict"),
        (SubInt(4), "SubInt"),
        (threading.Lock(), "lock"),
        (print, "builtin_function_or_method"),
        (Plain, "type"),
        ((n for n in ()), "generator"),
        (msgspec, "module"),
        (range(3), "range"),
        (ValueError("x"), "ValueError"),
        (msgspec.UNSET, "UnsetType"),
        (msgspec.Raw(b"\xc0"), "Raw"),
        (msgspec.msgpack.Ext(1, b"0123456789abcdef"), "Ext"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_classes_are_refused_with_class_and_place(odd: Any, name: str) -> None:
    with pytest.raises(ValidationError, match=name) as caught:
        codec.encode({"a": 1, "rows": [1, {"b": ("x", odd)}]}, where="notes")
    assert caught.value.details["path"] == "notes['rows'][1]['b'][1]"
    assert caught.value.message.startswith("notes['rows'][1]['b'][1] cannot be stored")


@pytest.mark.parametrize("key", [SubStr("x"), Plain()], ids=["str subclass", "object"])
def test_keys_of_other_classes_are_refused(key: Any) -> None:
    with pytest.raises(ValidationError, match="not registered"):
        codec.encode({key: 1})


def test_a_foreign_time_zone_is_refused() -> None:
    class Mine(timezone.__base__):  # type: ignore[misc, name-defined]
        def utcoffset(self, dt: datetime | None, /) -> timedelta:
            return timedelta(0)

    with pytest.raises(ValidationError, match="time zone") as caught:
        codec.encode([datetime(2024, 1, 1, tzinfo=Mine())])
    assert caught.value.details["path"] == "value[0]"


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append({"again": loop})
    with pytest.raises(ValidationError, match="contains itself"):
        codec.encode(loop)


def in_list(value: Any, *pad: str) -> Any:
    return [value, *pad]


def in_dict(value: Any, *pad: str) -> Any:
    return {"k": value, **{f"p{n}": item for n, item in enumerate(pad)}}


def in_tuple(value: Any, *pad: str) -> Any:
    return (value, *pad)


def in_map(value: Any, *pad: str) -> Any:
    return {1: value, **dict(enumerate(pad, 2))}


def in_frozenset(value: Any, *pad: str) -> Any:
    return frozenset({value, *pad})


@pytest.mark.parametrize("wrap", [in_list, in_dict, in_tuple, in_map, in_frozenset])
@pytest.mark.parametrize("pad", [(), ("x" * 400, "y" * 400)], ids=["thin", "each level a chunk"])
@pytest.mark.parametrize("depth", [49, 50, 51, 99, 100, 101, 5000])
def test_depth_is_bounded_and_what_is_written_can_be_read(wrap: Any, pad: tuple[str, ...], depth: int) -> None:
    value: Any = 0
    for _ in range(depth):
        value = wrap(value, *pad)
    kept: dict[bytes, bytes] = {}
    deepest = 100 if wrap in (in_list, in_dict) else 50
    if depth > deepest:
        with pytest.raises(ValidationError, match="deep"):
            codec.encode(value, chunk=lambda data: _keep(kept, data))
        return
    blob = codec.encode(value, chunk=lambda data: _keep(kept, data))
    assert exact(_from_deep(lambda: codec.decode(blob, chunks=kept), 250), value)


def _from_deep(call: Any, frames: int) -> Any:
    return call() if frames == 0 else _from_deep(call, frames - 1)


def _keep(kept: dict[bytes, bytes], data: bytes) -> bytes:
    digest = codec.digest16(data)
    kept[digest] = data
    return digest


def test_equal_sets_give_equal_bytes_in_every_process() -> None:
    program = (
        "from lawful.core import codec;print(codec.encode([{'b','a','c','dd'}, frozenset({1, 'x', (2, 'y')})]).hex())"
    )
    assert len({fresh(program, PYTHONHASHSEED=seed) for seed in ("1", "2")}) == 1


def test_importing_the_codec_and_the_checker_stays_light() -> None:
    program = (
        "import sys, lawful.core.codec, lawful.core.check;"
        "print([m for m in ('pydantic', 'asyncio', 'dataclasses', 'zoneinfo', 'difflib', 'pickle') if m in sys.modules])"
    )
    assert fresh(program).strip() == "[]"


def test_sets_of_sets_are_compared_without_an_order() -> None:
    """Two equal sets may show their members in another order."""
    left = {frozenset({-7, True}), frozenset({None})}
    assert exact(left, codec.decode(codec.encode(left)))
    assert not exact({frozenset({1})}, {frozenset({True})})
