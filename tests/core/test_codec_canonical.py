"""Canonical JSON has one spelling for each value, digests differ by domain, and state bytes compare value and type."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful.core.canonical import canonical, digest, state_bytes
from lawful.core.errors import ValidationError
from support.exact import cases

pytestmark = pytest.mark.unit

jsons = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.property
@given(jsons, st.randoms())
def test_one_spelling_whatever_the_order_of_keys(value: Any, chance: Any) -> None:
    def shuffled(v: Any) -> Any:
        if isinstance(v, dict):
            keys: list[str] = list(v)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            chance.shuffle(keys)
            return {k: shuffled(v[k]) for k in keys}
        return [shuffled(i) for i in v] if isinstance(v, list) else v  # pyright: ignore[reportUnknownVariableType]

    assert canonical(shuffled(value)) == canonical(value)
    assert json.loads(canonical(value)) == value
    assert state_bytes(shuffled(value)) == state_bytes(value)


@pytest.mark.parametrize(
    "one, other",
    cases(
        (1, 1.0),
        (1, True),
        (0, False),
        (0.0, -0.0),
        ("1", 1),
        (None, "null"),
        ([], {}),
        ([[]], [[], []]),
        ({"a": 1}, {"a": 1.0}),
    ),
)
def test_unlike_values_are_spelled_apart(one: Any, other: Any) -> None:
    assert canonical(one) != canonical(other)
    assert digest("x.v1", one) != digest("x.v1", other)
    assert state_bytes(one) != state_bytes(other)


def test_spelling_and_digest_are_pinned() -> None:
    value = {"b": [1, 1.5, None, True], "a": "é\ud800\n"}
    text = b'{"a":"\\u00e9\\ud800\\n","b":[1,1.5,null,true]}'
    assert canonical(value) == text
    assert digest("effect.v1", value) == sha256(b"effect.v1\0" + text).digest()
    assert digest("effect.v1", value) != digest("effect.v2", value)


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    "value, place",
    [
        (float("nan"), "args['a'][1]"),
        (float("inf"), "args['a'][1]"),
        ((1,), "args['a'][1]"),
        (b"x", "args['a'][1]"),
        ({1: 2}, "args['a'][1]"),
        (Text("x"), "args['a'][1]"),
        ({"k": {1, 2}}, "args['a'][1]['k']"),
        ({"k": [0, object()]}, "args['a'][1]['k'][1]"),
    ],
    ids=lambda v: str(v)[:12],
)
def test_what_json_does_not_have_is_refused_with_its_place(value: Any, place: str) -> None:
    with pytest.raises(ValidationError) as caught:
        canonical({"a": [1, value]}, where="args")
    assert caught.value.details["path"] == place


def test_endless_values_and_empty_domains_are_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ValidationError, match="levels"):
        canonical(loop)
    for domain in ("", "a\0b"):
        with pytest.raises(ValidationError, match="domain"):
            digest(domain, 1)


def test_state_bytes_ignore_order_where_order_means_nothing() -> None:
    one = {"s": {"a", "b", "c"}, "m": {(1, 2): "x", 3: "y"}, "d": {"p": 1, "q": (2,)}}
    other = {"d": {"q": (2,), "p": 1}, "m": {3: "y", (1, 2): "x"}, "s": {"c", "b", "a"}}
    assert state_bytes(one) == state_bytes(other)
    assert state_bytes({"l": [1, 2]}) != state_bytes({"l": [2, 1]})
    assert state_bytes({"l": (1, 2)}) != state_bytes({"l": [1, 2]})
    with pytest.raises(ValidationError, match="object"):
        state_bytes({"l": object()})
