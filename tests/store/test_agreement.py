"""The same calls give the same answers on every back end; memory is the reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lawful.core.clock import FixedClock
from lawful.stores.memory_store import MemoryStore
from lawful.stores.sqlite_store import SQLiteStore
from lawful.stores.store_port import Store
from lawful.stores.store_records import ANY
from lawful.testing.conformance_store_items import LABELS, NAMESPACES

pytestmark = pytest.mark.property

Call = Callable[[Store, FixedClock], Any]
_SCALARS = st.sampled_from([None, True, False, 0, 1, 1.0, -2, 2**70, 0.5, "", "a", "1", "%", "é"])
_FIELDS = st.sampled_from(["a", "b_1", "_"])
_VALUES = st.dictionaries(_FIELDS, _SCALARS | st.lists(_SCALARS, max_size=2), max_size=3)
_EQUAL = st.dictionaries(st.sampled_from(["$eq", "$ne"]), _SCALARS, min_size=1)
_ORDERED = st.dictionaries(
    st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), st.sampled_from([0, 1, 0.5, 2**70, "a", "", "é"]), min_size=1
)
_FILTERS = st.none() | st.dictionaries(_FIELDS, _SCALARS | _EQUAL | _ORDERED, max_size=2)
_KEYS = st.sampled_from(["k", "K", "%", "k'"])
_TTLS = st.sampled_from([None, None, 1, 2.5])
_PREFIXES = st.lists(LABELS, max_size=2).map(tuple)
_PATTERNS = st.lists(LABELS | st.just(ANY), max_size=2).map(tuple)
_SMALL = st.integers(0, 4)


def _put(ns: tuple[str, ...], key: str, value: dict[str, Any], ttl: float | None) -> Call:
    return lambda store, _: store.put(ns, key, value, ttl=ttl)


def _get(ns: tuple[str, ...], key: str, refresh: bool | None) -> Call:
    return lambda store, _: store.get(ns, key, refresh_ttl=refresh)


def _delete(ns: tuple[str, ...], key: str) -> Call:
    return lambda store, _: store.delete(ns, key)


def _search(prefix: tuple[str, ...], filter: Any, limit: int, offset: int, refresh: bool) -> Call:
    return lambda store, _: store.search(prefix, filter=filter, limit=limit, offset=offset, refresh_ttl=refresh)


def _list(prefix: Any, suffix: Any, depth: int | None, limit: int, offset: int) -> Call:
    return lambda store, _: store.list_namespaces(
        prefix=prefix, suffix=suffix, max_depth=depth, limit=limit, offset=offset
    )


def _wait(seconds: int) -> Call:
    return lambda _, clock: clock.advance(seconds)


def _sweep() -> Call:
    return lambda store, _: store.sweep_ttl()


_CALLS = st.one_of(
    st.builds(_put, NAMESPACES, _KEYS, _VALUES, _TTLS),
    st.builds(_put, NAMESPACES, _KEYS, _VALUES, _TTLS),
    st.builds(_get, NAMESPACES, _KEYS, st.sampled_from([None, True, False])),
    st.builds(_delete, NAMESPACES, _KEYS),
    st.builds(_search, _PREFIXES, _FILTERS, _SMALL, st.sampled_from([0, 0, 1]), st.booleans()),
    st.builds(_list, _PATTERNS, _PATTERNS, st.none() | st.integers(1, 3), _SMALL, st.sampled_from([0, 0, 1])),
    st.builds(_wait, st.sampled_from([1, 30, 60, 200])),
    st.builds(_sweep),
)


def _told(store: Store, clock: FixedClock, calls: list[Call]) -> list[Any]:
    with store:
        told = [call(handle, clock) for call in calls for handle in (store, store.scoped("a_"))]
        return [*told, store.search((), limit=100), store.list_namespaces(), store.scoped("a%").search(())]


@settings(max_examples=120, deadline=None)
@given(st.lists(_CALLS, max_size=14))
def test_back_ends_agree(calls: list[Call]) -> None:
    """Labels with ``. _ % \\ * :`` mean the same everywhere (CVE-2026-71433). Rows: S1-K12."""
    clocks = FixedClock(), FixedClock()
    memory = _told(MemoryStore(clock=clocks[0]), clocks[0], calls)
    sqlite = _told(SQLiteStore(":memory:", clock=clocks[1]), clocks[1], calls)
    assert sqlite == memory
