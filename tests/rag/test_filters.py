"""What filters mean, by hand; and what comes of filters that a model or a user wrote."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lawful.core.errors import ValidationError
from lawful.rag import field
from lawful.rag.filters import (
    DEEPEST,
    WIDEST,
    All,
    Compare,
    Either,
    Filter,
    Has,
    Not,
    OneOf,
    from_json,
    matches,
    to_json,
)
from lawful.testing.conformance_vectors import NO_NAMES, filters

pytestmark = pytest.mark.unit

MEANINGS: list[tuple[Filter, dict[str, Any], bool]] = [
    (field("n") == 1, {"n": 1}, True),
    (field("n") == 1, {"n": 1.0}, True),
    (field("n") == 1, {"n": True}, False),
    (field("n") == True, {"n": 1}, False),  # noqa: E712 - a filter, not a truth value
    (field("n") == 1, {"n": "1"}, False),
    (field("n") == "1", {"n": 1}, False),
    (field("n") == "true", {"n": True}, False),
    (field("n") == 1, {}, False),
    (field("n") != 1, {}, True),
    (field("n") != 1, {"n": "1"}, True),
    (field("n") != 1, {"n": 1}, False),
    (field("n") < 2, {"n": 1}, True),
    (field("n") < 2, {"n": 2}, False),
    (field("n") <= 2, {"n": 2}, True),
    (field("n") > 2, {"n": 3}, True),
    (field("n") >= 2, {"n": 1.5}, False),
    (field("n") < 2, {"n": "1"}, False),
    (field("n") < 2, {"n": False}, False),
    (field("s") < "b", {"s": "a"}, True),
    (field("s") < "a", {"s": "B"}, True),
    (field("s") > "", {"s": 1}, False),
    (field("s").one_of("a", 1), {"s": 1.0}, True),
    (field("s").one_of("a", 1), {"s": True}, False),
    (OneOf("s", ()), {"s": "a"}, False),
    (field("s").exists(), {"s": ""}, True),
    (Has("s"), {"t": "s"}, False),
    (All(()), {}, True),
    (Either(()), {"s": 1}, False),
    (~(field("n") < 2), {}, True),
    ((field("n") > 1) & (field("s") == "a"), {"n": 2, "s": "b"}, False),
    ((field("n") > 1) | (field("s") == "a"), {"n": 2, "s": "b"}, True),
    (Not(Either((Has("a"), Has("b")))), {"b": 1}, False),
]


@pytest.mark.parametrize(("filter", "metadata", "holds"), MEANINGS, ids=lambda one: repr(one)[:60])
def test_what_a_filter_means(filter: Filter, metadata: dict[str, Any], holds: bool) -> None:
    """Rows: S0-158."""
    assert matches(filter, metadata) is holds


def test_no_filter_lets_everything_through() -> None:
    assert matches(None, {})


def test_a_filter_is_written_and_read_back() -> None:
    for filter in filters():
        assert from_json(to_json(filter)) == filter


def told(field: Any = "n", order: Any = "==", value: Any = 1) -> dict[str, Any]:
    return {"type": "compare", "field": field, "order": order, "value": value}


@pytest.mark.parametrize(
    "given",
    [
        *(told(field=name) for name in NO_NAMES),
        told(field=None),
        told(field=["n"]),
        *(told(order=order) for order in ("=", "!=", "<>", "$gt", "LIKE", "; --", "", None)),
        *(told(value=value) for value in (None, [1], {"$gt": 1}, 1e400, 2**53 + 2, "\ud800", "a\0b")),
        told(order="<", value=True),
        {"type": "raw", "sql": "1 = 1"},
        {"type": "not", "part": told(field="a.b")},
        {"type": "all", "parts": [told(), told(field="$where")]},
        {"type": "all", "parts": told()},
        {"type": "one_of", "field": "n", "values": [[1]]},
        {"n": 1},
        [],
        "n = 1",
        None,
    ],
    ids=lambda one: repr(one)[:60],
)
def test_a_filter_from_outside_that_is_none_is_refused(given: Any) -> None:
    with pytest.raises(ValidationError):
        from_json(json.dumps(given))


@pytest.mark.parametrize("text", ["", "{", "\xff", "n = 1; DROP TABLE passages", '{"type": "not", "part": ' * 100_000])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        from_json(text)


def test_a_filter_that_would_keep_a_store_busy_is_refused() -> None:
    deep: Filter = Compare("n", "==", 1)
    for _ in range(DEEPEST):
        deep = Not(deep)
    wide = All(tuple(Compare("n", "==", n) for n in range(WIDEST)))
    for large in (deep, wide, OneOf("n", tuple(range(WIDEST)))):
        with pytest.raises(ValidationError, match="at most"):
            from_json(to_json(large))
    with pytest.raises(ValidationError):
        _ = ~deep


@pytest.mark.parametrize("make", [lambda: bool(field("n") == 1), lambda: 1 < field("n") < 3, lambda: not Has("n")])
def test_what_python_would_drop_a_half_of_is_refused(make: Any) -> None:
    with pytest.raises(ValidationError, match="no truth value"):
        make()
