"""What a store promises about items, namespaces and searches, as tests."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lawful.core.clock import FixedClock
from lawful.core.errors import ConfigurationError, InvalidFilter, InvalidNamespace, StoreError, ValidationError
from lawful.stores.store_port import Store, StoreTx
from lawful.stores.store_records import (
    ANY,
    Item,
    PutOp,
    time_of,
)
from lawful.testing.conformance_kit import START, at_once
from lawful.testing.conformance_store_kit import StoreSuite

_ODD = st.text(st.sampled_from("a.b_%\\*:/|[]'\"é\U0001f600 \x01\n"), min_size=1, max_size=3)
LABELS = st.sampled_from(["a", "ab", "a.b", "a_", "a%", "a\\", "*", ":", "A"]) | _ODD
"""Labels that would be told apart wrongly by text prefixes, patterns or letter case."""
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
HOSTILE = [
    "a') OR 1=1 --",
    "a'; DROP TABLE item; --",
    "a.b",
    "a[0]",
    "$.a",
    "a b",
    "a\x00",
    "",
    "1a",
    "a\n",
    "ä",
    "*",
    "%",
]
"""Field names and operators that have been used to break out of a query's text."""
_QUIET = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow]
)


class ItemPromises(StoreSuite):
    """What is put is what is got, once, as a copy, with its times."""

    def test_what_is_put_is_got(self, store: Store, clock: FixedClock) -> None:
        value: dict[str, Any] = {"n": 1, "f": 1.0, "t": "é\ud800\x00", "l": [None, True, {"lc": 1, "type": "x"}]}
        store.put(("users", "ann"), "k", value)
        found = store.get(("users", "ann"), "k")
        assert found == Item(("users", "ann"), "k", value, time_of(clock.now()), time_of(clock.now()))
        assert found is not None
        assert (type(found.value["n"]), type(found.value["f"])) == (int, float)
        assert store.get(("users",), "k") is None
        assert store.get(("users", "ann"), "K") is None

    def test_a_second_put_replaces_and_keeps_created(self, store: Store, clock: FixedClock) -> None:
        store.put(("a",), "k", {"old": 1})
        clock.advance(5)
        store.put(("a",), "k", {"new": 2})
        found = store.get(("a",), "k")
        assert found is not None
        assert (found.value, found.created_at, found.updated_at) == ({"new": 2}, time_of(START), time_of(START + 5))
        assert len(store.search(("a",))) == 1

    def test_delete_forgets_one_item(self, store: Store) -> None:
        store.put(("a",), "k", {})
        store.put(("a",), "l", {})
        store.delete(("a",), "k")
        store.delete(("a",), "never there")
        assert store.get(("a",), "k") is None
        assert store.get(("a",), "l") is not None

    def test_values_are_copies(self, store: Store) -> None:
        mine: dict[str, Any] = {"l": [1]}
        store.put(("a",), "k", mine)
        mine["l"].append(2)
        for found in (store.get(("a",), "k"), store.search(("a",))[0]):
            assert found is not None
            found.value["l"].append(3)
        last = store.get(("a",), "k")
        assert last is not None
        assert last.value == {"l": [1]}

    @pytest.mark.parametrize("value", [{"a": {1}}, {"a": [0, {"b": b""}]}, {1: 2}, {"a": float("nan")}, {"a": (1,)}])
    def test_what_is_not_json_is_refused_with_its_path(self, store: Store, value: dict[Any, Any]) -> None:
        with pytest.raises(ValidationError, match="value"):
            store.batch([PutOp(("a",), "good", {}), PutOp(("a",), "bad", value)])
        assert store.search(()) == []

    def test_scopes_are_never_crossed(self, store: Store) -> None:
        other = store.scoped("acme")
        store.put(("a",), "k", {"of": "local"})
        assert (other.get(("a",), "k"), other.search(()), other.list_namespaces()) == (None, [], [])
        other.put(("a",), "k", {"of": "acme"})
        other.delete(("a",), "k")
        found = store.get(("a",), "k")
        assert found is not None
        assert found.value == {"of": "local"}
        assert (store.scope, other.scope) == ("local", "acme")

    def test_a_closed_store_says_so(self, clock: FixedClock) -> None:
        store = self.make_store(clock, None)
        store.close()
        store.close()
        with pytest.raises(StoreError, match="closed"):
            store.get(("a",), "k")
        with pytest.raises(StoreError, match="closed"):
            store.put(("a",), "k", {})

    def test_fifty_writers_lose_nothing(self, store: Store) -> None:
        def write(n: int) -> None:
            store.put(("team", f"w{n}"), "own", {"n": n})
            assert [item.value for item in store.search(("team", f"w{n}"))] == [{"n": n}]
            store.put(("team",), "shared", {"n": n})
            assert store.list_namespaces(prefix=("team", f"w{n}")) == [("team", f"w{n}")]

        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            assert [error for error in at_once(50, write) if error is not None] == []
        finally:
            sys.setswitchinterval(before)
        assert sorted(i.value["n"] for i in store.search(("team",), limit=100) if i.key == "own") == list(range(50))
        assert len([i for i in store.search(("team",), limit=100) if i.key == "shared"]) == 1

    def test_a_transaction_sees_one_state(self, store: Store) -> None:
        store.put(("a",), "k", {"n": 1})
        other = threading.Thread(target=store.put, args=(("a",), "l", {}))

        def work(tx: StoreTx) -> list[list[str]]:
            before = [row.key for row in tx.rows(())]
            other.start()
            other.join(0.05)
            return [before, [row.key for row in tx.rows(())]]

        assert store.run(store.scope, work, writing=False) == [["k"], ["k"]]
        other.join()
        assert len(store.search(())) == 2

    def test_nothing_stays_of_a_transaction_that_raises(self, store: Store) -> None:
        store.put(("a",), "k", {"n": 1}, ttl=1)

        def work(tx: StoreTx) -> None:
            tx.write(("a",), "k", b'{"n":2}', None)
            tx.write(("a",), "l", b"{}", None)
            tx.remove(("a",), "k")
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            store.run(store.scope, work, writing=True)
        assert [(item.key, item.value) for item in store.search(())] == [("k", {"n": 1})]
        store.put(("a",), "l", {})


