"""What a store promises about times to live, batches and asyncio, as tests."""

from __future__ import annotations

from typing import Any

import pytest

from lawful.core.clock import FixedClock
from lawful.core.errors import ConfigurationError, ValidationError
from lawful.stores.store_port import Store
from lawful.stores.store_records import (
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
    time_of,
)
from lawful.testing.conformance_kit import START
from lawful.testing.conformance_store_kit import StoreSuite


class TimePromises(StoreSuite):
    """Times to live are minutes; what has expired is not there."""

    def test_an_item_expires(self, store: Store, clock: FixedClock) -> None:
        store.put(("a",), "k", {}, ttl=1)
        store.put(("b",), "k", {})
        clock.advance(59)
        assert store.get(("a",), "k", refresh_ttl=False) is not None
        assert len(store.search(("a",), refresh_ttl=False)) == 1
        clock.advance(1)
        assert store.get(("a",), "k") is None
        assert [item.namespace for item in store.search(())] == [("b",)]
        assert store.list_namespaces() == [("b",)]
        assert (store.sweep_ttl(), store.sweep_ttl()) == (1, 0)

    def test_what_comes_after_an_expired_item_is_new(self, store: Store, clock: FixedClock) -> None:
        store.put(("a",), "k", {}, ttl=1)
        clock.advance(60)
        store.put(("a",), "k", {"new": 1})
        found = store.get(("a",), "k")
        assert found is not None
        assert found.created_at == time_of(START + 60)
        assert store.sweep_ttl() == 0

    @pytest.mark.parametrize("how", ["get", "search"])
    def test_reading_lets_it_begin_anew(self, store: Store, clock: FixedClock, how: str) -> None:
        store.put(("a",), "k", {}, ttl=1)
        for _ in range(3):
            clock.advance(40)
            assert store.get(("a",), "k") if how == "get" else store.search(())
        clock.advance(60)
        assert store.get(("a",), "k") is None

    def test_only_what_a_search_shows_begins_anew(self, store: Store, clock: FixedClock) -> None:
        store.put(("a",), "old", {}, ttl=1)
        store.put(("a",), "new", {}, ttl=1)
        clock.advance(40)
        assert [item.key for item in store.search((), limit=1)] == ["new"]
        clock.advance(40)
        assert [item.key for item in store.search(())] == ["new"]

    def test_the_configured_times_hold_where_none_is_given(self, clock: FixedClock) -> None:
        with self.make_store(clock, {"default_ttl": 1, "refresh_on_read": False}) as store:
            store.put(("a",), "short", {})
            store.put(("a",), "long", {}, ttl=None)
            clock.advance(40)
            assert store.get(("a",), "short") is not None
            clock.advance(40)
            assert [item.key for item in store.search(())] == ["long"]

    def test_writes_sweep_in_passing_where_configured(self, clock: FixedClock) -> None:
        with self.make_store(clock, {"sweep_interval_minutes": 5}) as store:
            store.scoped("acme").put(("a",), "k", {}, ttl=1)
            clock.advance(240)
            store.put(("a",), "l", {})
            clock.advance(60)
            store.put(("a",), "m", {})
            assert store.sweep_ttl() == 0

    @pytest.mark.parametrize("ttl", [0, -1, float("nan"), float("inf"), True, "1"])
    def test_a_time_to_live_is_positive(self, store: Store, ttl: Any) -> None:
        with pytest.raises(ValidationError, match="ttl"):
            store.put(("a",), "k", {}, ttl=ttl)

    def test_a_wrong_configuration_is_refused(self, clock: FixedClock) -> None:
        wrong: list[Any] = [{"default_tl": 1}, {"default_ttl": 0}, {"refresh_on_read": 1}, {"omit_expired": False}]
        for config in wrong:
            with pytest.raises(ConfigurationError, match=r"ttl|omit"):
                self.make_store(clock, config)


class BatchPromises(StoreSuite):
    """A batch is one transaction: its reads see what stood before, its puts are kept all or not at all."""

    def test_reads_see_what_stood_before_and_puts_follow_in_order(self, store: Store) -> None:
        store.put(("a",), "k", {"n": 0})
        results = store.batch(
            [
                PutOp(("a",), "k", {"n": 1}),
                GetOp(("a",), "k"),
                PutOp(("a",), "k", {"n": 2}),
                PutOp(("b",), "l", {}),
                SearchOp(()),
                PutOp(("b",), "l", None),
                ListNamespacesOp((MatchCondition("prefix", ("a",)),)),
            ]
        )
        got, found = results[1], results[4]
        assert isinstance(got, Item)
        assert isinstance(found, list)
        assert (got.value, len(found), results[6]) == ({"n": 0}, 1, [("a",)])
        assert [results[at] for at in (0, 2, 3, 5)] == [None] * 4
        now = store.get(("a",), "k")
        assert now is not None
        assert (now.value, store.list_namespaces()) == ({"n": 2}, [("a",)])

    def test_one_wrong_operation_stops_all(self, store: Store) -> None:
        wrong: list[Any] = [
            GetOp((), "k"),
            SearchOp((), {"a b": 1}),
            PutOp(("a",), "k", {}, ttl=0),
            "get",
            SearchOp((), query="q"),
        ]
        for op in wrong:
            with pytest.raises((ValidationError, ConfigurationError)):
                store.batch([PutOp(("a",), "k", {}), op])
        assert store.search(()) == []

    def test_a_put_in_the_batch_that_read_the_item_wins(self, store: Store, clock: FixedClock) -> None:
        store.put(("a",), "k", {}, ttl=1)
        store.batch([GetOp(("a",), "k"), PutOp(("a",), "k", {"n": 1})])
        clock.advance(3600)
        found = store.get(("a",), "k")
        assert found is not None
        assert found.value == {"n": 1}

    async def test_every_call_has_its_form_for_asyncio(self, store: Store) -> None:
        await store.aput(("a",), "k", {"n": 1})
        await store.abatch([PutOp(("b",), "l", {"n": 2})])
        assert await store.aget(("a",), "k") == store.get(("a",), "k")
        assert await store.asearch((), filter={"n": 2}) == store.search(("b",))
        assert await store.alist_namespaces(max_depth=1, limit=1) == [("a",)]
        await store.adelete(("a",), "k")
        assert store.get(("a",), "k") is None