class NamespacePromises(StoreSuite):
    """Namespaces are tuples and are compared label by label."""

    @_QUIET
    @given(placed=st.lists(NAMESPACES, max_size=8, unique=True), prefix=st.lists(LABELS, max_size=2).map(tuple))
    def test_a_prefix_finds_what_begins_with_its_labels(
        self, placed: list[tuple[str, ...]], prefix: tuple[str, ...]
    ) -> None:
        prefixes = [prefix, *(ns[:n] for ns in placed for n in range(len(ns) + 1))]
        with self.make_store(FixedClock(START), None) as store:
            store.batch([PutOp(ns, "k", {"at": list(ns)}) for ns in placed])
            for asked in prefixes:
                expected = sorted(ns for ns in placed if ns[: len(asked)] == asked)
                assert sorted(item.namespace for item in store.search(asked, limit=100)) == expected
                assert store.list_namespaces(prefix=asked) == expected
            for asked in (ns[n:] for ns in placed for n in range(len(ns))):
                expected = sorted(ns for ns in placed if ns[-len(asked) :] == asked)
                assert store.list_namespaces(suffix=asked) == expected

    def test_any_stands_for_one_label_and_the_star_for_itself(self, store: Store) -> None:
        for ns in (("a", "x", "v1"), ("a", "*", "v1"), ("a", "x", "v2"), ("b", "x", "v1"), ("a", "v1")):
            store.put(ns, "k", {})
        assert store.list_namespaces(prefix=("a", ANY, "v1")) == [("a", "*", "v1"), ("a", "x", "v1")]
        assert store.list_namespaces(prefix=("a", "*")) == [("a", "*", "v1")]
        assert store.list_namespaces(prefix=("a",), suffix=(ANY, "v1")) == [
            ("a", "*", "v1"),
            ("a", "v1"),
            ("a", "x", "v1"),
        ]

    def test_depth_limit_and_offset(self, store: Store) -> None:
        for ns in (("b", "1"), ("a", "2"), ("a", "1"), ("c",)):
            store.put(ns, "k", {})
        assert store.list_namespaces(max_depth=1) == [("a",), ("b",), ("c",)]
        assert store.list_namespaces(limit=2, offset=1) == [("a", "2"), ("b", "1")]
        assert store.list_namespaces(limit=0) == []
        store.delete(("c",), "k")
        assert store.list_namespaces(max_depth=1) == [("a",), ("b",)]

    @pytest.mark.parametrize(
        "wrong", [(), "a", ["a"], ("a", ""), ("a", 1), ("a\x00",), ("\ud800",), None, ("a", ANY)], ids=ascii
    )
    def test_what_is_no_namespace_is_refused(self, store: Store, wrong: Any) -> None:
        calls: list[Any] = [
            lambda: store.put(wrong, "k", {}),
            lambda: store.get(wrong, "k"),
            lambda: store.delete(wrong, "k"),
        ]
        if wrong != ():
            calls.append(lambda: store.search(wrong))
        for call in calls:
            with pytest.raises(InvalidNamespace, match="namespace") as caught:
                call()
            assert isinstance(caught.value, ValueError)

    @pytest.mark.parametrize("wrong", ["", "\x00", "\ud800", None, True, b"k"], ids=ascii)
    def test_what_is_no_key_is_refused(self, store: Store, wrong: Any) -> None:
        with pytest.raises(ValidationError, match="key"):
            store.put(("a",), wrong, {})


class SearchPromises(StoreSuite):
    """Filters are data; pages are in the order of the writes, the newest first."""

    def test_pages_newest_write_first(self, store: Store) -> None:
        for n in range(5):
            store.put(("a",), f"k{n}", {"n": n})
        store.put(("a",), "k1", {"n": 1})
        assert [item.key for item in store.search(("a",))] == ["k1", "k4", "k3", "k2", "k0"]
        assert [item.key for item in store.search((), limit=2, offset=1)] == ["k4", "k3"]
        assert store.search((), offset=9) == []
        assert [item.score for item in store.search((), limit=1)] == [None]

    @pytest.mark.parametrize(
        "filter, keys",
        [
            ({"n": 2}, "c"),
            ({"n": 1}, "b"),
            ({"n": True}, "d"),
            ({"n": None}, "e"),
            ({"n": {"$ne": 1}}, "acde"),
            ({"n": {"$gt": 0}}, "bc"),
            ({"n": {"$gte": 0, "$lt": 2}}, "ab"),
            ({"n": {"$lte": 1.5}}, "ab"),
            ({"t": {"$gt": "x"}}, "b"),
            ({"t": "x", "n": {"$eq": 0}}, "a"),
            ({"n": "0"}, ""),
        ],
        ids=str,
    )
    def test_what_filters_accept(self, store: Store, filter: dict[str, Any], keys: str) -> None:
        values: dict[str, dict[str, Any]] = {
            "a": {"n": 0, "t": "x"},
            "b": {"n": 1, "t": "y"},
            "c": {"n": 2.0},
            "d": {"n": True},
            "e": {},
        }
        store.batch([PutOp(("f",), key, value) for key, value in values.items()])
        assert "".join(sorted(item.key for item in store.search(("f",), filter=filter))) == keys

    @pytest.mark.parametrize("text", HOSTILE, ids=ascii)
    def test_hostile_fields_and_operators_are_refused(self, store: Store, text: str) -> None:
        store.put(("a",), "k", {"a": 1})
        for filter in ({text: 1}, {"a": {text: 1}}):
            with pytest.raises(InvalidFilter):
                store.search((), filter=filter)
        assert len(store.search(())) == 1

    @pytest.mark.parametrize("text", HOSTILE, ids=ascii)
    def test_hostile_values_are_only_compared(self, store: Store, text: str) -> None:
        store.put(("a",), "k", {"a": "b"})
        store.put(("a",), "l", {"a": text})
        assert [item.key for item in store.search((), filter={"a": text})] == ["l"]

    def test_an_unknown_operator_names_the_nearest(self, store: Store) -> None:
        with pytest.raises(InvalidFilter, match=r"\$gtr.*Did you mean '\$gte?'"):
            store.search((), filter={"a": {"$gtr": 1}})

    @pytest.mark.parametrize(
        "filter",
        [{"a": [1]}, {"a": {}}, {"a": {"$eq": {"b": 1}}}, {"a": float("inf")}, {"a": {"$gt": None}}, {1: 1}, "a"],
    )
    def test_other_filters_are_refused(self, store: Store, filter: Any) -> None:
        with pytest.raises(InvalidFilter):
            store.search((), filter=filter)

    @pytest.mark.parametrize("bounds", [{"limit": -1}, {"offset": -1}, {"limit": None}, {"limit": True}], ids=str)
    def test_bounds_are_whole_numbers(self, store: Store, bounds: dict[str, Any]) -> None:
        with pytest.raises(ValidationError):
            store.search((), **bounds)

    def test_without_an_index_there_is_no_query(self, store: Store) -> None:
        with pytest.raises(ConfigurationError, match="index"):
            store.search((), query="what did ann like?")
        with pytest.raises(ConfigurationError, match="index"):
            store.put(("a",), "k", {}, index=["text"])
        store.put(("a",), "k", {}, index=False)
